package fleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/internal/storefault"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// A program that dies while an allowed call runs leaves a question in the state
// "released". The next one settles it: the outcome of the call is unknown, and it is
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
		if now, err := m.fleet.Approvals().Get(t.Context(), q.ID); err != nil || now.State != approval.StateReleased || ran() != 1 {
			t.Fatalf("%+v, %v: the tool ran %d times", now, err, ran())
		}
		crash(t, m)
		m = start(t, db, cli, nil)
		defer closeFleet(t, m.fleet)
		<-time.After(2 * time.Minute)
		now, err := m.fleet.Approvals().Get(t.Context(), q.ID)
		if err != nil || now.State != approval.StateSettled || now.Outcome != approval.OutcomeUnknown {
			t.Errorf("the question is %+v, %v", now, err)
		}
		if o := outcome(t, m.fleet, "ada", id); o.Status != fleet.PromptAnswered || ran() != 1 {
			t.Errorf("%+v, the tool ran %d times", o, ran())
		}
	})
}

// A call that an interrupt ends while it runs is settled with its turn, although the CLI
// calls no hook for it.
func TestInterruptedCallIsSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := new(scripted)
		cli.CLI = claudetest.NewCLI(&claudetest.Script{
			Model: cli.reply,
			Tools: map[string]host.RunFunc{"Bash": func(ctx context.Context, _ json.RawMessage) (host.ToolOutput, error) {
				<-ctx.Done()
				return host.ToolOutput{}, ctx.Err()
			}},
		})
		f := gated(t, store.Memory(), cli)
		defer closeFleet(t, f)
		id := send(t, f, "ada", "tool 1")
		q := question(t, f)
		decide(t, f, q, permission.Allow())
		<-time.After(time.Second)
		if now, err := f.Approvals().Get(t.Context(), q.ID); err != nil || now.State != approval.StateReleased {
			t.Fatalf("it does not run: %+v, %v", now, err)
		}
		if err := f.Interrupt(t.Context(), "ada"); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Second)
		if o := outcome(t, f, "ada", id); o.Status != fleet.PromptFailed {
			t.Errorf("the prompt: %+v", o)
		}
		if now, err := f.Approvals().Get(t.Context(), q.ID); err != nil || now.State != approval.StateSettled || now.Outcome != approval.OutcomeFailed {
			t.Errorf("the question is %s %s, %v", now.State, now.Outcome, err)
		}
	})
}

// A call is refused if the store fails while a person is asked. Then it is not asked
// about again, and its question goes with its turn, even if the program dies at the end
// of the turn.
func TestQuestionOfRefusedCall(t *testing.T) {
	for _, dies := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			db, cli := store.Memory(), newScripted()
			var fails, last atomic.Bool
			var in *interceptor
			m := start(t, db, cli, func(o *fleet.Options) {
				in = &interceptor{Fleet: o.Store}
				o.Store = in
			})
			in.set(func(k store.RecordKey, value []byte) error {
				if k.Kind == approval.Kind && fails.Load() && strings.Contains(string(value), `"released"`) {
					return storefault.ErrFault
				}
				if k.Kind == approval.Kind && last.Load() {
					return storefault.ErrFault
				}
				return nil
			}, nil)
			release := cli.pause()
			id := send(t, m.fleet, "ada", "tool 1")
			release()
			synctest.Wait()
			q := question(t, m.fleet)
			fails.Store(true)
			release = cli.pause()
			decide(t, m.fleet, q, permission.Allow())
			<-time.After(5 * time.Second) // the model reads that the call was refused
			fails.Store(false)
			last.Store(dies)
			release()
			<-time.After(5 * time.Second)
			if dies {
				crash(t, m)
				m = start(t, db, cli, nil)
				<-time.After(2 * time.Minute)
			}
			defer closeFleet(t, m.fleet)
			if o := outcome(t, m.fleet, "ada", id); o.Status != fleet.PromptAnswered || len(cli.tools) != 0 {
				t.Errorf("dies %t: %+v, the tool ran with %q", dies, o, cli.tools)
			}
			if now, err := m.fleet.Approvals().Get(t.Context(), q.ID); err != nil || now.State != approval.StateGone || now.Outcome != approval.OutcomeWithdrawn {
				t.Errorf("dies %t: the question is %s %s, %v", dies, now.State, now.Outcome, err)
			}
		})
	}
}

