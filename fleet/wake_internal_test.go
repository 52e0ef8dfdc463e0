package fleet

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/storefault"
	"github.com/claude-agent-go/claude/store"
)

// All that are waiting for a lease come back when it has expired, within a thirtieth of
// its time, and each at another moment. A wrong clock delays none of them longer.
func TestComeBack(t *testing.T) {
	const ttl = 30 * time.Second
	for _, c := range []struct{ left, from time.Duration }{
		{10 * time.Second, 10 * time.Second}, {0, time.Millisecond}, {-time.Hour, time.Millisecond}, {ttl, ttl}, {time.Hour, ttl},
	} {
		moments := make(map[time.Duration]bool)
		early, late := time.Duration(1<<62), time.Duration(0)
		for range 1000 {
			d := comeBack(c.left, ttl)
			moments[d] = true
			early, late = min(early, d), max(late, d)
		}
		if early < c.from || late >= c.from+ttl/30 {
			t.Errorf("%v left: from %v to %v", c.left, early, late)
		}
		if len(moments) < 900 || late-early < ttl/60 {
			t.Errorf("%v left: %d moments in %v", c.left, len(moments), late-early)
		}
	}
}

// A CLI is not given up in the moment in which the store is back and has the lines of
// its turn: its result has yet to be read. One that does nothing is.
func TestMustBeginAfterOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		db := storefault.Wrap(store.Memory(), func(c storefault.Call) storefault.Kind {
			if down.Load() && c.Method == "Append" {
				return storefault.Fail
			}
			return storefault.None
		})
		s, err := claude.Connect(t.Context(), &claude.Options{
			Transport: claudetest.New(), Cwd: "/work", Env: []string{"HOME=/home/a"}, Logger: slog.New(slog.DiscardHandler),
			Store: &claude.StoreOptions{Store: db, Project: "p", Journal: t.TempDir(), GiveUp: claude.NoTimeout},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		go mustBegin(ctx, cancel, s)
		<-time.After(beginBound - 5*time.Second)
		down.Store(true)
		if _, err := s.Send(t.Context(), "hello"); err != nil {
			t.Fatal(err)
		}
		<-time.After(10 * time.Second)
		down.Store(false)
		if err := s.Flush(ctx); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		<-time.After(time.Second)
		if ctx.Err() != nil {
			t.Errorf("given up before its result can be read: %v", context.Cause(ctx))
		}
		<-time.After(2 * beginBound)
		if !errors.Is(context.Cause(ctx), errNotBegun) {
			t.Errorf("not given up: %v", context.Cause(ctx))
		}
	})
}
