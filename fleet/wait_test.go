package fleet_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// Wait returns how a prompt ends: in its own process at once, in another one, and when
// it has ended before.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newScripted()
		f := open(t, db, cli, nil)
		defer closeFleet(t, f)
		other := open(t, db, cli, func(o *fleet.Options) { o.MaxLive = fleet.NoCLIs })
		defer closeFleet(t, other)
		release := cli.pause()
		id := send(t, f, "acme/ada", "hello")
		type waited struct {
			ticket fleet.Ticket
			err    error
		}
		ends := make(chan waited, 3)
		for _, in := range []fleet.Conversations{f, other, f.Tenant("acme")} {
			go func() {
				ticket, err := in.Wait(t.Context(), "acme/ada", id)
				ends <- waited{ticket, err}
			}()
		}
		synctest.Wait()
		if len(ends) > 0 {
			t.Errorf("it has not ended: %+v", <-ends)
		}
		release()
		for range cap(ends) {
			if got := <-ends; got.err != nil || got.ticket.Status != fleet.PromptAnswered || got.ticket.Text != "heard hello" || got.ticket.Result == nil {
				t.Errorf("%+v, %v", got.ticket, got.err)
			}
		}
		began := time.Now()
		if ticket, err := other.Wait(t.Context(), "acme/ada", id); err != nil || ticket.Status != fleet.PromptAnswered || time.Since(began) > 0 {
			t.Errorf("of one that has ended: %+v, %v, after %v", ticket, err, time.Since(began))
		}
	})
}

// Wait waits for people, and reports what it gives up for.
func TestWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := gated(t, store.Memory(), newScripted())
		defer closeFleet(t, f)
		for key, want := range map[string]error{"nobody": fleet.ErrUnknown, "a b": store.ErrInvalid} {
			if _, err := f.Wait(t.Context(), key, fleet.PromptID("x")); !errors.Is(err, want) {
				t.Errorf("%s: %v", key, err)
			}
		}
		id := send(t, f, "ada", "tool 1")
		q := question(t, f)
		if _, err := f.Wait(t.Context(), "ada", fleet.PromptID("x")); !errors.Is(err, fleet.ErrUnknown) {
			t.Errorf("of a prompt that does not exist: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		ticket, err := f.Wait(ctx, "ada", id)
		if !errors.Is(err, context.DeadlineExceeded) || ticket.Status != fleet.PromptWaiting || ticket.Question != q.ID {
			t.Errorf("while a person thinks: %+v, %v", ticket, err)
		}
		behind := send(t, f, "ada", "next")
		go func() {
			if err := f.Cancel(t.Context(), "ada", behind); err != nil {
				t.Error(err)
			}
		}()
		ticket, err = f.Wait(t.Context(), "ada", behind)
		if failed, ok := errors.AsType[*fleet.FailedError](err); !ok || failed.Ticket.Status != fleet.PromptCancelled || ticket.Status != fleet.PromptCancelled {
			t.Errorf("of one that is cancelled: %+v, %v", ticket, err)
		}
		if _, err := f.Approvals().Decide(t.Context(), q.ID, approval.Answer{Decision: permission.Allow(), By: "eve", Digest: q.Digest}); err != nil {
			t.Fatal(err)
		}
		if ticket, err := f.Wait(t.Context(), "ada", id); err != nil || ticket.Text != "It says: built" {
			t.Errorf("after the decision: %+v, %v", ticket, err)
		}
	})
}

// Wait ends with the fleet.
func TestWaitClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := gated(t, store.Memory(), newScripted())
		id := send(t, f, "ada", "tool 1")
		question(t, f)
		ended := make(chan error)
		go func() {
			_, err := f.Wait(t.Context(), "ada", id)
			ended <- err
		}()
		synctest.Wait()
		closeFleet(t, f)
		if err := <-ended; !errors.Is(err, fleet.ErrClosed) {
			t.Error(err)
		}
	})
}
