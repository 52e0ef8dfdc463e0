package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/storefault"
	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// stalls is a store of which a chosen call hangs until its context ends. A context that
// does not end is reported. It embeds no store, so that a new method cannot be forgotten.
type stalls struct {
	s      *strict
	choose func(storefault.Call) storefault.Kind
	report func(format string, args ...any)
	each   time.Duration // that any other call takes
}

// patience is how long a call may hang before it counts as one without a bound.
const patience = time.Minute

func (s *stalls) hang(ctx context.Context, method string) error {
	fault := s.choose(storefault.Call{Method: method})
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(map[storefault.Kind]time.Duration{storefault.None: s.each, storefault.Timeout: patience}[fault]):
		if fault == storefault.None {
			return nil
		}
		s.report("%s has no bound", method)
		return context.DeadlineExceeded
	}
}

func stalled[T any](ctx context.Context, s *stalls, method string, call func() (T, error)) (out T, err error) {
	if err := s.hang(ctx, method); err != nil {
		return out, err
	}
	return call()
}

func stalledSeq[T any](ctx context.Context, s *stalls, method string, call iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if err := s.hang(ctx, method); err != nil {
			yield(*new(T), err)
			return
		}
		call(yield)
	}
}

func (s *stalls) Append(ctx context.Context, k store.Key, b store.Batch) error {
	_, err := stalled(ctx, s, "Append", func() (any, error) { return nil, s.s.Append(ctx, k, b) })
	return err
}

func (s *stalls) Load(ctx context.Context, k store.Key, after store.Place) iter.Seq2[store.PlacedEntry, error] {
	return stalledSeq(ctx, s, "Load", s.s.Load(ctx, k, after))
}

func (s *stalls) List(ctx context.Context, project string) iter.Seq2[store.Summary, error] {
	return stalledSeq(ctx, s, "List", s.s.List(ctx, project))
}

func (s *stalls) Subagents(ctx context.Context, project, session string) iter.Seq2[string, error] {
	return stalledSeq(ctx, s, "Subagents", s.s.Subagents(ctx, project, session))
}

func (s *stalls) Delete(ctx context.Context, k store.Key, f store.Fence) error {
	_, err := stalled(ctx, s, "Delete", func() (any, error) { return nil, s.s.Delete(ctx, k, f) })
	return err
}

func (s *stalls) Acquire(ctx context.Context, project, name, owner string, ttl time.Duration) (store.Lease, error) {
	return stalled(ctx, s, "Acquire "+name, func() (store.Lease, error) { return s.s.Acquire(ctx, project, name, owner, ttl) })
}

func (s *stalls) Renew(ctx context.Context, l store.Lease) error {
	_, err := stalled(ctx, s, "Renew", func() (any, error) { return nil, s.s.Renew(ctx, l) })
	return err
}

func (s *stalls) Release(ctx context.Context, l store.Lease) error {
	_, err := stalled(ctx, s, "Release", func() (any, error) { return nil, s.s.Release(ctx, l) })
	return err
}

func (s *stalls) Now(ctx context.Context) (time.Time, error) {
	return stalled(ctx, s, "Now", func() (time.Time, error) { return s.s.Now(ctx) })
}

func (s *stalls) View(ctx context.Context, v store.View) ([]store.Record, error) {
	return stalled(ctx, s, "View", func() ([]store.Record, error) { return s.s.View(ctx, v) })
}

func (s *stalls) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	return stalled(ctx, s, "Change "+c[0].Key.Kind, func() ([]int64, error) { return s.s.Change(ctx, f, c...) })
}

func (s *stalls) Watch(ctx context.Context, project string) iter.Seq2[store.Changed, error] {
	return s.s.Watch(ctx, project)
}

func (s *stalls) Scan(ctx context.Context, in store.Folder, after string) iter.Seq2[store.Record, error] {
	return stalledSeq(ctx, s, "Scan "+in.Kind, s.s.Scan(ctx, in, after))
}

