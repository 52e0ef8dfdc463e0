package natsfleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/claude-agent-go/claude/fleet/natsfleet"
	"github.com/claude-agent-go/claude/store"
)

// beside are the folders of stores beside the stream. A store in a folder is shared by
// processes, as a database would be.
type beside struct {
	Transcripts string
	Archive     string
	After       time.Duration // until conversations are archived
	Plain       bool          // no watcher
}

// options adds the stores to options. A process that is to die in one of their calls
// does so.
func (b beside) options(o natsfleet.Options, die *diePoint) natsfleet.Options {
	switch {
	case b.Transcripts != "" && b.Plain:
		o.Transcripts = openBesideStore(b.Transcripts)
	case b.Transcripts != "":
		o.Transcripts = newWatched(b.Transcripts, die)
	case b.Archive != "" && b.Plain:
		o.Archive, o.ArchiveAfter = openBesideStore(b.Archive), b.After
	case b.Archive != "":
		w := newWatched(b.Archive, die)
		w.silent = true
		o.Archive, o.ArchiveAfter = w, b.After
	}
	return o
}

// compactAt is how many messages a transcript may have: few, if there is to be much
// compaction.
func (b beside) compactAt() int {
	if b.Archive != "" {
		return 3
	}
	return 0
}

// idleAfter is when a conversation goes to sleep: soon, if it is to be archived.
func (b beside) idleAfter() time.Duration {
	if b.Archive != "" {
		return 100 * time.Millisecond
	}
	return 0
}

// watched is a store that records under which lease each batch was written, that
// can be down for all callers, and that can delay or kill a caller.
type watched struct {
	besideStore
	down    string    // it is down while this file is there
	die     *diePoint // in which call this process dies, if any
	left    atomic.Int64
	silent  bool         // batches do not say under which lease they were written
	refused atomic.Int64 // how many appends were refused because the lease was lost

	mu   sync.Mutex
	hold map[string]func() // called in calls of that name: "before Acquire"
}

func newWatched(dir string, die *diePoint) *watched {
	w := &watched{besideStore: openBesideStore(dir), down: dir + ".down", hold: make(map[string]func())}
	if die != nil && die.Call != "" {
		w.die = die
		w.left.Store(int64(die.Times))
	}
	return w
}

// stop takes the store down for all callers, until the returned function is called.
func (w *watched) stop() (start func(), err error) {
	return func() { os.Remove(w.down) }, os.WriteFile(w.down, nil, 0o600)
}

// on calls do in the next call with this name, before or after it happens.
func (w *watched) on(call string, do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hold[call] = do
}

var errDown = errors.New("the store is down")

// call makes a call, unless the store is down.
func (w *watched) call(name string, do func() error) error {
	w.point(name, false)
	if _, err := os.Stat(w.down); err == nil {
		return errDown
	}
	err := do()
	w.point(name, true)
	return err
}

// point is where something may happen to the caller.
func (w *watched) point(name string, after bool) {
	if w.die != nil && w.die.Call == name && w.die.After == after && w.left.Add(-1) < 0 {
		die()
	}
	when := "before "
	if after {
		when = "after "
	}
	w.mu.Lock()
	do := w.hold[when+name]
	delete(w.hold, when+name)
	w.mu.Unlock()
	if do != nil {
		do()
	}
}

// witness is a line in front of each batch.
type witness struct {
	Type  string `json:"type"`
	Lease string `json:"lease"`
	Token uint64 `json:"token"`
}

const witnessType = "written-under"

func witnessIn(e store.Entry) (w witness, ok bool) {
	return w, json.Unmarshal(e, &w) == nil && w.Type == witnessType
}

func (w *watched) Append(ctx context.Context, k store.Key, b store.Batch) error {
	if len(b.Entries) > 0 && !b.Fence.IsZero() && !w.silent {
		line := fmt.Appendf(nil, `{"type":%q,"lease":%q,"token":%d}`, witnessType, b.Fence.Name, b.Fence.Token)
		b.Entries = append([]store.Entry{line}, b.Entries...)
	}
	err := w.call("Append", func() error { return w.besideStore.Append(ctx, k, b) })
	if errors.Is(err, store.ErrLeaseLost) {
		w.refused.Add(1)
	}
	return err
}

func (w *watched) Load(ctx context.Context, k store.Key, after store.Place) iter.Seq2[store.PlacedEntry, error] {
	return func(yield func(store.PlacedEntry, error) bool) {
		if err := w.call("Load", func() error { return nil }); err != nil {
			yield(store.PlacedEntry{}, err)
			return
		}
		w.besideStore.Load(ctx, k, after)(yield)
	}
}

func (w *watched) Acquire(ctx context.Context, project, name, owner string, ttl time.Duration) (l store.Lease, err error) {
	err = w.call("Acquire", func() (err error) {
		l, err = w.besideStore.Acquire(ctx, project, name, owner, ttl)
		return err
	})
	return l, err
}

func (w *watched) Renew(ctx context.Context, l store.Lease) error {
	return w.call("Renew", func() error { return w.besideStore.Renew(ctx, l) })
}

func (w *watched) Release(ctx context.Context, l store.Lease) error {
	return w.call("Release", func() error { return w.besideStore.Release(ctx, l) })
}
