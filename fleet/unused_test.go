package fleet_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// A question is stored before its call. If the process dies in between, a decision that was
// taken is not dropped silently: the question keeps it as one that was not used, and
// the call is not made by it.
func TestDecisionOfLostCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newScripted()
		m := start(t, db, cli, nil)
		m.mu.Lock()
		m.failing = func(method string) bool { return method == "Append" }
		m.mu.Unlock()
		id := send(t, m.fleet, "ada", "tool 1")
		<-time.After(time.Second)
		q := question(t, m.fleet)
		m.kill()
		decideIn(t, approval.NewQuestions(db, "p"), q, permission.Allow())
		crash(t, m)
		m = start(t, db, cli, nil)
		defer closeFleet(t, m.fleet)
		<-time.After(40 * time.Second)
		now, err := m.fleet.Approvals().Get(t.Context(), q.ID)
		if err != nil || now.State != approval.StateGone || now.Unused == "" || now.Answer == nil {
			t.Errorf("the question: %+v, %v", now, err)
		}
		<-time.After(time.Minute)
		if o := outcome(t, m.fleet, "ada", id); o.Status != fleet.PromptAnswered || len(cli.tools) != 0 {
			t.Errorf("%+v, the tool ran with %q", o, cli.tools)
		}
	})
}