// newStallRig is newFaultRig with a store that hangs.
func newStallRig(t *testing.T) *faultRig {
	t.Helper()
	r := &faultRig{T: t, db: store.Memory(), cli: newScripted(), timeout: 10 * time.Second}
	r.f = r.openOn(r.stalls(), 0)
	t.Cleanup(func() { _ = r.f.Close(context.Background()) })
	return r
}

func (r *faultRig) stalls() *stalls {
	return &stalls{&strict{MemoryStore: r.db, report: unfenced(r.T)}, r.fault.choose, r.Errorf, 0}
}

// Whichever call of the store hangs (on the quick level each seventh), of an operation or of
// what the fleet does by itself meanwhile: it ends after Options.StoreTimeout, with an error
// that says so, and everything continues.
func TestEveryCallOfTheStoreHangs(t *testing.T) {
	all := map[string]operation{
		"nothing": {
			prepare: func(r *faultRig) { r.must(1, "ada", "hello") },
			do:      func(context.Context, *faultRig) error { <-time.After(5 * time.Minute); return nil },
			holds:   func(r *faultRig) { r.isAnswered(1, "ada", "hello") },
		},
		"clean up": {
			prepare: func(r *faultRig) { r.must(1, "ada", "hello"); <-time.After(time.Minute - time.Millisecond) },
			do:      func(context.Context, *faultRig) error { <-time.After(5 * time.Minute); return nil },
			holds:   func(r *faultRig) { r.isAnswered(1, "ada", "hello") },
		},
	}
	for name, op := range operations {
		all[name] = op
	}
	for name, op := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n, more := 1, true; more && n < 60 && !t.Failed(); n += long.Pick(13, 1) {
				synctest.Test(t, func(t *testing.T) {
					more = newStallRig(t).try(t, op, n, storefault.Timeout, fleet.ErrTimeout)
				})
				if t.Failed() {
					t.Errorf("call %d hangs", n)
				}
			}
		})
	}
}

// Open does not hang with the store either, nor does what it takes up.
func TestOpenEndsWhileTheStoreHangs(t *testing.T) {
	refused := 0
	for n, more := 1, true; more && n < 60 && !t.Failed(); n++ {
		synctest.Test(t, func(t *testing.T) {
			r := newStallRig(t)
			r.must(1, "ada", "tool 1")
			<-time.After(5 * time.Minute)
			r.fault.set(4, storefault.Timeout)
			_ = r.f.Delete(t.Context(), "ada")
			r.fault.set(0, 0)
			closeFleet(t, r.f)
			r.fault.set(n, storefault.Timeout)
			o := fleet.Options{Store: r.stalls(), Project: "p", StoreTimeout: 10 * time.Second, MaxLive: fleet.NoCLIs, Logger: slog.New(slog.DiscardHandler)}
			f, err := fleet.Open(t.Context(), o)
			if err != nil {
				if refused++; !errors.Is(err, fleet.ErrTimeout) {
					t.Error(err)
				}
				return
			}
			<-time.After(5 * time.Minute)
			more = !r.fault.pending() && n < 20 // it looks at the store for ever
			r.fault.set(0, 0)
			closeFleet(t, f)
		})
	}
	if refused == 0 {
		t.Error("no call of Open has hung")
	}
}

// Delete and Fork may take longer than the store may take for one thing: each answer of the
// store gives them more time, also those about leases and questions.
func TestManyChangesOfASlowStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newStallRig(t)
		for n := range 5 {
			r.must(n, "ada", fmt.Sprint("tool ", n))
			decide(t, r.f, question(t, r.f), permission.Allow())
			<-time.After(time.Minute)
		}
		closeFleet(t, r.f)
		slow := r.stalls()
		slow.each = 3 * time.Second
		r.f = r.openOn(slow, 0)
		begin := time.Now()
		if err := r.f.Fork(t.Context(), "ada", "bob", ""); err != nil {
			t.Errorf("forked for %v: %v", time.Since(begin), err)
		}
		begin = time.Now()
		if err := r.f.Delete(t.Context(), "ada"); err != nil || time.Since(begin) < 30*time.Second {
			t.Errorf("deleted for %v: %v", time.Since(begin), err)
		}
		closeFleet(t, r.f)
	})
}
