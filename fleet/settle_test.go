package fleet_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// A program that dies while an allowed call runs leaves a question that says
// "released". The next one settles it: nobody knows how the call ended, and it is
// not made again.
func TestCutOffWhileTheCallRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), new(scripted)
		cli.CLI = claudetest.NewCLI(&claudetest.Script{
			Model: cli.reply,
			Tools: map[string]host.RunFunc{"Bash": func(ctx context.Context, input json.RawMessage) (host.ToolOutput, error) {
				cli.mu.Lock()
				cli.tools = append(cli.tools, string(input))
				cli.mu.Unlock()
				<-ctx.Done() // until the CLI is killed
				return host.ToolOutput{}, ctx.Err()
			}},
		})
		ran := func() int {
			cli.mu.Lock()
			defer cli.mu.Unlock()
			return len(cli.tools)
		}
		m := start(t, db, cli, nil)
		id := send(t, m.fleet, "ada", "tool 1")
		q := question(t, m.fleet)
		decide(t, m.fleet, q, permission.Allow())
		<-time.After(time.Second)
		if now, err := m.fleet.Approvals().Get(t.Context(), q.ID); err != nil || now.State != approval.Released || ran() != 1 {
			t.Fatalf("%+v, %v: the tool ran %d times", now, err, ran())
		}
		crash(t, m)
		m = start(t, db, cli, nil)
		defer closeFleet(t, m.fleet)
		<-time.After(2 * time.Minute)
		now, err := m.fleet.Approvals().Get(t.Context(), q.ID)
		if err != nil || now.State != approval.Settled || now.Outcome != approval.Unknown {
			t.Errorf("the question is %+v, %v", now, err)
		}
		if o := outcome(t, m.fleet, "ada", id); o.Status != fleet.Answered || ran() != 1 {
			t.Errorf("%+v, the tool ran %d times", o, ran())
		}
	})
}
