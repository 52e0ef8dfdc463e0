package serve_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// onlyBash puts the shell before people, and nothing else.
func onlyBash(_ context.Context, in *hook.PreToolUseInput) (string, bool) {
	return "it runs a command", in.ToolName == "Bash"
}

// decide decides an approval.
func (c *client) decide(a *api.Approval, decision api.DecisionKind) {
	c.t.Helper()
	want[api.Approval](c, c.do("POST", "/v1/approvals/"+a.ID+"/decision", api.Decision{Decision: decision, Digest: a.Digest}), http.StatusOK)
}

// ofSubagent waits until a subagent asks, and allows everything before it.
func (c *client) ofSubagent() api.Approval {
	c.t.Helper()
	for {
		a := c.pending(1)[0]
		if a.AgentID != "" {
			return a
		}
		c.decide(&a, "allow")
	}
}

// A process that waits for the answer to a subagent is released: the call does not run,
// the turn ends, and the conversation that waited for the slot gets it. The log records
// who did it.
func TestRelease(t *testing.T) {
	t.Parallel()
	r := newRigFleet(t, store.Memory(), t.TempDir(), func(o *fleet.Options) {
		o.MaxLive, o.Gate = 1, &approval.Options{Patience: time.Hour, Needs: onlyBash}
	}, nil)
	ada := r.as("ada", api.RoleOperator)
	at := "/v1/conversations/" + ada.begin("delegate").ID
	asked := ada.ofSubagent()
	if !asked.HoldsProcess {
		t.Fatalf("%+v", asked)
	}
	other := "/v1/conversations/" + ada.begin("hello").ID
	if c := get[api.Conversation](ada, other); c.State != api.StateQueued {
		t.Fatalf("the other conversation is %s", c.State)
	}
	if got := ada.do("POST", at+"/release", nil); got.status != http.StatusAccepted {
		t.Fatalf("%d %s", got.status, got.body)
	}
	ada.follow(other+"/events?after=0", untilTurns(1))
	notices := 0
	ada.follow(at+"/events?after=0", func(e sse) bool {
		var event api.Event
		if err := json.Unmarshal([]byte(e.data), &event); err == nil && event.Notice != nil && event.Notice.Text == "released the process: declined 1 question" && event.Notice.User == "ada" {
			notices++
		}
		return e.event == "turn"
	})
	if notices != 1 {
		t.Errorf("the log says %d times who released it", notices)
	}
	if a := get[api.Approval](ada, "/v1/approvals/"+asked.ID); a.State != api.ApprovalDenied || a.DecidedBy != "ada" || !strings.Contains(a.Message, "do not ask again") {
		t.Errorf("%+v", a)
	}
	for _, input := range r.agent.ran() {
		if strings.Contains(input, "make inner") {
			t.Error("the call was made")
		}
	}
	if p := want[api.Problem](ada, ada.do("POST", at+"/release", nil), http.StatusConflict); p.Type != "/problems/idle" {
		t.Errorf("%+v", p)
	}
}

// A question that can be deferred holds no process, so there is nothing to release.
func TestReleaseOfDeferrable(t *testing.T) {
	t.Parallel()
	ada := newRig(t, store.Memory(), nil).as("ada", api.RoleOperator)
	at := "/v1/conversations/" + ada.begin("tool 1").ID
	asked := ada.pending(1)[0]
	if p := want[api.Problem](ada, ada.do("POST", at+"/release", nil), http.StatusConflict); p.Type != "/problems/idle" || !strings.Contains(p.Detail, "interrupt") {
		t.Errorf("%+v", p)
	}
	if a := get[api.Approval](ada, "/v1/approvals/"+asked.ID); a.State != api.ApprovalPending {
		t.Errorf("the question is %s", a.State)
	}
}

// holding puts a question into the inbox for which a process waits.
func (r *rig) holding(id, call string, deciders ...string) approval.Question {
	r.t.Helper()
	q, err := approval.NewQuestions(r.db, "p").Ask(r.t.Context(), approval.Question{
		Conversation: strings.Replace(id, "~", "/", 1), Tool: approval.ElicitationTool, ToolUseID: call, HoldsProcess: true, Deciders: deciders,
		Input: json.RawMessage(`{"mcp_server_name":"crm","message":"How many?"}`),
	}, store.Fence{})
	if err != nil {
		r.t.Fatal(err)
	}
	return q
}

// Where one of the questions is not the user's to decide, none is declined.
func TestReleaseForbidden(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), nil)
	ada := r.as("ada", api.RoleOperator)
	conversation := ada.begin("hello")
	mine, theirs := r.holding(conversation.ID, "elicitation-1"), r.holding(conversation.ID, "elicitation-2", "bob")
	if got := ada.do("POST", "/v1/conversations/"+conversation.ID+"/release", nil); got.status != http.StatusForbidden {
		t.Errorf("%d %s", got.status, got.body)
	}
	for _, q := range []approval.Question{mine, theirs} {
		if a := get[api.Approval](ada, "/v1/approvals/"+q.ID); a.State != api.ApprovalPending {
			t.Errorf("the question is %s", a.State)
		}
	}
}

// A decision that comes first stands: no process waits for the question any longer.
func TestReleaseTooLate(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), nil)
	var q approval.Question
	r.over(deciding{r.fleet, func() {
		a := approval.Answer{By: "bob", Digest: q.Digest, Decision: permission.AllowWith(json.RawMessage(`{"n":7}`))}
		if _, err := r.fleet.Approvals().Decide(t.Context(), q.ID, a); err != nil {
			t.Error(err)
		}
	}})
	ada := r.as("ada", api.RoleOperator)
	conversation := ada.begin("hello")
	q = r.holding(conversation.ID, "elicitation-1")
	if got := ada.do("POST", "/v1/conversations/"+conversation.ID+"/release", nil); got.status != http.StatusAccepted {
		t.Errorf("%d %s", got.status, got.body)
	}
	if a := get[api.Approval](ada, "/v1/approvals/"+q.ID); a.State != api.ApprovalAnswered || a.DecidedBy != "bob" {
		t.Errorf("%+v", a)
	}
}
