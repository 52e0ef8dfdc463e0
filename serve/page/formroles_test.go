package page_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/serve/api"
)

// formRoles lists who may send which form, written by hand: v is a viewer, a an
// approver, o an operator. The table has every form of the page.
var formRoles = map[string]string{
	"/a/APPROVAL":            "ao",
	"/new":                   "o",
	"/s/SESSION":             "",
	"/c/CONVERSATION/prompt": "o", "/c/CONVERSATION/take-back": "o", "/c/CONVERSATION/interrupt": "o", "/c/CONVERSATION/release": "o",
	"/c/CONVERSATION/retry": "o", "/c/CONVERSATION/rewind": "o", "/c/CONVERSATION/fork": "o", "/c/CONVERSATION/choose": "o",
	"/c/CONVERSATION/read": "vao", "/c/CONVERSATION/prewarm": "o",
}

// A form does no more than the role of its sender allows, even on conversations that
// they may see: a viewer takes back no prompt, and an approver sends none.
func TestFormsNeedRoles(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	path := r.begin("shop-api", "Fix the rounding")
	conversation := strings.TrimPrefix(path, "/c/")
	a := r.pending(1)[0]
	service := r.server.Service()
	queued := uuid.New()
	if _, err := service.Send(t.Context(), ada, conversation, api.NewPrompt{ID: queued, Content: []byte(`"and then"`)}); err != nil {
		t.Fatal(err)
	}
	form := url.Values{
		"digest": {a.Digest}, "decision": {"nothing"}, "preset": {"shop-api"}, "prompt": {queued}, "id": {uuid.New()},
		"message": {uuid.New()}, "model": {"claude-opus-4-5"}, "seq": {"1"}, "do": {"resume"},
	}
	for caller, role := range map[string]api.Role{"v": api.RoleViewer, "a": api.RoleApprover, "o": api.RoleOperator} {
		c := r.client(api.User{Name: "eve", Role: role})
		for to, who := range formRoles {
			if caller == "o" && strings.Contains(who, "o") {
				continue // TestDecideWithForms and others send it
			}
			sent := url.Values{}
			for name, value := range form {
				sent[name] = value
			}
			if !strings.Contains(who, caller) {
				sent.Set("decision", "allow")
			}
			to = strings.NewReplacer("APPROVAL", a.ID, "SESSION", uuid.New(), "CONVERSATION", conversation).Replace(to)
			reply, err := c.PostForm(r.http.URL+to, sent)
			if err != nil {
				t.Fatal(err)
			}
			status, body := read(t, reply)
			if may := strings.Contains(who, caller); !may && status != http.StatusForbidden || may && status == http.StatusForbidden {
				t.Errorf("%s as %s: status %d\n%s", to, role, status, body)
			}
		}
	}
	prompts, err := service.Prompts(t.Context(), ada, conversation)
	if err != nil || len(prompts) != 2 {
		t.Errorf("the prompts are %+v, %v; want both as they were", prompts, err)
	}
	if still := r.pending(1)[0]; still.State != api.ApprovalPending {
		t.Errorf("the approval is %s", still.State)
	}
}

// A form decides only about the input that it showed.
func TestFormNeedsItsDigest(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	path := r.begin("shop-api", "Fix the rounding")
	a := r.pending(1)[0]
	c := r.client(ada)
	for _, digest := range []string{"", approval.Digest([]byte(`{"other":"input"}`)), a.Digest + " "} {
		for _, decision := range []string{"allow", "deny", "remember 0"} {
			reply, err := c.PostForm(r.http.URL+"/a/"+a.ID, url.Values{"digest": {digest}, "decision": {decision}})
			if err != nil {
				t.Fatal(err)
			}
			if status, body := read(t, reply); status != http.StatusConflict {
				t.Errorf("%s with the digest %q: status %d\n%s", decision, digest, status, body)
			}
		}
	}
	if reply, err := c.PostForm(r.http.URL+"/a/"+a.ID, url.Values{"decision": {"allow"}}); err != nil {
		t.Fatal(err)
	} else if status, _ := read(t, reply); status != http.StatusConflict {
		t.Errorf("without a digest: status %d", status)
	}
	if still := r.pending(1)[0]; still.State != api.ApprovalPending {
		t.Fatalf("the approval is %s", still.State)
	}
	if reply, err := c.PostForm(r.http.URL+"/a/"+a.ID, url.Values{"digest": {a.Digest}, "decision": {"allow"}}); err != nil {
		t.Fatal(err)
	} else if status, _ := read(t, reply); status != http.StatusOK {
		t.Errorf("with its digest: status %d", status)
	}
	r.settled(path)
}
