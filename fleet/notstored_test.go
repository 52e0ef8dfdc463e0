package fleet_test

import (
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/storefault"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// failsWhile is a store in memory some of whose methods fail while it is down.
func failsWhile(down *atomic.Bool, methods ...string) *storefault.Store {
	return storefault.Wrap(store.Memory(), func(c storefault.Call) storefault.Kind {
		if down.Load() && slices.Contains(methods, c.Method) {
			return storefault.Fail
		}
		return storefault.None
	})
}

// An answer counts when the transcript has it. If the lease is in doubt before the
// store has taken the lines of a turn, its result is not written down either, though
// the store would take it, and the prompt is taken up again.
func TestResultNotStored(t *testing.T) {
	for name, prompt := range map[string]string{"a turn": "hello", "a call that was deferred": "tool 1"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var down atomic.Bool
				cli := newScripted()
				f := gated(t, failsWhile(&down, "Append", "Renew"), cli)
				defer closeFleet(t, f)
				release := cli.pause()
				id := send(t, f, "ada", prompt)
				if prompt != "hello" {
					release()
					<-time.After(2 * time.Minute) // longer than the gate waits for a person
					release = cli.pause()
					decide(t, f, question(t, f), permission.Allow())
				}
				<-time.After(time.Second) // the turn is under way
				down.Store(true)
				release()
				<-time.After(35 * time.Second) // longer than the lease
				if o := outcome(t, f, "ada", id); o.Status == fleet.PromptAnswered {
					t.Errorf("answered while nothing is stored: %+v", o)
				}
				down.Store(false)
				<-time.After(10 * time.Minute)
				o := outcome(t, f, "ada", id)
				if texts := answers(t, f, "ada"); o.Status != fleet.PromptAnswered || !slices.Contains(texts, o.Text) {
					t.Errorf("%+v, but the transcript has %q", o, texts)
				}
			})
		})
	}
}

// A turn that a CLI has continued and ended while the store takes no lines is not
// given up: its result counts when the store is back.
func TestContinuedWhileStoreIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		cli := newScripted()
		f := gated(t, failsWhile(&down, "Append"), cli)
		defer closeFleet(t, f)
		id := send(t, f, "ada", "tool 1")
		<-time.After(2 * time.Minute) // longer than the gate waits for a person
		release := cli.pause()
		decide(t, f, question(t, f), permission.Allow())
		<-time.After(time.Second)
		down.Store(true)
		release()
		<-time.After(5 * time.Minute)
		down.Store(false)
		<-time.After(time.Minute)
		if o := outcome(t, f, "ada", id); o.Text != "It says: built" || cli.started() != 2 {
			t.Errorf("%+v, with %d starts of the CLI", o, cli.started())
		}
	})
}

// answers returns the texts of the model in a conversation.
func answers(t *testing.T, f *fleet.Fleet, key string) (texts []string) {
	t.Helper()
	w := new(world)
	for _, e := range w.events(t.Context(), f, key) {
		if m, ok := e.Message.(*message.Assistant); ok && m.Text() != "" {
			texts = append(texts, m.Text())
		}
	}
	return texts
}

// A failed turn differs from one whose failure is not stored: the prompt of the second
// is taken up again.
func TestFailureNotStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		var calls atomic.Int32
		under, goOn := make(chan struct{}), make(chan struct{})
		cli := claudetest.NewCLI(&claudetest.Script{Model: func(*claudetest.ModelCall) claudetest.Reply {
			if calls.Add(1) > 1 {
				return claudetest.Say("well")
			}
			close(under)
			<-goOn
			return claudetest.Fail(http.StatusBadRequest, "invalid_request_error", "no")
		}})
		f := open(t, failsWhile(&down, "Append", "Renew"), cli, nil)
		defer closeFleet(t, f)
		id := send(t, f, "ada", "hello")
		<-under
		down.Store(true)
		close(goOn)
		<-time.After(35 * time.Second) // longer than the lease
		if o := outcome(t, f, "ada", id); o.Status.Done() {
			t.Errorf("ended while nothing is stored: %+v", o)
		}
		down.Store(false)
		<-time.After(10 * time.Minute)
		if o := outcome(t, f, "ada", id); o.Status != fleet.PromptAnswered || o.Text != "well" {
			t.Errorf("%+v", o)
		}
	})
}
