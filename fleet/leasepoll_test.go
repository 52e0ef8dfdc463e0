package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/store"
)

// A conversation that another process gives up is taken up soon, long before its lease
// would have ended, even if the store cannot be watched.
func TestTakenUpAfterRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, busy, free := unwatched{store.Memory()}, newScripted(), newScripted()
		busy.hold = make(chan struct{})
		first := open(t, db, busy, func(o *fleet.Options) { o.Grace = time.Second })
		id := send(t, first, "ada", "hello")
		second := open(t, db, free, nil)
		defer closeFleet(t, second)
		<-time.After(11 * time.Second) // the second fleet has asked for the lease, and the first has renewed it
		if n := free.started(); n != 0 {
			t.Fatalf("%d CLIs of the second fleet", n)
		}
		closeFleet(t, first)
		begin := time.Now()
		if _, err := result(second.RunPrompt(t.Context(), "ada", fleet.Prompt{ID: id, Text: "hello"})); err != nil {
			t.Error(err)
		}
		if d := time.Since(begin); d > 4*time.Second || free.started() != 1 {
			t.Errorf("taken up after %v, by %d CLIs", d, free.started())
		}
	})
}

// Asking for the lease of a conversation that another process runs needs no slot: the
// one that has it keeps its CLI.
func TestAskingTakesNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, busy, cli := store.Memory(), newScripted(), newScripted()
		busy.hold = make(chan struct{})
		first := open(t, db, busy, func(o *fleet.Options) { o.Runs = func(key string) bool { return key == "ada" } })
		id := send(t, first, "ada", "hello")
		second := open(t, db, cli, func(o *fleet.Options) { o.MaxLive, o.IdleAfter = 1, time.Hour })
		defer closeFleet(t, second)
		<-time.After(time.Second) // it has learned that Ada's is run elsewhere
		for range 3 {
			ask(t, second, "bob", "hello")
			<-time.After(5 * time.Minute)
		}
		if n := cli.started(); n != 1 {
			t.Errorf("the CLI was started %d times", n)
		}
		close(busy.hold)
		<-time.After(time.Minute)
		if o := outcome(t, second, "ada", id); o.Status != fleet.PromptAnswered {
			t.Errorf("%+v", o)
		}
		closeFleet(t, first)
	})
}

// A lease that is announced as given back is taken at once.
func TestTakenUpWhenAnnounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, busy, free := store.Memory(), newScripted(), newScripted()
		busy.hold = make(chan struct{})
		first := open(t, db, busy, func(o *fleet.Options) { o.Grace = time.Second })
		send(t, first, "ada", "hello")
		second := open(t, db, free, nil)
		defer closeFleet(t, second)
		<-time.After(11 * time.Second)
		closeFleet(t, first)
		synctest.Wait()
		if n := free.started(); n != 1 {
			t.Errorf("%d CLIs run", n)
		}
	})
}

// freedMeanwhile is a store whose answer that a lease is held, the nth of them, is late: by
// then its owner has given it back.
type freedMeanwhile struct {
	*store.MemoryStore
	n    int
	free func()
}

func (s *freedMeanwhile) Acquire(ctx context.Context, project, name, owner string, ttl time.Duration) (store.Lease, error) {
	l, err := s.MemoryStore.Acquire(ctx, project, name, owner, ttl)
	if errors.Is(err, store.ErrLeased) {
		if s.n--; s.n == 0 {
			s.free()
		}
	}
	return l, err
}

// A conversation is taken up at once even if the news that its lease is free overtakes the
// answer that it is held, whether that was the first attempt or a later one.
func TestReleasedWhileAsking(t *testing.T) {
	for n := 1; n <= 2; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := store.Memory()
				held, err := db.Acquire(t.Context(), "p", "fleet/c/ada", "another process", time.Hour)
				if err != nil {
					t.Fatal(err)
				}
				var freed time.Time
				late := &freedMeanwhile{db, n, func() {
					if err := db.Release(t.Context(), held); err != nil {
						t.Error(err)
					}
					synctest.Wait() // the fleet has learned about it
					freed = time.Now()
				}}
				f := open(t, late, newScripted(), hourly)
				defer closeFleet(t, f)
				if got := ask(t, f, "ada", "hello"); got != "heard hello" || freed.IsZero() || time.Since(freed) > time.Second {
					t.Errorf("%q, %v after the lease was free", got, time.Since(freed))
				}
			})
		})
	}
}
