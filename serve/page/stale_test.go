package page_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// asked asks a question of a conversation, as its agent does.
func (r *rig) asked(path, tool, use, input string) api.Approval {
	r.t.Helper()
	q, err := approval.NewQuestions(r.db, "p").Ask(r.t.Context(), approval.Question{
		Conversation: strings.Replace(strings.TrimPrefix(path, "/c/"), "~", "/", 1), Tool: tool, ToolUseID: use, Input: json.RawMessage(input), Plan: "1. Count",
	}, store.Fence{})
	if err != nil {
		r.t.Fatal(err)
	}
	a, err := r.server.Service().Approval(r.t.Context(), ada, q.ID)
	if err != nil {
		r.t.Fatal(err)
	}
	return a
}

// Every form that decides is refused if the person saw an older question: in words that
// they understand, with nothing decided. The same form with what is asked now decides.
func TestStaleForms(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.client(ada)
	path := r.begin("shop-api", "hello")
	r.settled(path)
	bash := func(use string) api.Approval { return r.asked(path, "Bash", use, `{"command":"make `+use+`"}`) }
	question := `{"questions":[{"question":"Which?","header":"Which","multiSelect":false,"options":[{"label":"One","description":""},{"label":"Two","description":""}]}]}`
	schema := `{"mcp_server_name":"crm","message":"Who?","mode":"form","requested_schema":{"type":"object","properties":{"name":{"type":"string"}}}}`
	for name, f := range map[string]struct {
		of   api.Approval
		form url.Values
	}{
		"allow":   {bash("allow"), url.Values{"decision": {"allow"}}},
		"deny":    {bash("deny"), url.Values{"decision": {"deny"}, "message": {"no"}, "stop": {"1"}}},
		"edit":    {bash("edit"), url.Values{"decision": {"edit"}, "input": {`{"command":"make less"}`}}},
		"answer":  {r.asked(path, "AskUserQuestion", "answer", question), url.Values{"decision": {"answer"}, "questions": {"1"}, "q0": {"One"}}},
		"plan":    {r.asked(path, "ExitPlanMode", "plan", `{}`), url.Values{"decision": {"allow"}}},
		"fields":  {r.elicit(path, schema), url.Values{"decision": {"answer"}, "fields": {"1"}, "f0": {"Ada"}}},
		"content": {r.elicit(path, strings.Replace(schema, "Who?", "Who else?", 1)+strings.Repeat(" ", 20)), url.Values{"decision": {"answer"}, "content": {`{"name":"Ada"}`}}},
		"several": {bash("several"), url.Values{"decision": {"deny"}, "sure": {"1"}}},
	} {
		send := func(digest string) (int, string) {
			to := "/a/" + f.of.ID
			f.form.Set("digest", digest)
			if name == "several" {
				to = "/decide"
				f.form.Set("pick", f.of.ID+" "+digest)
			}
			reply, err := c.PostForm(r.http.URL+to, f.form)
			if err != nil {
				t.Fatal(err)
			}
			return read(t, reply)
		}
		for _, stale := range []string{approval.Digest([]byte(`{"command":"make something else"}`)), ""} {
			status, body := send(stale)
			if status != http.StatusConflict || !strings.Contains(body, "not what you saw") || !strings.Contains(body, "Nothing was decided") || !strings.Contains(body, "Load the page again") || strings.Contains(body, "its digest") {
				t.Errorf("%s of %q: status %d\n%s", name, stale, status, body)
			}
			if now, err := r.server.Service().Approval(t.Context(), ada, f.of.ID); err != nil || now.State != api.ApprovalPending {
				t.Errorf("%s of %q: it is %s, %v", name, stale, now.State, err)
			}
		}
		if status, body := send(f.of.Digest); status != http.StatusOK {
			t.Errorf("%s: status %d\n%s", name, status, body)
		}
		if now, err := r.server.Service().Approval(t.Context(), ada, f.of.ID); err != nil || now.State == api.ApprovalPending || now.DecidedBy != "ada" {
			t.Errorf("%s: it is %s, %v", name, now.State, err)
		}
	}
}