// A call that was never stored is lost with its process, and the prompt is sent again.
// Its question goes, even if it was answered: the model makes another call.
func TestQuestionOfLostCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newScripted()
		var ids atomic.Int64
		cli.CLI = claudetest.NewCLI(&claudetest.Script{
			Model: func(c *claudetest.ModelCall) claudetest.Reply {
				if len(c.ToolResults) > 0 {
					return claudetest.Say("done")
				}
				return claudetest.UseTools(claudetest.ScriptedCall{ID: fmt.Sprintf("toolu_%d", ids.Add(1)), Name: "Bash", Input: json.RawMessage(`{}`)})
			},
			Tools: map[string]host.RunFunc{"Bash": func(context.Context, json.RawMessage) (host.ToolOutput, error) { return host.TextOutput("built"), nil }},
		})
		m := start(t, db, cli, nil)
		m.mu.Lock()
		m.failing = func(method string) bool { return method == "Append" }
		m.mu.Unlock()
		id := send(t, m.fleet, "ada", "hello")
		<-time.After(time.Second)
		lost := question(t, m.fleet)
		decide(t, m.fleet, lost, permission.Deny("no"))
		crash(t, m)
		m = start(t, db, cli, nil)
		defer closeFleet(t, m.fleet)
		<-time.After(40 * time.Second)
		decide(t, m.fleet, question(t, m.fleet), permission.Allow())
		<-time.After(time.Minute)
		if o := outcome(t, m.fleet, "ada", id); o.Status != fleet.PromptAnswered || o.Text != "done" {
			t.Errorf("the prompt: %+v", o)
		}
		for q, err := range m.fleet.Approvals().List(t.Context(), approval.Filter{States: approval.Waiting()}) {
			t.Errorf("the question about %s is %s, %v", q.ToolUseID, q.State, err)
		}
	})
}

// A question that is interrupted goes, even if the store fails when the gate withdraws it,
// long after the turn has ended.
func TestQuestionOfInterruptedTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &interceptor{Fleet: store.Memory()}
		f := gated(t, db, newScripted())
		defer closeFleet(t, f)
		id := send(t, f, "ada", "tool 1")
		q := question(t, f)
		var slow atomic.Bool
		slow.Store(true)
		db.set(func(k store.RecordKey, value []byte) error {
			if k.Kind == approval.Kind && slow.CompareAndSwap(true, false) {
				<-time.After(10 * time.Second)
				return storefault.ErrFault
			}
			return nil
		}, nil)
		if err := f.Interrupt(t.Context(), "ada"); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		if o := outcome(t, f, "ada", id); o.Status != fleet.PromptFailed || slow.Load() {
			t.Errorf("the prompt: %+v", o)
		}
		if now, err := f.Approvals().Get(t.Context(), q.ID); err != nil || now.State != approval.StateGone {
			t.Errorf("the question is %s %s, %v", now.State, now.Outcome, err)
		}
	})
}

// A turn has its outcome even if its transcript cannot be read to end its questions.
// They stay, the conversation shows why, and another one gets the only slot. When the
// transcript is back, the next prompt ends them.
func TestUnsettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), new(scripted)
		cli.CLI = claudetest.NewCLI(&claudetest.Script{
			Model: cli.reply,
			Tools: map[string]host.RunFunc{"Bash": func(ctx context.Context, _ json.RawMessage) (host.ToolOutput, error) {
				<-ctx.Done()
				return host.ToolOutput{}, ctx.Err()
			}},
		})
		var log strings.Builder
		m := start(t, db, cli, func(o *fleet.Options) {
			o.MaxLive = 1
			o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelError}))
		})
		defer closeFleet(t, m.fleet)
		fail := func(method string) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.failing = func(called string) bool { return called == method }
		}
		id := send(t, m.fleet, "ada", "tool 1")
		q := question(t, m.fleet)
		decide(t, m.fleet, q, permission.Allow())
		<-time.After(time.Second)
		fail("Load")
		if err := m.fleet.Interrupt(t.Context(), "ada"); err != nil {
			t.Fatal(err)
		}
		other := send(t, m.fleet, "bob", "hello")
		<-time.After(time.Minute)
		if o := outcome(t, m.fleet, "ada", id); o.Status != fleet.PromptFailed || o.Result == nil || !o.Result.Interrupted() || o.Cost.Turns != 1 {
			t.Errorf("the prompt: %+v", o)
		}
		if o := outcome(t, m.fleet, "bob", other); o.Status != fleet.PromptAnswered {
			t.Errorf("the prompt of another: %+v", o)
		}
		state := func() (unsettled string, question approval.State) {
			info, err := m.fleet.Get(t.Context(), "ada")
			now, gone := m.fleet.Approvals().Get(t.Context(), q.ID)
			if err := errors.Join(err, gone); err != nil {
				t.Error(err)
			}
			return info.Unsettled, now.State
		}
		if why, asked := state(); !strings.Contains(why, storefault.ErrFault.Error()) || asked != approval.StateReleased || !strings.Contains(log.String(), "are left") {
			t.Errorf("the conversation says %q, the question is %s, the log: %s", why, asked, log.String())
		}
		fail("")
		<-time.After(time.Minute)
		if got := ask(t, m.fleet, "ada", "more"); !strings.HasSuffix(got, "more") {
			t.Errorf("answer %q", got)
		}
		if why, asked := state(); why != "" || asked != approval.StateSettled {
			t.Errorf("the conversation says %q, the question is %s", why, asked)
		}
	})
}
