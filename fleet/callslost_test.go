package fleet_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// losingCLI is a CLI whose machine stores nothing from the first calls on: n at once, with
// ids as long as those of the API. When all of them have begun, run decides how each ends.
func losingCLI(m **machine, began *atomic.Int32, n int, tool string, run func(ctx context.Context) (host.ToolOutput, error)) *scripted {
	return losingCLIOf(m, began, n, "toolu_01AbCdEfGhIjKlMnOpQrStUv", tool, run)
}

// losingCLIOf is losingCLI with the beginning of the ids.
func losingCLIOf(m **machine, began *atomic.Int32, n int, id, tool string, run func(ctx context.Context) (host.ToolOutput, error)) *scripted {
	return &scripted{CLI: claudetest.NewCLI(&claudetest.Script{
		Model: func(c *claudetest.ModelCall) claudetest.Reply {
			if began.Load() > 0 {
				if len(c.ToolResults) > 0 {
					(*m).kill() // its calls have run, and their lines are not stored
				}
				return claudetest.Say("done")
			}
			<-time.After(time.Second) // the lines before are stored
			(*m).mu.Lock()
			(*m).failing = func(method string) bool { return method == "Append" }
			(*m).mu.Unlock()
			var calls []claudetest.ScriptedCall
			for i := range n {
				calls = append(calls, claudetest.ScriptedCall{ID: fmt.Sprintf("%s|%d", id, i), Name: tool, Input: json.RawMessage(`{"file_path":"a","command":"x"}`)})
			}
			return claudetest.UseTools(calls...)
		},
		Tools: map[string]host.RunFunc{tool: func(ctx context.Context, _ json.RawMessage) (host.ToolOutput, error) {
			if int(began.Add(1)) == n && run != nil {
				go func() {
					<-time.After(10 * time.Millisecond)
					(*m).kill()
				}()
			}
			if run != nil {
				return run(ctx)
			}
			return host.TextOutput("ok"), nil
		}},
	})}
}

// forever is a tool that runs until its machine dies.
func forever(ctx context.Context) (host.ToolOutput, error) {
	<-ctx.Done()
	return host.ToolOutput{}, ctx.Err()
}

func ungated(o *fleet.Options) { o.Gate = nil }

// atOnce lets n calls be asked about at once: a session denies those above its limit, and
// a store that takes a moment for each record keeps all of them waiting.
func atOnce(n int) func(*fleet.Options) {
	return func(o *fleet.Options) {
		ungated(o)
		usual := o.Session
		o.Session = func(ctx context.Context, key string) (*claude.Options, error) {
			opts, err := usual(ctx, key)
			opts.Limits.Callbacks = n
			return opts, err
		}
		slow := &interceptor{Fleet: o.Store}
		slow.set(func(k store.RecordKey, _ []byte) error {
			if k.Kind == "calls" {
				<-time.After(time.Millisecond)
			}
			return nil
		}, nil)
		o.Store = slow
	}
}

// However many calls are lost at once, and whatever their ids look like, the model is
// told and the prompt is answered.
func TestManyLostCalls(t *testing.T) {
	const usual = "toolu_01AbCdEfGhIjKlMnOpQrStUv"
	for name, c := range map[string]struct {
		n  int
		id string
	}{
		"one": {1, usual}, "four": {4, usual}, "forty": {40, usual}, "a gateway's own id": {2, `call "Uv`},
	} {
		n := c.n
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := store.Memory()
				var m *machine
				var began atomic.Int32
				cli := losingCLIOf(&m, &began, n, c.id, "Read", forever)
				m = start(t, db, cli, atOnce(n))
				id := send(t, m.fleet, "ada", "work")
				<-time.After(5 * time.Second)
				crash(t, m)
				m = start(t, db, cli, atOnce(n))
				defer closeFleet(t, m.fleet)
				<-time.After(5 * time.Minute)
				if o := outcome(t, m.fleet, "ada", id); o.Status != fleet.PromptAnswered || int(began.Load()) != n {
					t.Errorf("%+v, %d calls of %d began", o, began.Load(), n)
				}
				if said := transcriptOf(t, db, m); !strings.Contains(said, fmt.Sprintf("Uv|%d", n-1)) {
					t.Error("the model did not learn about the last call")
				}
			})
		})
	}
}

// A call that a person allowed, and that ended before its line was stored, is reported like
// any other: its question is settled by then.
func TestLostCallOfSettledQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		var m *machine
		var began atomic.Int32
		cli := losingCLI(&m, &began, 1, "Bash", nil)
		m = start(t, db, cli, nil)
		id := send(t, m.fleet, "ada", "work")
		<-time.After(2 * time.Second)
		q := question(t, m.fleet)
		decideIn(t, approval.NewQuestions(db, "p"), q, permission.Allow())
		<-time.After(5 * time.Second)
		if now, err := approval.NewQuestions(db, "p").Get(t.Context(), q.ID); err != nil || now.State != approval.StateSettled || began.Load() != 1 {
			t.Fatalf("at the crash: %s, %v, %d calls began", now.State, err, began.Load())
		}
		crash(t, m)
		m = start(t, db, cli, nil)
		defer closeFleet(t, m.fleet)
		<-time.After(2 * time.Minute)
		if o := outcome(t, m.fleet, "ada", id); o.Status != fleet.PromptAnswered {
			t.Errorf("%+v", o)
		}
		if said := transcriptOf(t, db, m); !strings.Contains(said, "toolu_01AbCdEfGhIjKlMnOpQrStUv|0") {
			t.Error("the model did not learn about the call that ran")
		}
	})
}

// A prompt that is interrupted after a crash leaves a note of its lost calls for the turns
// that come after it.
func TestLostCallOfInterruptedPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		var m *machine
		var began atomic.Int32
		cli := losingCLI(&m, &began, 1, "Read", forever)
		m = start(t, db, cli, ungated)
		id := send(t, m.fleet, "ada", "work")
		<-time.After(5 * time.Second)
		crash(t, m)
		front := open(t, db, nil, withoutCLIs)
		if err := front.Interrupt(t.Context(), "ada"); err != nil {
			t.Fatal(err)
		}
		closeFleet(t, front)
		m = start(t, db, cli, ungated)
		defer closeFleet(t, m.fleet)
		<-time.After(2 * time.Minute)
		if o := outcome(t, m.fleet, "ada", id); !o.Interrupted {
			t.Errorf("%+v", o)
		}
		ask(t, m.fleet, "ada", "continue")
		if said := transcriptOf(t, db, m); !strings.Contains(said, "toolu_01AbCdEfGhIjKlMnOpQrStUv|0") {
			t.Error("the model did not learn about the call that ran")
		}
	})
}
