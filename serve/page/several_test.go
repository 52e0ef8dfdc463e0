package page_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/serve/api"
)

// picks finds what the inbox offers to decide together.
var picks = regexp.MustCompile(`name="pick" form="several" value="([^"]+)" data-shape="([^"]+)"`)

// Several approvals of the same tool and shape are decided at once: not before that is
// confirmed, and not if one of them is not what was seen.
func TestDecideSeveral(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for range 3 {
		r.begin("shop-api", "Clean up")
	}
	r.begin("shop-api", "Fix the rounding")
	r.begin("shop-api", "Which database?")
	r.pending(5)
	c := r.client(ada)
	_, body := get(t, c, r.http.URL+"/")
	if !strings.Contains(body, "5 decisions waiting") {
		t.Errorf("no total: %.2000s", body)
	}
	shapes := make(map[string][]string)
	for _, found := range picks.FindAllStringSubmatch(body, -1) {
		shapes[found[2]] = append(shapes[found[2]], found[1])
	}
	var same, other []string
	for _, of := range shapes {
		if len(of) == 3 {
			same = of
		} else {
			other = of
		}
	}
	if len(shapes) != 2 || len(same) != 3 || len(other) != 1 {
		t.Fatalf("%v", shapes)
	}
	send := func(c *http.Client, decision, sure string, picked ...string) (int, string) {
		reply, err := c.PostForm(r.http.URL+"/decide", url.Values{"decision": {decision}, "sure": {sure}, "pick": picked, "back": {"/"}})
		if err != nil {
			t.Fatal(err)
		}
		return read(t, reply)
	}
	pending := func() int {
		in, err := r.server.Service().Inbox(t.Context(), ada, api.ApprovalQuery{})
		if err != nil {
			t.Fatal(err)
		}
		return in.Total
	}
	id, _, _ := strings.Cut(same[0], " ")
	for what, bad := range map[string]struct {
		status         int
		decision, sure string
		picked         []string
		says           string
	}{
		"not confirmed":  {200, "allow", "", same, "Allow 3 calls"},
		"one twice":      {200, "allow", "", append([]string{same[0]}, same...), "Allow 3 calls"},
		"its place":      {200, "allow", "", same, "Bash in Clean up"},
		"an edit":        {200, "allow", "", other, `math.<span class="f">Round</span>`},
		"another shape":  {400, "allow", "1", append([]string{other[0]}, same...), "same tool"},
		"another digest": {409, "allow", "1", []string{same[1], id + " 0000"}, "not what you saw"},
		"unknown":        {404, "deny", "1", []string{same[1], "nothing x"}, ""},
		"none":           {400, "allow", "1", nil, "Choose between"},
		"no decision":    {400, "answer", "1", same, "names no decision"},
	} {
		if status, body := send(c, bad.decision, bad.sure, bad.picked...); status != bad.status || !strings.Contains(body, bad.says) || pending() != 5 {
			t.Errorf("%s: %d, %d pending: %.1500s", what, status, pending(), body)
		}
	}
	if status, _ := send(r.client(api.User{Name: "eve", Role: api.RoleViewer}), "allow", "1", same...); status < 400 || pending() != 5 {
		t.Errorf("a viewer: %d, %d pending", status, pending())
	}
	if status, body := send(c, "deny", "1", append([]string{same[2]}, same...)...); status != http.StatusOK || !strings.Contains(body, "Denied.") || pending() != 2 {
		t.Errorf("%d, %d pending: %.500s", status, pending(), body)
	}
	for _, value := range same {
		id, _, _ := strings.Cut(value, " ")
		if a, err := r.server.Service().Approval(t.Context(), ada, id); err != nil || a.State != api.ApprovalDenied || a.DecidedBy != "ada" {
			t.Errorf("%+v, %v", a.State, err)
		}
	}
}

// Calls of one tool whose inputs have different members are not decided together, even if a
// form says so.
func TestDecideSeveralOfOneTool(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.begin("shop-api", "Clean up")
	r.begin("shop-api", "Build it")
	r.pending(2)
	c := r.client(ada)
	_, body := get(t, c, r.http.URL+"/")
	var both []string
	for _, found := range picks.FindAllStringSubmatch(body, -1) {
		both = append(both, found[1])
	}
	reply, err := c.PostForm(r.http.URL+"/decide", url.Values{"decision": {"allow"}, "sure": {"1"}, "pick": both, "back": {"/"}})
	if err != nil {
		t.Fatal(err)
	}
	status, body := read(t, reply)
	if len(both) != 2 || status != http.StatusBadRequest || !strings.Contains(body, "the same kind of input") {
		t.Fatalf("%d calls: %d: %.1500s", len(both), status, body)
	}
	r.pending(2) // nothing was decided
}
