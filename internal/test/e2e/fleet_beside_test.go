package e2e

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
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

// stalled is a store that takes everything but lines with a text: their write hangs until
// the program dies.
type stalled struct {
	store.Fleet
	text []byte
}

func (s *stalled) Append(ctx context.Context, k store.Key, b store.Batch) error {
	if slices.ContainsFunc(b.Entries, func(e store.Entry) bool { return bytes.Contains(e, s.text) }) {
		<-ctx.Done()
		return ctx.Err()
	}
	return s.Fleet.Append(ctx, k, b)
}

// twoCalls is a machine whose model makes two calls in one answer: a command that needs no
// person, and waits for a file before its effect; and a Write, which needs one.
func twoCalls(t *testing.T) *real {
	t.Helper()
	realcli.Needs(t, "2.1.325", "sessions in a store")
	return startReal(t, claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
		if n := len(c.ToolResults); n > 0 {
			return claudetest.Say("I have read the results")
		}
		return claudetest.UseTools(
			claudetest.ScriptedCall{ID: "toolu_ran", Name: "Bash", Input: map[string]string{"command": "until test -e go; do sleep 0.02; done; echo one >> log", "description": "note it"}},
			claudetest.ScriptedCall{ID: "toolu_gated", Name: "Write", Input: map[string]string{"file_path": "gated.txt", "content": "gated"}})
	}))
}

// A call has run and its result is not stored when the machine dies, while a person is
// asked about another call of the same answer. The program that takes over does not make
// the turn a deferral, from which the CLI would drop the first call: the model reads of
// both that their outcome is unknown, the question is withdrawn, and nothing runs again.
// Someone who decided in the meantime is told that the decision was not used.
func TestRealFleetRemembersCallBesideQuestion(t *testing.T) {
	t.Parallel()
	need.Signals.Test(t)
	for name, decided := range map[string]bool{"undecided": false, "decided before the takeover": true} {
		t.Run(name, func(t *testing.T) {
			dir, first := t.TempDir(), twoCalls(t)
			inbox := &approvals{first, approval.NewQuestions(store.Files(dir), "p")}
			var q approval.Question
			first.killed(t, dir, "work", time.Minute, func(*os.Process) {
				stored(t, store.Files(dir), "p", "toolu_gated")
				if err := os.WriteFile(filepath.Join(first.dir, "go"), nil, 0o600); err != nil {
					t.Fatal(err)
				}
				q = inbox.asked(t)
				if q.ToolUseID != "toolu_gated" || first.noted() != "one\n" {
					t.Fatalf("asked about %s; the tool wrote %q", q.ToolUseID, first.noted())
				}
			}, "HOST_GATED=Write", `HOST_STALLS="tool_use_id":"toolu_ran"`)
			if decided {
				inbox.decide(t, q, permission.Allow())
			}

			second := twoCalls(t)
			second.opts.PermissionMode, second.opts.AllowBypassPermissions = permission.ModeBypassPermissions, true
			f := second.fleet(t, store.Files(dir), fleet.Options{Gate: &approval.Options{Patience: time.Minute, Needs: approval.NeedsRules("Write")}})
			defer closeFleet(t, f)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			ticket, err := f.Wait(ctx, "ada", notedPrompt)
			if err != nil || ticket.Text != "I have read the results" {
				t.Errorf("the answer: %+v, %v", ticket, err)
			}
			read := make(map[string]string)
			for _, c := range second.calls() {
				for _, r := range c.ToolResults {
					read[r.ToolUseID] = r.Text
				}
			}
			for _, id := range []string{"toolu_ran", "toolu_gated"} {
				if !strings.Contains(read[id], "unknown") {
					t.Errorf("the model read about %s: %q", id, read[id])
				}
			}
			if q := inbox.question(t, q.ID); q.Outcome != approval.OutcomeWithdrawn || decided != (q.Unused != "") {
				t.Errorf("the question is %s %s, not used: %q", q.State, q.Outcome, q.Unused)
			}
			_, err = os.Stat(filepath.Join(second.dir, "gated.txt"))
			if first.noted() != "one\n" || second.noted() != "" || !os.IsNotExist(err) {
				t.Errorf("the tools wrote %q, then %q; the file that needs a person: %v", first.noted(), second.noted(), err)
			}
		})
	}
}
