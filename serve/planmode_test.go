package serve_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/acp"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// acceptsEdits lets conversations accept edits, besides planning.
func acceptsEdits(o *serve.Options) {
	o.Presets[0].Modes = []permission.Mode{permission.ModePlan, permission.ModeAcceptEdits}
}

// The end of planning is put to an editor with the modes of the preset. The chosen one
// holds with the decision: all editors are shown it, the CLI has it, and the conversation
// keeps it.
func TestRemotePlan(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	r := newRigIn(t, store.Memory(), root, acceptsEdits)
	page := r.remote("ada", api.RoleOperator, nil)
	ada := newEditor(t, &acp.Remote{Server: page})
	two := newEditor(t, &acp.Remote{Server: r.remote("ada", api.RoleOperator, nil)})
	kim := newEditor(t, &acp.Remote{Server: r.remote("ada", api.RoleApprover, nil)})
	id := ada.New(t, root)
	two.load(t, id, root)
	kim.load(t, id, root)
	for _, c := range []struct {
		answer schema.PermissionOptionID
		mode   schema.SessionModeID
	}{{"exit-plan-accept-edits", "acceptEdits"}, {"reject", "plan"}, {"exit-plan-default", "default"}} {
		if err := ada.Call(t.Context(), schema.MethodAgentSessionSetMode, schema.SetSessionModeRequest{SessionID: id, ModeID: "plan"}, nil); err != nil {
			t.Fatal(err)
		}
		ended := ada.begin(t, id, "plan "+string(c.mode))
		if got := optionIDs(<-ada.asked); got != "exit-plan-default exit-plan-accept-edits reject" {
			t.Errorf("the editor is offered %s", got)
		}
		if got := optionIDs(<-kim.asked); got != "allow-once reject" {
			t.Errorf("an approver, who cannot choose a mode, is offered %s", got)
		}
		<-two.asked
		ada.answers <- c.answer
		if got := <-ended; got != schema.StopReasonEndTurn {
			t.Errorf("%s: ended %s", c.answer, got)
		}
		<-two.withdrawn
		<-kim.withdrawn
		if now := must[api.Conversation](t)(page.Conversation(t.Context(), string(id))); now.Mode != string(c.mode) {
			t.Errorf("%s: the conversation is in mode %q", c.answer, now.Mode)
		}
		two.awaitMode(t, c.mode)
		if got := lastMode(ada.Updates(id)); got != c.mode {
			t.Errorf("%s: the editor is shown mode %q", c.answer, got)
		}
		// Another change does not take the mode back to what was chosen before the plan.
		must[api.Conversation](t)(page.Change(t.Context(), string(id), api.Change{Title: new("after " + string(c.answer))}))
		two.awaitTitle(t, "after "+string(c.answer))
		if got := lastMode(two.Updates(id)); got != c.mode {
			t.Fatalf("%s: renamed, the conversation is shown in mode %q", c.answer, got)
		}
	}
}

// An editor that joins during the turn of a plan sees the mode that was chosen with
// it, as do all others that ask.
func TestModeOfPlanHoldsInTheTurn(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	r := newRigIn(t, store.Memory(), root, acceptsEdits)
	page := r.remote("ada", api.RoleOperator, nil)
	ada := newEditor(t, &acp.Remote{Server: page})
	id := ada.New(t, root)
	if err := ada.Call(t.Context(), schema.MethodAgentSessionSetMode, schema.SetSessionModeRequest{SessionID: id, ModeID: "plan"}, nil); err != nil {
		t.Fatal(err)
	}
	ended := ada.begin(t, id, "plan 1")
	<-ada.asked
	goes := make(chan struct{})
	r.agent.mu.Lock()
	r.agent.hold = goes // the answer after the plan waits
	r.agent.mu.Unlock()
	ada.answers <- "exit-plan-accept-edits"
	ada.awaitMode(t, "acceptEdits")
	for patience := time.After(time.Minute); must[api.Conversation](t)(page.Conversation(t.Context(), string(id))).Mode != "acceptEdits"; {
		if len(ended) > 0 {
			t.Fatal("the turn has ended")
		}
		select {
		case <-time.After(10 * time.Millisecond): // the CLI has yet to say it
		case <-patience:
			t.Fatal("the mode is not kept in the turn")
		}
	}
	var opened schema.LoadSessionResponse
	two := newEditor(t, &acp.Remote{Server: r.remote("ada", api.RoleOperator, nil)})
	if err := two.Call(t.Context(), schema.MethodAgentSessionLoad, schema.LoadSessionRequest{SessionID: id, Cwd: root}, &opened); err != nil {
		t.Fatal(err)
	}
	if got := opened.Modes.CurrentModeID; got != "acceptEdits" || len(ended) != 0 {
		t.Errorf("an editor that joins is shown mode %q", got)
	}
	close(goes)
	if got := <-ended; got != schema.StopReasonEndTurn {
		t.Errorf("ended %s", got)
	}
}

