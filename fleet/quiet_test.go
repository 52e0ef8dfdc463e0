package fleet_test

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/store"
)

// readCounter counts the reads of conversations and of their transcripts.
type readCounter struct {
	*store.MemoryStore
	n atomic.Int64
}

func (r *readCounter) Load(ctx context.Context, k store.Key, place store.Place) iter.Seq2[store.PlacedEntry, error] {
	r.n.Add(1)
	return r.MemoryStore.Load(ctx, k, place)
}

func (r *readCounter) View(ctx context.Context, v store.View) ([]store.Record, error) {
	if len(v.Keys) > 0 && v.Keys[0].Kind == "conversation" {
		r.n.Add(1)
	}
	return r.MemoryStore.View(ctx, v)
}

// Followed conversations in which nothing happens are hardly ever read. A turn that
// another process runs is noticed as soon as before.
func TestQuietConversationsAreNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const conversations = 20
		db := &readCounter{MemoryStore: store.Memory()}
		cli := newScripted()
		f := open(t, db, cli, func(o *fleet.Options) { o.MaxLive = fleet.NoCLIs })
		defer closeFleet(t, f)
		worker := open(t, db.MemoryStore, cli, func(o *fleet.Options) { o.Owner = "worker" })
		defer closeFleet(t, worker)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		heard := make(chan time.Time, 1000)
		for i := range conversations {
			key := fmt.Sprint("quiet", i)
			ask(t, worker, key, "first")
			go func() {
				for _, err := range f.Events(ctx, key, "") {
					if err == nil {
						heard <- time.Now()
					}
				}
			}()
		}
		<-time.After(2 * time.Hour)
		before := db.n.Load()
		<-time.After(time.Hour)
		if n := db.n.Load() - before; n > conversations*12*2 {
			t.Errorf("%d reads in an hour", n)
		}
		for len(heard) > 0 {
			<-heard
		}
		begun := time.Now()
		if _, err := f.Send(t.Context(), "quiet7", fleet.Prompt{Text: "again"}); err != nil {
			t.Fatal(err)
		}
		<-heard
		if d := time.Since(begun); d > 15*time.Second {
			t.Errorf("the prompt was heard after %v", d)
		}
		<-time.After(2 * time.Hour)
		for len(heard) > 0 {
			<-heard
		}
		begun = time.Now()
		ask(t, worker, "quiet3", "short") // it begins and ends between two looks
		if d := time.Since(begun); d > time.Second {
			t.Fatalf("the turn took %v", d)
		}
		<-heard
		if d := time.Since(begun); d > 5*time.Second {
			t.Errorf("the turn was heard after %v", d)
		}
	})
}
