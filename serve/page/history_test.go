package page_test

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/serve/api"
)

var (
	listed  = regexp.MustCompile(`<li [^>]*><a href="/c/[^"]+"><span class="title">(?:<span class="fresh">New</span> )?([^<]+)</span>`)
	earlier = regexp.MustCompile(`<a href="([^"]+)">Earlier conversations</a>`)
)

// The pages of a list have every matching conversation once, and no other: the next
// page has the filters of the first.
func TestEarlierConversations(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.client(ada)
	want := make(map[string]bool)
	for i := range 130 {
		title := fmt.Sprintf("build & test %d", i)
		if i%2 == 0 {
			title = fmt.Sprintf("other %d", i)
		} else {
			want[title] = true
		}
		if _, err := r.server.Service().Create(t.Context(), ada, api.NewConversation{Preset: "docs", Title: title}); err != nil {
			t.Fatal(err)
		}
	}
	pages := 0
	for next := "/h?q=build+%26&state=idle"; next != ""; pages++ {
		status, body := get(t, c, r.http.URL+next)
		if status != 200 || !strings.Contains(body, `value="build &amp;"`) || !strings.Contains(body, `<option value="idle" selected>idle<`) {
			t.Fatalf("%s: status %d, and the filters are not shown", next, status)
		}
		for _, m := range listed.FindAllStringSubmatch(body, -1) {
			title := html.UnescapeString(m[1])
			if !want[title] {
				t.Errorf("%s comes twice, or was not looked for", title)
			}
			delete(want, title)
		}
		next = ""
		if m := earlier.FindStringSubmatch(body); m != nil {
			next = html.UnescapeString(m[1])
		}
	}
	if len(want) > 0 || pages != 2 {
		t.Errorf("%d are missing after %d pages", len(want), pages)
	}
}