func optionIDs(req *schema.RequestPermissionRequest) string {
	var ids []string
	for _, o := range req.Options {
		ids = append(ids, string(o.OptionID))
	}
	return strings.Join(ids, " ")
}

// lastMode is the mode that an editor was shown last.
func lastMode(updates []schema.SessionUpdate) (mode schema.SessionModeID) {
	for _, up := range updates {
		if up.CurrentModeUpdate != nil {
			mode = up.CurrentModeUpdate.CurrentModeID
		}
	}
	return mode
}

// awaitMode waits until the editor is shown a mode.
func (e *editor) awaitMode(t *testing.T, mode schema.SessionModeID) {
	t.Helper()
	for {
		select {
		case up := <-e.updates:
			if up.CurrentModeUpdate != nil && up.CurrentModeUpdate.CurrentModeID == mode {
				return
			}
		case <-t.Context().Done():
			t.Fatalf("mode %q is not shown", mode)
		}
	}
}

// awaitTitle waits until the editor is shown a title.
func (e *editor) awaitTitle(t *testing.T, title string) {
	t.Helper()
	for {
		select {
		case up := <-e.updates:
			if up.SessionInfoUpdate != nil && up.SessionInfoUpdate.Title != nil && *up.SessionInfoUpdate.Title == title {
				return
			}
		case <-t.Context().Done():
			t.Fatalf("title %q is not shown", title)
		}
	}
}

// A mode is chosen with a decision by those who may change it, and only one that the
// preset offers. What is refused decides nothing.
func TestModeOfDecision(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), acceptsEdits)
	ada, kim := r.as("ada", api.RoleOperator), r.as("ada", api.RoleApprover)
	made := ada.begin("plan 1")
	plan := ada.pending(1)[0]
	if !slices.Equal(plan.Modes, []string{"default", "acceptEdits"}) {
		t.Errorf("an operator may choose %q", plan.Modes)
	}
	if got := get[api.Approval](kim, "/v1/approvals/"+plan.ID); got.Modes != nil || !got.MayDecide {
		t.Errorf("an approver may choose %q, and decide: %t", got.Modes, got.MayDecide)
	}
	decide := func(c *client, q api.Approval, d string) reply {
		return c.do("POST", "/v1/approvals/"+q.ID+"/decision", fmt.Sprintf(`{"digest":%q,%s}`, q.Digest, d))
	}
	for d, status := range map[string]int{
		`"decision":"allow","mode":"bypassPermissions"`: http.StatusUnprocessableEntity,
		`"decision":"allow","mode":"plan"`:              http.StatusUnprocessableEntity,
		`"decision":"allow","mode":"odd"`:               http.StatusUnprocessableEntity,
		`"decision":"deny","mode":"acceptEdits"`:        http.StatusBadRequest,
	} {
		want[api.Problem](ada, decide(ada, plan, d), status)
	}
	want[api.Problem](kim, decide(kim, plan, `"decision":"allow","mode":"acceptEdits"`), http.StatusForbidden)
	if now := get[api.Approval](ada, "/v1/approvals/"+plan.ID); now.State != api.ApprovalPending {
		t.Fatalf("what was refused has decided: %+v", now)
	}
	for range 2 { // the same decision again changes nothing
		if got := want[api.Approval](ada, decide(ada, plan, `"decision":"allow","mode":"acceptEdits"`), http.StatusOK); got.Mode != "acceptEdits" || got.State != api.ApprovalAllowed {
			t.Errorf("decided %+v", got)
		}
	}
	want[api.Problem](ada, decide(ada, plan, `"decision":"allow","mode":"default"`), http.StatusConflict)
	ada.turnsOf(made.ID, 1)
	ada.begin("tool 1")
	call := ada.pending(1)[0]
	want[api.Problem](ada, decide(ada, call, `"decision":"allow","mode":"acceptEdits"`), http.StatusBadRequest)
	if call.Modes != nil {
		t.Errorf("a call is asked about with modes %q", call.Modes)
	}
}
