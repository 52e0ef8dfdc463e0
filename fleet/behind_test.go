package fleet_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/store"
)

// behindHeld is a conversation with a prompt that the budget holds, and a rewind behind it.
type behindHeld struct {
	client, worker *fleet.Fleet
	held           string // the prompt
	rewound        chan error
}

// holdRewind lets the rewind be asked for by the worker, or by the client before the worker
// opens. The worker looks at the store by itself only once a day.
func holdRewind(t *testing.T, db, workers store.Fleet, byWorker bool) *behindHeld {
	b := &behindHeld{client: open(t, db, nil, withoutCLIs), rewound: make(chan error, 1)}
	first := send(t, b.client, "ada", "/repo/a")
	b.held = send(t, b.client, "ada", "/repo/b")
	rewind := func(f *fleet.Fleet) {
		var got control.Rewind
		got, err := f.Rewind(t.Context(), "ada", fleet.RewindTo{Prompt: first})
		if err == nil && !got.CanRewind {
			err = errors.New(got.Error)
		}
		b.rewound <- err
	}
	if !byWorker {
		go rewind(b.client)
		synctest.Wait()
	}
	b.worker = checkpointed(t, workers, editing(), func(o *fleet.Options) { o.BudgetUSD, o.Poll = 1e-9, 24*time.Hour })
	if byWorker {
		go rewind(b.worker)
	}
	return b
}

// waits fails if the prompt is not held, or the rewind has not waited for it.
func (b *behindHeld) waits(t *testing.T) {
	t.Helper()
	if o := outcome(t, b.client, "ada", b.held); o.Status != fleet.PromptQueued || len(b.rewound) > 0 {
		t.Fatalf("the prompt: %+v, %d rewinds are done", o, len(b.rewound))
	}
}

// isDone fails if the rewind is not done soon.
func (b *behindHeld) isDone(t *testing.T) {
	t.Helper()
	select {
	case err := <-b.rewound:
		if err != nil {
			t.Errorf("the rewind: %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the rewind waits for a prompt that is gone")
	}
}

// A rewind behind a prompt that the budget holds is done when the prompt is cancelled,
// without a look at the whole store.
func TestCancelFreesRewind(t *testing.T) {
	t.Run("here", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			db := store.Memory()
			b := holdRewind(t, db, db, true)
			defer closeFleet(t, b.client)
			defer closeFleet(t, b.worker)
			<-time.After(time.Hour)
			b.waits(t)
			if err := b.worker.Cancel(t.Context(), "ada", b.held); err != nil {
				t.Fatal(err)
			}
			b.isDone(t)
		})
	})
	for name, after := range map[string]time.Duration{"elsewhere, asleep": time.Hour, "elsewhere, idle": 10 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := store.Memory()
				b := holdRewind(t, db, db, false)
				defer closeFleet(t, b.client)
				defer closeFleet(t, b.worker)
				<-time.After(after)
				b.waits(t)
				if err := b.client.Cancel(t.Context(), "ada", b.held); err != nil {
					t.Fatal(err)
				}
				b.isDone(t)
			})
		})
	}
	t.Run("elsewhere, in the moment in which the worker falls asleep", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			raw := store.Memory()
			at := &announcing{Fleet: raw}
			var cancelled atomic.Bool
			var both atomic.Pointer[behindHeld]
			releasing := func() {
				b := both.Load()
				if b == nil || cancelled.Swap(true) {
					return
				}
				b.waits(t)
				if err := b.client.Cancel(t.Context(), "ada", b.held); err != nil {
					t.Error(err)
				}
			}
			at.releasing.Store(&releasing)
			b := holdRewind(t, raw, at, false)
			both.Store(b)
			defer closeFleet(t, b.client)
			defer closeFleet(t, b.worker)
			<-time.After(time.Hour)
			if !cancelled.Load() {
				t.Fatal("the worker did not fall asleep")
			}
			b.isDone(t)
		})
	})
}

// A prompt behind one of a newer version is answered once that one is gone.
func TestPromptBehindNewer(t *testing.T) {
	for name, watched := range map[string]bool{"a store that is watched": true, "one that cannot be": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var db store.Fleet = store.Memory()
				if !watched {
					db = unwatched{db}
				}
				client := open(t, db, nil, withoutCLIs)
				defer closeFleet(t, client)
				newer, behind := send(t, client, "ada", "one"), send(t, client, "ada", "two")
				var at store.Record
				for r, err := range db.Scan(t.Context(), store.Folder{Project: "p", Kind: "prompt"}, "") {
					if err != nil {
						t.Fatal(err)
					}
					if strings.HasSuffix(r.Key.Name, newer) {
						at = r
					}
				}
				revision, err := store.Put(t.Context(), db, at.Key, []byte(newerBy(string(at.Value))), at.Revision, store.Fence{})
				if err != nil {
					t.Fatal(err)
				}
				worker := open(t, db, newScripted(), func(o *fleet.Options) { o.Poll = 24 * time.Hour })
				defer closeFleet(t, worker)
				waits := func() {
					<-time.After(time.Minute)
					for p, err := range db.Scan(t.Context(), store.Folder{Project: "p", Kind: "prompt"}, "") {
						if strings.HasSuffix(p.Key.Name, behind) && err == nil {
							return
						}
					}
					t.Fatal("the prompt was not left to the newer version")
				}
				waits()
				if err := store.Drop(t.Context(), db, at.Key, revision, store.Fence{}); err != nil {
					t.Fatal(err)
				}
				<-time.After(10 * time.Second)
				if o := outcome(t, worker, "ada", behind); o.Status != fleet.PromptAnswered {
					t.Errorf("the prompt behind it: %+v", o)
				}
			})
		})
	}
}
