package fleet_test

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// observed is a store that counts what is read, and whose watches can be cut off.
type observed struct {
	*store.MemoryStore
	reads   atomic.Int64
	watches atomic.Int64
	cut     atomic.Pointer[context.CancelFunc]
	down    atomic.Bool
}

var errCut = errors.New("the watch is cut off")

func (o *observed) View(ctx context.Context, v store.View) ([]store.Record, error) {
	o.reads.Add(1)
	return o.MemoryStore.View(ctx, v)
}

func (o *observed) Scan(ctx context.Context, f store.Folder, after string) iter.Seq2[store.Record, error] {
	o.reads.Add(1)
	return o.MemoryStore.Scan(ctx, f, after)
}

func (o *observed) Load(ctx context.Context, k store.Key, after store.Place) iter.Seq2[store.PlacedEntry, error] {
	o.reads.Add(1)
	return o.MemoryStore.Load(ctx, k, after)
}

func (o *observed) Watch(ctx context.Context, project string) iter.Seq2[store.Changed, error] {
	return func(yield func(store.Changed, error) bool) {
		o.watches.Add(1)
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		o.cut.Store(&cancel)
		if !o.down.Load() {
			for c, err := range o.MemoryStore.Watch(ctx, project) {
				if !yield(c, err) {
					return
				}
			}
		}
		yield(store.Changed{}, errCut)
	}
}

func hourly(o *fleet.Options) { o.Poll = time.Hour }

// A prompt that is sent through one fleet is begun by another at once, and so is the
// continuation after a decision that was made through it: nothing waits for a poll.
func TestWatchedWithoutPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		client, worker := apart(t, db, newScripted(), func(o *fleet.Options) {
			hourly(o)
			o.Gate = &approval.Options{Patience: time.Second}
		})
		defer closeFleet(t, worker)
		defer closeFleet(t, client)
		begin := time.Now()
		if got := ask(t, client, "ada", "hello"); got != "heard hello" {
			t.Errorf("answer %q", got)
		}
		waits := deferredBy(t, client, "bob", "tool 1")
		<-time.After(10 * time.Minute) // it sleeps
		decide(t, client, question(t, client), permission.Allow())
		if o, err := client.Wait(t.Context(), "bob", waits.Prompt); err != nil || o.Status != fleet.PromptAnswered {
			t.Errorf("decided: %+v, %v", o, err)
		}
		if took := time.Since(begin); took > 11*time.Minute {
			t.Errorf("it took %v", took)
		}
	})
}

// A watch that ends is begun again, at first soon and then less often. Meanwhile the
// store is looked at every two seconds, and afterwards nothing is lost.
func TestWatchCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, watched := store.Memory(), (*observed)(nil)
		watched = &observed{MemoryStore: db}
		client := open(t, db, nil, func(o *fleet.Options) { withoutCLIs(o); hourly(o) })
		defer closeFleet(t, client)
		worker := open(t, watched, newScripted(), hourly)
		defer closeFleet(t, worker)
		within := func(what string, most time.Duration) {
			t.Helper()
			id := send(t, client, "ada", what)
			<-time.After(most)
			if o := outcome(t, client, "ada", id); o.Status != fleet.PromptAnswered {
				t.Errorf("%s: %+v", what, o)
			}
		}
		within("watched", time.Millisecond)
		(*watched.cut.Load())()
		synctest.Wait()
		within("cut off", time.Second)
		if n := watched.watches.Load(); n != 2 {
			t.Errorf("%d watches", n)
		}
		within("watched again", time.Millisecond)
		watched.down.Store(true)
		(*watched.cut.Load())()
		synctest.Wait()
		within("down", 5*time.Second)
		before := watched.watches.Load()
		<-time.After(10 * time.Minute)
		if n := watched.watches.Load() - before; n < 55 || n > 70 {
			t.Errorf("%d watches in ten minutes", n)
		}
		watched.down.Store(false)
		<-time.After(15 * time.Second)
		within("back", time.Millisecond)
	})
}

// A fleet with nothing to do reads nothing, and its own writes wake none of its readers.
func TestOwnWritesWakeNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &observed{MemoryStore: store.Memory()}
		f := open(t, db, newScripted(), func(o *fleet.Options) {
			hourly(o)
			o.Gate, o.Keep = &approval.Options{Patience: time.Second, Lifetime: 24 * time.Hour}, fleet.KeepForever
		})
		defer closeFleet(t, f)
		idle := func(what string) {
			t.Helper()
			synctest.Wait()
			before := db.reads.Load()
			<-time.After(10 * time.Minute)
			if n := db.reads.Load() - before; n != 0 {
				t.Errorf("%s: %d reads", what, n)
			}
		}
		<-time.After(2 * time.Minute) // it has cleaned up
		idle("at first")
		ask(t, f, "ada", "hello")
		<-time.After(5 * time.Minute)
		idle("asleep")
		deferredBy(t, f, "bob", "tool 1")
		<-time.After(5 * time.Minute)
		idle("waiting for a person")
		if err := f.Describe(t.Context(), "ada", fleet.Description{Title: "A title"}); err != nil {
			t.Fatal(err)
		}
		idle("described")
	})
}
