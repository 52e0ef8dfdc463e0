package page_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/serve/api"
)

// The sidebar has the conversations that a user may see, those that wait for a person
// first.
func TestSidebar(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	waits := r.begin("shop-api", "Clean up")
	r.pending(1)
	quiet := r.begin("shop-api", "hello")
	r.settled(quiet)
	private, err := r.server.Service().Create(t.Context(), ada, api.NewConversation{Preset: "shop-api", Title: "private"})
	if err != nil {
		t.Fatal(err)
	}
	status, body := get(t, r.client(ada), r.http.URL+"/sidebar")
	first, second := strings.Index(body, `href="`+waits+`"`), strings.Index(body, `href="`+quiet+`"`)
	if status != http.StatusOK || first < 0 || second < first || !strings.Contains(body, private.ID) {
		t.Errorf("%d, %d, %d: %s", status, first, second, body)
	}
	// What is new is marked, but for the conversation that is being read.
	fresh := func(shown string) int {
		_, body := get(t, r.client(ada), r.http.URL+"/sidebar?shown="+strings.TrimPrefix(shown, "/c/"))
		return strings.Count(body, `class="fresh"`)
	}
	if all, others := fresh(""), fresh(quiet); all == 0 || others != all-1 {
		t.Errorf("%d are marked as new, %d beside one of them", all, others)
	}
	if _, body := get(t, r.client(api.User{Name: "eve", Role: api.RoleViewer}), r.http.URL+"/sidebar"); strings.Contains(body, private.ID) || !strings.Contains(body, quiet) {
		t.Errorf("another user sees %s", body)
	}
}

// However many conversations are newer, the sidebar has those that wait for a person, and
// the one that is shown.
func TestSidebarOfManyConversations(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	shown := r.begin("shop-api", "hello")
	r.settled(shown)
	waits := r.begin("shop-api", "Clean up")
	r.pending(1)
	for range 45 {
		if _, err := r.server.Service().Create(t.Context(), ada, api.NewConversation{Preset: "shop-api"}); err != nil {
			t.Fatal(err)
		}
	}
	_, body := get(t, r.client(ada), r.http.URL+"/sidebar?shown="+strings.TrimPrefix(shown, "/c/"))
	links := strings.Split(body, `href="/c/`)[1:]
	if len(links) != 40 || !strings.HasPrefix(links[0], strings.TrimPrefix(waits, "/c/")) || !strings.Contains(body, `href="`+shown+`"`) || !strings.Contains(body, "All conversations") {
		t.Errorf("%d: %s", len(links), body)
	}
}
