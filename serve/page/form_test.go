package page_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// elicit lets an MCP server ask for something in a conversation.
func (r *rig) elicit(path, input string) api.Approval {
	r.t.Helper()
	key := strings.Replace(strings.TrimPrefix(path, "/c/"), "~", "/", 1)
	q, err := approval.NewQuestions(r.db, "p").Ask(r.t.Context(), approval.Question{
		Conversation: key, Tool: approval.ElicitationTool, ToolUseID: "elicitation-" + input[len(input)-20:], Input: json.RawMessage(input), HoldsProcess: true, Reason: "Who are you?",
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

// A form of an MCP server is filled in without a script, and content that does not fit
// it decides nothing.
func TestFillInForms(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.client(ada)
	path := r.begin("shop-api", "hello")
	r.settled(path)
	a := r.elicit(path, `{"mcp_server_name":"<b>crm","message":"Who are you?","mode":"form","property_order":["name","size"],"requested_schema":{"type":"object",
		"required":["name","size"],"properties":{"size":{"type":"integer","minimum":1,"default":3},"name":{"type":"string","title":"Your name","description":"as on the door"},
		"gift":{"type":"boolean","default":true},"mail":{"type":"string","format":"email"},"colour":{"type":"string","enum":["r","b"],"enumNames":["Red","Blue"]},
		"tags":{"type":"array","items":{"type":"string","enum":["x","y"]},"default":["y"]}}}}`)
	_, inbox := get(t, c, r.http.URL+"/")
	for _, want := range []string{
		"&lt;b&gt;crm", `<label class="field"><span>Your name`, "as on the door", `type="text" name="f0" value="" required`, `type="number" name="f1" value="3" required`,
		`type="radio" name="f2" value="b"`, "Blue", `type="checkbox" name="f3" value="true" checked`, `type="email" name="f4"`, `type="checkbox" name="f5" value="y" checked`,
	} {
		if !strings.Contains(inbox, want) {
			t.Errorf("the inbox has no %q", want)
		}
	}
	post := func(a *api.Approval, form url.Values) (int, string) {
		form.Set("digest", a.Digest)
		form.Set("decision", "answer")
		reply, err := c.PostForm(r.http.URL+"/a/"+a.ID, form)
		if err != nil {
			t.Fatal(err)
		}
		return read(t, reply)
	}
	for want, form := range map[string]url.Values{
		"Your name: it is needed":            {"fields": {"6"}, "f1": {"3"}},
		"size: ":                             {"fields": {"6"}, "f0": {"Ada"}, "f1": {"0"}},
		"size: it is not a number":           {"fields": {"6"}, "f0": {"Ada"}, "f1": {"many"}},
		"colour: &#34;g&#34; is not one of":  {"fields": {"6"}, "f0": {"Ada"}, "f1": {"3"}, "f2": {"g"}},
		"the input does not fit the form":    {"content": {`{"name":7}`}},
		"does not fit the form; nothing was": {"content": {`{}`}},
	} {
		if status, body := post(&a, form); status != http.StatusBadRequest || !strings.Contains(body, want) {
			t.Errorf("%v: %d, no %q", form, status, want)
		}
	}
	if status, _ := post(&a, url.Values{"fields": {"6"}, "f0": {"Ada"}, "f1": {"12"}, "f2": {"b"}, "f5": {"x", "y"}}); status != http.StatusOK {
		t.Fatalf("the answer ends with %d", status)
	}
	q, err := r.fleet.Approvals().Get(t.Context(), a.ID)
	if err != nil || q.Answer == nil {
		t.Fatalf("%+v, %v", q, err)
	}
	if input, _ := q.Answer.Decision.Input(); fmt.Sprintf("%s", input) != `{"colour":"b","gift":false,"name":"Ada","size":12,"tags":["x","y"]}` {
		t.Errorf("the server reads %s", input)
	}

	visit := r.elicit(path, `{"mcp_server_name":"crm","message":"Log in there","mode":"url","url":"https://crm.example/login?x=1"}`)
	if _, card := get(t, c, r.http.URL+"/a/"+visit.ID); !strings.Contains(card, `<a href="https://crm.example/login?x=1" rel="noopener noreferrer nofollow"`) || !strings.Contains(card, "I have been there") {
		t.Error("the address is not shown")
	}
	if status, _ := post(&visit, url.Values{"fields": {"0"}}); status != http.StatusOK {
		t.Errorf("a visit ends with %d", status)
	}
	bad := r.elicit(path, `{"mcp_server_name":"crm","message":"Log in there","mode":"url","url":"javascript:alert(1)"}`)
	if _, card := get(t, c, r.http.URL+"/a/"+bad.ID); strings.Contains(card, `href="javascript`) || !strings.Contains(card, "<code>javascript:alert(1)</code>") {
		t.Error("an address that runs a script is a link")
	}
}

// The card of a question that holds a process has a button that declines it and
// releases the process, for users who may prompt. Other cards have none.
func TestReleaseWithForms(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	path := r.begin("shop-api", "hello")
	r.settled(path)
	r.begin("shop-api", "Clean up")
	r.pending(1)
	const button = `/release"><input`
	c := r.client(ada)
	if _, inbox := get(t, c, r.http.URL+"/"); strings.Contains(inbox, button) {
		t.Error("a question that can be deferred can be released")
	}
	a := r.elicit(path, `{"mcp_server_name":"crm","message":"Log in there","mode":"url","url":"https://crm.example/login"}`)
	if _, inbox := get(t, r.client(api.User{Name: "eve", Role: api.RoleApprover}), r.http.URL+"/"); strings.Contains(inbox, button) || !strings.Contains(inbox, "holds a process") {
		t.Error("an approver is offered to release a process")
	}
	if _, inbox := get(t, c, r.http.URL+"/"); strings.Count(inbox, button) != 1 {
		t.Error("the inbox does not offer to release the process")
	}
	status, body := post(t, c, r.http.URL+path+"/release", url.Values{"back": {"/"}})
	if status != http.StatusOK || !strings.Contains(body, "The process is free when the turn is over.") || strings.Contains(body, a.ID) {
		t.Errorf("status %d, %s", status, body)
	}
	if _, card := get(t, c, r.http.URL+"/a/"+a.ID); !strings.Contains(card, "denied") || !strings.Contains(card, "by <b>ada</b>") {
		t.Errorf("the card is\n%s", card)
	}
	if status, _ := post(t, c, r.http.URL+path+"/release", nil); status != http.StatusConflict {
		t.Errorf("a second release ends with %d", status)
	}
}

// A plan is shown with its text, before it is approved and afterwards.
func TestPlanWithItsText(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.client(ada)
	path := r.begin("shop-api", "hello")
	r.settled(path)
	q, err := approval.NewQuestions(r.db, "p").Ask(t.Context(), approval.Question{
		Conversation: strings.Replace(strings.TrimPrefix(path, "/c/"), "~", "/", 1), Tool: "ExitPlanMode", ToolUseID: "toolu_plan", Input: json.RawMessage(`{}`),
		Plan: "1. **Count** the bolts\n2. Order <b>more</b>", PlanPath: "/home/ada/.claude/plans/bolts.md",
	}, store.Fence{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := r.server.Service().Approval(t.Context(), ada, q.ID)
	if err != nil || a.Kind != api.KindPlan || !strings.HasPrefix(a.Plan, "1. **Count**") || a.PlanPath == "" {
		t.Errorf("%+v, %v", a, err)
	}
	const text = "<strong>Count</strong> the bolts"
	for _, at := range []string{"/", "/a/" + q.ID, path} {
		if _, body := get(t, c, r.http.URL+at); !strings.Contains(body, text) || !strings.Contains(body, "Approve the plan") || strings.Contains(body, "<b>more</b>") {
			t.Errorf("%s does not show the plan", at)
		}
	}
	if status, _ := post(t, c, r.http.URL+"/a/"+q.ID, url.Values{"digest": {a.Digest}, "decision": {"allow"}}); status != http.StatusOK {
		t.Fatalf("status %d", status)
	}
	if _, body := get(t, c, r.http.URL+"/a/"+q.ID); !strings.Contains(body, text) || !strings.Contains(body, "by <b>ada</b>") {
		t.Error("an approved plan is not shown")
	}
}
