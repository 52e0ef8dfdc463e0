package page_test

import (
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/serve/api"
)

// edited begins a conversation that edits a file, and returns its path.
func (r *rig) edited() string {
	r.t.Helper()
	path := r.begin("shop-api", "Fix the rounding in price.go: 0.29 becomes 28 cents")
	for range r.fleet.Approvals().Watch(r.t.Context(), approval.Filter{}) {
		list, err := r.server.Service().Approvals(r.t.Context(), ada, api.ApprovalQuery{State: api.ApprovalPending, Conversation: strings.TrimPrefix(path, "/c/")})
		if err != nil {
			r.t.Fatal(err)
		}
		if len(list.Items) == 0 {
			continue
		}
		a := list.Items[0]
		if _, err := r.server.Service().Decide(r.t.Context(), ada, a.ID, api.Decision{Decision: "allow", Digest: a.Digest}); err != nil {
			r.t.Fatal(err)
		}
		break
	}
	r.settled(path)
	return path
}

// Files are restored in two steps, without a script: first the page shows what
// would change. A user who may not prompt is not offered it.
func TestRewindWithForms(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	path := r.edited()
	fetch := func(c *http.Client, form url.Values) (int, string) {
		t.Helper()
		var res *http.Response
		var err error
		if form == nil {
			res, err = c.Get(r.http.URL + path)
		} else {
			res, err = c.PostForm(r.http.URL+path+"/rewind", form)
		}
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(body)
	}
	button := regexp.MustCompile(`name="message" value="([^"]+)"`)
	if _, body := fetch(r.client(api.User{Name: "eve", Role: api.RoleApprover}), nil); button.MatchString(body) {
		t.Error("an approver is offered to restore files")
	}
	browser := r.client(ada)
	_, body := fetch(browser, nil)
	found := button.FindStringSubmatch(body)
	if found == nil {
		t.Fatalf("nothing is offered on\n%s", body)
	}
	status, body := fetch(browser, url.Values{"message": {found[1]}})
	for _, want := range []string{"price.go", "Fix the rounding", "Restore 1 file</button>", `name="sure"`} {
		if status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("the first step lacks %q: %d\n%s", want, status, body)
		}
	}
	if strings.Contains(body, "restored a file") {
		t.Error("the first step has restored a file")
	}
	status, body = fetch(browser, url.Values{"message": {found[1]}, "sure": {"1"}})
	if status != http.StatusOK || !strings.Contains(body, "The files are restored.") || !strings.Contains(body, "ada restored a file") {
		t.Errorf("the second step: %d\n%s", status, body)
	}
	if status, body := fetch(browser, url.Values{"message": {"never"}}); status != http.StatusBadRequest || !strings.Contains(body, "not the id of a prompt") {
		t.Errorf("of an unknown prompt: %d\n%s", status, body)
	}
}
