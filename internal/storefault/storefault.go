// Package storefault wraps a store and makes its calls fail, time out, lose their
// replies or happen twice, as a seed decides.
package storefault

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// Kind is a way in which a call to a store fails.
type Kind int

// The faults. Those of methods that yield are in parentheses.
const (
	// None lets the call through.
	None Kind = iota
	// Fail does nothing and returns [ErrFault] at once.
	Fail
	// Timeout does nothing and returns when the context ends, or after half a
	// minute.
	Timeout
	// LostReply does it and returns [ErrFault] (yields one item, then
	// ErrFault).
	LostReply
	// LostTimeout does it and returns when the context ends, or after half a
	// minute (yields one item and then waits).
	LostTimeout
	// Duplicate does it twice and returns what the first one did (does it
	// once).
	Duplicate
	// Late returns [ErrFault] at once, and does it after the next call of the
	// store, as a request that was stuck in the network (does nothing).
	Late
	// Later is like Late, but only the tenth call after it is followed by what was
	// to be done: its caller may have looked by then, and not found it.
	Later
)

// behind is how many calls there are until a late one is made.
func behind(f Kind) int {
	if f == Late {
		return 1
	}
	return 10
}

// String returns the name of the fault.
func (f Kind) String() string {
	names := [...]string{"none", "fail", "timeout", "lost reply", "lost timeout", "duplicate", "late", "later"}
	if f < 0 || int(f) >= len(names) {
		return fmt.Sprint("fault ", int(f))
	}
	return names[f]
}

// ErrFault is the error of a call that was made to fail.
var ErrFault = errors.New("storefault: a fault was injected")

// Call is a call of a store.
type Call struct {
	N      int    // 1 for the first call of the store
	Method string // such as "Append"
	// Kinds are those of the records that a Change names, in its order.
	Kinds []string
}

// Seeded chooses faults at random, the same ones for the same seed and order of
// calls. rate is the share of calls that go wrong. Without faults it chooses
// among all of them.
func Seeded(seed uint64, rate float64, faults ...Kind) func(Call) Kind {
	if len(faults) == 0 {
		faults = []Kind{Fail, Timeout, LostReply, LostTimeout, Duplicate, Late, Later}
	}
	return func(c Call) Kind {
		random := rand.New(rand.NewPCG(seed, uint64(c.N)))
		if random.Float64() >= rate {
			return None
		}
		return faults[random.IntN(len(faults))]
	}
}

// Wrap returns a store whose calls go wrong, to test what uses a store:
//
//	s := storefault.Wrap(store.Memory(), storefault.Seeded(seed, 0.3))
//
// choose is called before each call and may be called from several goroutines.
// A store that is down for a while is a function that returns Fail for that
// while.
func Wrap(s store.Fleet, choose func(Call) Kind) *Store {
	return &Store{s: s, choose: choose}
}

// Store is a store whose calls go wrong. Its methods may be called from
// any goroutine.
type Store struct {
	s      store.Fleet
	choose func(Call) Kind

	mu    sync.Mutex
	calls int
	late  []late
}

// late is a call that is to be made after another one.
type late struct {
	after int // the number of that one
	do    func()
}

var _ store.Fleet = (*Store)(nil)

// Calls returns how many calls there were.
func (f *Store) Calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

// Settle applies the delayed writes. Call it before you look at the wrapped
// store.
func (f *Store) Settle() {
	f.catchUp(math.MaxInt)
}

// catchUp makes the calls that are to be made after one.
func (f *Store) catchUp(call int) {
	f.mu.Lock()
	var due []late
	f.late = slices.DeleteFunc(f.late, func(l late) bool {
		if l.after <= call {
			due = append(due, l)
		}
		return l.after <= call
	})
	f.mu.Unlock()
	for _, l := range due {
		l.do()
	}
}

// next counts a call and returns its number and its fault.
func (f *Store) next(c Call) (n int, fault Kind) {
	f.mu.Lock()
	f.calls++
	c.N = f.calls
	f.mu.Unlock()
	return c.N, f.choose(c)
}

// patience is how long a call waits whose context does not end.
const patience = 30 * time.Second

// hang waits for the end of a context.
func hang(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	<-ctx.Done()
	return fmt.Errorf("%w: %w", ErrFault, ctx.Err())
}

// do makes a call that changes something, or returns one thing.
func do[T any](ctx context.Context, f *Store, method string, call func(context.Context) (T, error)) (T, error) {
	return doCall(ctx, f, Call{Method: method}, call)
}

