package e2e

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/test/need"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// deadly is a machine whose model makes one call, which kills the program that runs the
// CLI 5 ms after its effect, unless the model reads that the outcome of a call is unknown.
func deadly(t *testing.T) *real {
	t.Helper()
	realcli.Needs(t, "2.1.325", "sessions in a store")
	return startReal(t, claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
		switch {
		case bytes.Contains(c.Raw, []byte("unknown:")), len(c.ToolResults) > 0 && strings.Contains(c.ToolResults[len(c.ToolResults)-1].Text, "unknown"):
			return claudetest.Say("I read that its outcome is unknown")
		case len(c.ToolResults) > 0:
			return claudetest.Say("It says: " + c.ToolResults[len(c.ToolResults)-1].Text)
		}
		return bash(`echo one >> log; sleep 0.005; test -n "$FLEET_PID" && kill -9 "$FLEET_PID"`)
	}))
}

// A tool that kills its program a moment after its effect does not run again by itself,
// although the call was not stored: the next program tells the model of it. No
// person is asked about the call twice.
func TestRealFleetTellsOfLostCalls(t *testing.T) {
	t.Parallel()
	need.Signals.Test(t)
	for name, patience := range map[string]time.Duration{"not gated": 0, "decided at once": time.Minute} {
		t.Run(name, func(t *testing.T) {
			dir, first := t.TempDir(), deadly(t)
			inbox := &approvals{first, approval.NewQuestions(store.Files(dir), "p")}
			first.killed(t, dir, "make a note", patience, func(*os.Process) {
				if patience > 0 {
					inbox.decide(t, inbox.asked(t), permission.Allow())
				}
				eventually(t, "the tool did not run", func() bool { return first.noted() != "" })
			})
			second := deadly(t)
			second.opts.PermissionMode, second.opts.AllowBypassPermissions = permission.ModeBypassPermissions, true
			var o fleet.Options
			if patience > 0 {
				o.Gate = &approval.Options{Patience: 100 * time.Millisecond}
			}
			f := second.fleet(t, store.Files(dir), o)
			defer closeFleet(t, f)
			_, err := lastText(f.RunPrompt(t.Context(), "ada", fleet.Prompt{ID: notedPrompt, Text: "make a note"}))
			ticket, known := f.Prompt(context.Background(), "ada", notedPrompt)
			if err != nil || known != nil || ticket.Text != "I read that its outcome is unknown" {
				t.Errorf("the answer: %+v, %v, %v", ticket, err, known)
			}
			if first.noted() != "one\n" || second.noted() != "" {
				t.Errorf("the tool wrote %q, then %q", first.noted(), second.noted())
			}
			asked := 0
			for q, err := range inbox.inbox.List(t.Context(), approval.Filter{}) {
				if asked++; err != nil || q.State != approval.Settled {
					t.Errorf("question about %s is %s, %v", q.ToolUseID, q.State, err)
				}
			}
			if want := min(1, int(patience)); asked != want {
				t.Errorf("%d questions, want %d", asked, want)
			}
		})
	}
}
