package fleet

import (
	"context"
	"iter"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// timely is a store of which no call hangs. Within a bounded call of the fleet, each
// answer of the store extends the time of one that makes many changes. Outside of one,
// such as when a conversation wakes, each call of the store has Options.StoreTimeout
// for itself, and each step of a loop. It has all methods of a store rather than embed
// one, so that none can be forgotten.
type timely struct {
	s      store.Fleet
	bounds bounds
}

var _ store.Fleet = (*timely)(nil)

// inTime makes a call of the store that returns one thing.
func inTime[T any](t *timely, ctx context.Context, call func(ctx context.Context) (T, error)) (out T, err error) {
	if !isBounded(ctx) {
		var end func(*error)
		ctx, end = t.bounds.bound(ctx, "")
		defer end(&err)
	}
	out, err = call(ctx)
	answered(ctx, err)
	return out, err
}

// act is inTime for a call that returns only an error.
func (t *timely) act(ctx context.Context, call func(ctx context.Context) error) error {
	_, err := inTime(t, ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, call(ctx) })
	return err
}

// eachInTime makes a call of the store that yields.
func eachInTime[T any](t *timely, ctx context.Context, call func(ctx context.Context) iter.Seq2[T, error]) iter.Seq2[T, error] {
	if !isBounded(ctx) {
		return boundSeq(t.bounds, ctx, call)
	}
	return func(yield func(T, error) bool) {
		for item, err := range call(ctx) {
			if answered(ctx, err); !yield(item, err) {
				return
			}
		}
	}
}

// Append implements [store.Transcripts].
func (t *timely) Append(ctx context.Context, k store.Key, b store.Batch) error {
	return t.act(ctx, func(ctx context.Context) error { return t.s.Append(ctx, k, b) })
}

// Load implements [store.Transcripts].
func (t *timely) Load(ctx context.Context, k store.Key, after store.Place) iter.Seq2[store.PlacedEntry, error] {
	return eachInTime(t, ctx, func(ctx context.Context) iter.Seq2[store.PlacedEntry, error] { return t.s.Load(ctx, k, after) })
}

// List implements [store.Transcripts].
func (t *timely) List(ctx context.Context, project string) iter.Seq2[store.Summary, error] {
	return eachInTime(t, ctx, func(ctx context.Context) iter.Seq2[store.Summary, error] { return t.s.List(ctx, project) })
}

// Subagents implements [store.Transcripts].
func (t *timely) Subagents(ctx context.Context, project, session string) iter.Seq2[string, error] {
	return eachInTime(t, ctx, func(ctx context.Context) iter.Seq2[string, error] { return t.s.Subagents(ctx, project, session) })
}

// Delete implements [store.Transcripts].
func (t *timely) Delete(ctx context.Context, k store.Key, f store.Fence) error {
	return t.act(ctx, func(ctx context.Context) error { return t.s.Delete(ctx, k, f) })
}

// Acquire implements [store.Leases].
func (t *timely) Acquire(ctx context.Context, project, name, owner string, ttl time.Duration) (store.Lease, error) {
	return inTime(t, ctx, func(ctx context.Context) (store.Lease, error) { return t.s.Acquire(ctx, project, name, owner, ttl) })
}

// Renew implements [store.Leases].
func (t *timely) Renew(ctx context.Context, l store.Lease) error {
	return t.act(ctx, func(ctx context.Context) error { return t.s.Renew(ctx, l) })
}

// Release implements [store.Leases].
func (t *timely) Release(ctx context.Context, l store.Lease) error {
	return t.act(ctx, func(ctx context.Context) error { return t.s.Release(ctx, l) })
}

// Now implements [store.Leases] and [store.Records].
func (t *timely) Now(ctx context.Context) (time.Time, error) { return inTime(t, ctx, t.s.Now) }

// View implements [store.Records].
func (t *timely) View(ctx context.Context, v store.View) ([]store.Record, error) {
	return inTime(t, ctx, func(ctx context.Context) ([]store.Record, error) { return t.s.View(ctx, v) })
}

// Scan implements [store.Records].
func (t *timely) Scan(ctx context.Context, in store.Folder, after string) iter.Seq2[store.Record, error] {
	return eachInTime(t, ctx, func(ctx context.Context) iter.Seq2[store.Record, error] { return t.s.Scan(ctx, in, after) })
}

// Change implements [store.Records].
func (t *timely) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	return inTime(t, ctx, func(ctx context.Context) ([]int64, error) { return t.s.Change(ctx, f, c...) })
}

// Watch implements [store.Records]. It has no bound, because it waits for others.
func (t *timely) Watch(ctx context.Context, project string) iter.Seq2[store.Changed, error] {
	return t.s.Watch(ctx, project)
}