func doCall[T any](ctx context.Context, f *Store, c Call, call func(context.Context) (T, error)) (T, error) {
	n, fault := f.next(c)
	defer f.catchUp(n)
	var none T
	switch fault {
	case Fail:
		return none, ErrFault
	case Timeout:
		return none, hang(ctx)
	case LostReply:
		_, _ = call(ctx) // the caller does not learn the outcome
		return none, ErrFault
	case LostTimeout:
		_, _ = call(ctx)
		return none, hang(ctx)
	case Duplicate:
		out, err := call(ctx)
		_, _ = call(ctx)
		return out, err
	case Late, Later:
		later := context.WithoutCancel(ctx)
		f.mu.Lock()
		f.late = append(f.late, late{n + behind(fault), func() { _, _ = call(later) }})
		f.mu.Unlock()
		return none, ErrFault
	}
	return call(ctx)
}

// run is do for a call that returns an error only.
func (f *Store) run(ctx context.Context, method string, call func(context.Context) error) error {
	_, err := do(ctx, f, method, func(ctx context.Context) (struct{}, error) { return struct{}{}, call(ctx) })
	return err
}

// loop makes a call that yields.
func loop[T any](ctx context.Context, f *Store, method string, call func() iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		n, fault := f.next(Call{Method: method})
		defer f.catchUp(n)
		switch fault {
		case Fail, Late, Later:
			yield(none, ErrFault)
			return
		case Timeout:
			yield(none, hang(ctx))
			return
		}
		for item, err := range call() {
			if !yield(item, err) {
				return
			}
			switch {
			case err != nil:
				return
			case fault == LostReply:
				yield(none, ErrFault)
				return
			case fault == LostTimeout:
				yield(none, hang(ctx))
				return
			}
		}
	}
}

// Append implements [store.Transcripts].
func (f *Store) Append(ctx context.Context, k store.Key, b store.Batch) error {
	return f.run(ctx, "Append", func(ctx context.Context) error { return f.s.Append(ctx, k, b) })
}

// Load implements [store.Transcripts].
func (f *Store) Load(ctx context.Context, k store.Key, after store.Place) iter.Seq2[store.PlacedEntry, error] {
	return loop(ctx, f, "Load", func() iter.Seq2[store.PlacedEntry, error] { return f.s.Load(ctx, k, after) })
}

// List implements [store.Transcripts].
func (f *Store) List(ctx context.Context, project string) iter.Seq2[store.Summary, error] {
	return loop(ctx, f, "List", func() iter.Seq2[store.Summary, error] { return f.s.List(ctx, project) })
}

// Subagents implements [store.Transcripts].
func (f *Store) Subagents(ctx context.Context, project, session string) iter.Seq2[string, error] {
	return loop(ctx, f, "Subagents", func() iter.Seq2[string, error] { return f.s.Subagents(ctx, project, session) })
}

// Delete implements [store.Transcripts].
func (f *Store) Delete(ctx context.Context, k store.Key, fence store.Fence) error {
	return f.run(ctx, "Delete", func(ctx context.Context) error { return f.s.Delete(ctx, k, fence) })
}

// Acquire implements [store.Leases].
func (f *Store) Acquire(ctx context.Context, project, name, owner string, ttl time.Duration) (store.Lease, error) {
	return do(ctx, f, "Acquire", func(ctx context.Context) (store.Lease, error) { return f.s.Acquire(ctx, project, name, owner, ttl) })
}

// Renew implements [store.Leases].
func (f *Store) Renew(ctx context.Context, l store.Lease) error {
	return f.run(ctx, "Renew", func(ctx context.Context) error { return f.s.Renew(ctx, l) })
}

// Release implements [store.Leases].
func (f *Store) Release(ctx context.Context, l store.Lease) error {
	return f.run(ctx, "Release", func(ctx context.Context) error { return f.s.Release(ctx, l) })
}

// View implements [store.Records].
func (f *Store) View(ctx context.Context, v store.View) ([]store.Record, error) {
	return do(ctx, f, "View", func(ctx context.Context) ([]store.Record, error) { return f.s.View(ctx, v) })
}

// Change implements [store.Records].
func (f *Store) Change(ctx context.Context, fence store.Fence, c ...store.RecordChange) ([]int64, error) {
	call := Call{Method: "Change"}
	for _, one := range c {
		call.Kinds = append(call.Kinds, one.Key.Kind)
	}
	return doCall(ctx, f, call, func(ctx context.Context) ([]int64, error) { return f.s.Change(ctx, fence, c...) })
}

// Watch implements [store.Records]. It does not go wrong, and does not count as a call: a
// watcher reads at its own pace, and a seed would mean something else each time.
func (f *Store) Watch(ctx context.Context, project string) iter.Seq2[store.Changed, error] {
	return f.s.Watch(ctx, project)
}

// Scan implements [store.Records].
func (f *Store) Scan(ctx context.Context, in store.Folder, after string) iter.Seq2[store.Record, error] {
	return loop(ctx, f, "Scan", func() iter.Seq2[store.Record, error] { return f.s.Scan(ctx, in, after) })
}

// Now implements [store.Records].
func (f *Store) Now(ctx context.Context) (time.Time, error) {
	return do(ctx, f, "Now", f.s.Now)
}
