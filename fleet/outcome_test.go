package fleet_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/storefault"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/store"
)

// loggedCalls counts the calls of a store, and makes some of them go wrong. The method of
// a change that ends a prompt is called "outcome".
type loggedCalls struct {
	mu    sync.Mutex
	made  []string
	fault func(method string, n int) storefault.Kind // n counts the calls of the method
}

func (c *loggedCalls) choose(call storefault.Call) storefault.Kind {
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.Contains(call.Kinds, "outcome") {
		call.Method = "outcome"
	}
	c.made = append(c.made, call.Method)
	n := 0
	for _, method := range c.made {
		if method == call.Method {
			n++
		}
	}
	if c.fault == nil {
		return storefault.None
	}
	return c.fault(call.Method, n)
}

// take returns the calls since it was last called.
func (c *loggedCalls) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	made := c.made
	c.made = nil
	return made
}

// A prompt for a conversation that has nothing to do is accepted and begun at once, and so
// are the cost of its turn, its outcome, the mark for the log of outcomes and the queue
// changed.
func TestEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log loggedCalls
		f := open(t, storefault.Wrap(store.Memory(), log.choose), newScripted(), nil)
		defer closeFleet(t, f)
		ask(t, f, "ada", "first") // starts the CLI
		synctest.Wait()
		log.take()
		id := send(t, f, "ada", "hello")
		synctest.Wait()
		got := slices.DeleteFunc(log.take(), func(method string) bool { return method != "Change" && method != "outcome" })
		if want := []string{"Change", "outcome"}; !slices.Equal(got, want) {
			t.Errorf("a turn writes %q; want %q", got, want)
		}
		if o := outcome(t, f, "ada", id); o.Status != fleet.PromptAnswered || o.Cost.Turns != 1 || o.Session == "" || o.Ended.IsZero() {
			t.Errorf("%+v", o)
		}
		if info, err := f.Get(t.Context(), "ada"); err != nil || info.Queued != 0 || info.Cost.Turns != 2 {
			t.Errorf("%+v, %v", info, err)
		}
	})
}

// Whatever goes wrong with the write that ends a prompt, the prompt is answered and
// counted once.
func TestEndsOnceWhateverFails(t *testing.T) {
	for fault := storefault.Fail; fault <= storefault.Late; fault++ {
		t.Run(fault.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := loggedCalls{fault: func(method string, n int) storefault.Kind {
					if method == "outcome" && n <= 2 {
						return fault
					}
					return storefault.None
				}}
				cli := newScripted()
				f := open(t, storefault.Wrap(store.Memory(), log.choose), cli, nil)
				defer closeFleet(t, f)
				if got := ask(t, f, "ada", "hello"); got != "heard hello" {
					t.Errorf("answer %q", got)
				}
				<-time.After(5 * time.Minute)
				if got := ask(t, f, "ada", "more"); got != "heard hello, more" {
					t.Errorf("answer %q", got)
				}
				<-time.After(5 * time.Minute)
				info, err := f.Get(t.Context(), "ada")
				if err != nil || info.Queued != 0 || info.Cost.Turns != 2 || cli.asked("hello") != 1 || cli.asked("more") != 1 {
					t.Errorf("%+v, %v, asked %d and %d times", info, err, cli.asked("hello"), cli.asked("more"))
				}
			})
		})
	}
}

// A choice that is made while a turn runs stays: the turn's own change was based on an
// older record, and is made again.
func TestChosenWhileItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := newScripted()
		cli.hold = make(chan struct{})
		f := open(t, store.Memory(), cli, nil)
		defer closeFleet(t, f)
		id := send(t, f, "ada", "hello")
		synctest.Wait()
		if err := f.SetModel(t.Context(), "ada", "opus"); err != nil {
			t.Fatal(err)
		}
		close(cli.hold)
		<-time.After(time.Second)
		info, err := f.Get(t.Context(), "ada")
		if err != nil || info.Model != "opus" || info.Cost.Turns != 1 || info.Queued != 0 {
			t.Errorf("%+v, %v", info, err)
		}
		if o := outcome(t, f, "ada", id); o.Status != fleet.PromptAnswered || o.Cost.Turns != 1 {
			t.Errorf("%+v", o)
		}
	})
}

// A watcher of a prompt here learns at once that another process has cancelled it,
// although the conversation runs here and its own changes are not looked at.
func TestCancelledElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newScripted()
		cli.hold = make(chan struct{})
		client, worker := apart(t, db, cli, func(o *fleet.Options) { o.Poll = time.Hour })
		defer closeFleet(t, worker)
		defer closeFleet(t, client)
		send(t, client, "ada", "hello")
		synctest.Wait()
		id := uuid.New()
		ended := make(chan error, 1)
		go func() {
			var last error
			for _, err := range worker.RunPrompt(t.Context(), "ada", fleet.Prompt{ID: id, Text: "later"}) {
				last = err
			}
			ended <- last
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := client.Cancel(ctx, "ada", id); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-ended:
			if _, ok := errors.AsType[*fleet.FailedError](err); !ok {
				t.Errorf("it ended with %v", err)
			}
		case <-ctx.Done():
			t.Error("nobody told the one who watches")
		}
		close(cli.hold)
	})
}
