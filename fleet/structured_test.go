package fleet_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/store"
)

// A structured answer is in the ticket: of a turn that ended here, of one that ended
// elsewhere, and of one whose owner died before it could write the outcome.
func TestStructuredOutcome(t *testing.T) {
	const schema = `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`
	for _, crashes := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			db, cli := store.Memory(), new(scripted)
			hold := make(chan struct{})
			structured := func(o *fleet.Options) {
				o.Gate = nil
				usual := o.Session
				o.Session = func(ctx context.Context, key string) (*claude.Options, error) {
					opts, err := usual(ctx, key)
					opts.OutputSchema = json.RawMessage(schema)
					return opts, err
				}
			}
			asked := 0
			cli.CLI = claudetest.NewCLI(&claudetest.Script{Model: func(c *claudetest.ModelCall) claudetest.Reply {
				<-hold
				if asked++; asked > 1 {
					return claudetest.Say("I have said it.")
				}
				return claudetest.Answer(map[string]string{"name": "Oslo"})
			}})
			m := start(t, db, cli, structured)
			id := send(t, m.fleet, "ada", "where?")
			if crashes {
				m.mu.Lock()
				m.failing = func(method string) bool { return method == "Now" } // the time of the outcome
				m.mu.Unlock()
			}
			close(hold)
			<-time.After(time.Second)
			if crashes {
				crash(t, m)
				m = start(t, db, cli, structured)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			ticket, err := m.fleet.Wait(ctx, "ada", id)
			if err != nil || string(ticket.Output) != `{"name":"Oslo"}` || ticket.Text != `{"name":"Oslo"}` || asked != 1 {
				t.Errorf("crashed %t: %+v, output %s, %v; the model was asked %d times", crashes, ticket, ticket.Output, err, asked)
			}
			for o, err := range m.fleet.Outcomes(ctx, "") {
				if err != nil || o.Ticket.Prompt != id || string(o.Ticket.Output) != `{"name":"Oslo"}` {
					t.Errorf("crashed %t: %+v, output %s, %v", crashes, o, o.Ticket.Output, err)
				}
				break
			}
			closeFleet(t, m.fleet)
		})
	}
}

// The line that the CLI writes when a turn is interrupted is not a prompt of a person.
func TestInterruptNoteIsSynthetic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := newScripted()
		f := open(t, store.Memory(), cli, nil)
		defer closeFleet(t, f)
		release := cli.pause()
		send(t, f, "ada", "hello")
		interrupt(t, f)
		synctest.Wait()
		release()
		ask(t, f, "ada", "more")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		synthetic := make(map[string]bool)
		for e, err := range f.Events(ctx, "ada", "") {
			if err != nil {
				break
			}
			if u, ok := e.Message.(*message.User); ok {
				synthetic[u.Text()] = u.IsSynthetic
			}
		}
		if note, found := synthetic["[Request interrupted by user]"]; !found || !note || synthetic["hello"] || synthetic["more"] {
			t.Errorf("%v", synthetic)
		}
	})
}
