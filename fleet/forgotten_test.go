package fleet_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// A call of an answer has run and its result is not stored when the machine dies, while
// a person is asked about another call of the answer. The turn does not become a
// deferral, which would make the CLI forget the first: it is resumed, the model reads
// that the outcome of both calls is unknown, and the question is withdrawn.
func TestNotDeferredBesideAnotherCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		var m *machine
		var mu sync.Mutex
		var read []string // what the model read about calls
		cli := &scripted{CLI: claudetest.NewCLI(&claudetest.Script{
			Model: func(c *claudetest.ModelCall) claudetest.Reply {
				if len(c.ToolResults) == 0 {
					return claudetest.UseTools(
						claudetest.ScriptedCall{ID: "toolu_ran", Name: "Bash", Input: json.RawMessage(`{"command":"make"}`)},
						claudetest.ScriptedCall{ID: "toolu_gated", Name: "Write", Input: json.RawMessage(`{"file_path":"a","content":"b"}`)})
				}
				mu.Lock()
				defer mu.Unlock()
				for _, r := range c.ToolResults {
					read = append(read, r.ToolUseID+" "+r.Text)
				}
				return claudetest.Say("done")
			},
			Tools: map[string]host.RunFunc{"Bash": func(context.Context, json.RawMessage) (host.ToolOutput, error) {
				<-time.After(time.Second) // the calls are stored
				m.mu.Lock()
				defer m.mu.Unlock()
				m.failing = func(method string) bool { return method == "Append" }
				return host.TextOutput("made"), nil
			}},
		})}
		gate := func(o *fleet.Options) {
			o.Gate.Needs = func(_ context.Context, in *hook.PreToolUseInput) (string, bool) { return "", in.ToolName == "Write" }
			usual := o.Session
			o.Session = func(ctx context.Context, key string) (*claude.Options, error) {
				opts, err := usual(ctx, key)
				opts.CanUseTool = func(context.Context, *permission.Request) (permission.Decision, error) {
					return permission.Allow(), nil
				}
				return opts, err
			}
		}
		m = start(t, db, cli, gate)
		id := send(t, m.fleet, "ada", "work")
		<-time.After(2 * time.Second)
		q := question(t, m.fleet)
		crash(t, m)
		m = start(t, db, cli, gate)
		defer closeFleet(t, m.fleet)
		<-time.After(time.Minute)
		if o := outcome(t, m.fleet, "ada", id); o.Status != fleet.PromptAnswered || o.Text != "done" {
			t.Errorf("after the crash: %+v", o)
		}
		all := strings.Join(read, "\n")
		if strings.Count(all, "unknown") != 2 || !strings.Contains(all, "toolu_ran") || !strings.Contains(all, "toolu_gated") {
			t.Errorf("the model read %q", all)
		}
		if q, err := m.fleet.Approvals().Get(t.Context(), q.ID); err != nil || q.Outcome != approval.OutcomeWithdrawn {
			t.Errorf("the question: %+v, %v", q, err)
		}
	})
}
