package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// Basic makes a store of functions, for programs with a database of their own: two
// are enough to keep and to resume sessions. It has the methods of [Sessions]. A
// method without a function, those of leases included, returns an error that
// matches [errors.ErrUnsupported], and an option that needs it is refused when a
// session is connected. The functions must keep the promises of the methods of
// [Transcripts], and may be called from any goroutine.
type Basic struct {
	AppendFunc func(ctx context.Context, k Key, b Batch) error
	// LoadFunc yields a transcript from its beginning. [Basic] finds the places.
	LoadFunc      func(ctx context.Context, k Key) iter.Seq2[Entry, error]
	ListFunc      func(ctx context.Context, project string) iter.Seq2[Summary, error]
	SubagentsFunc func(ctx context.Context, project, session string) iter.Seq2[string, error]
	DeleteFunc    func(ctx context.Context, k Key, f Fence) error
}

var _ Sessions = Basic{}

// unsupported is the error for what a store cannot do.
func unsupported(what string) error {
	return fmt.Errorf("claude: store: the store cannot %s: %w", what, errors.ErrUnsupported)
}

// Append implements [Transcripts].
func (s Basic) Append(ctx context.Context, k Key, b Batch) error {
	if s.AppendFunc == nil {
		return unsupported("append")
	}
	return s.AppendFunc(ctx, k, b)
}

// Load implements [Transcripts]. It reads from the beginning, and leaves out what was
// read before: the place of an entry is its number.
func (s Basic) Load(ctx context.Context, k Key, after Place) iter.Seq2[PlacedEntry, error] {
	return func(yield func(PlacedEntry, error) bool) {
		if s.LoadFunc == nil {
			yield(PlacedEntry{}, unsupported("load"))
			return
		}
		at := Place(0)
		for e, err := range s.LoadFunc(ctx, k) {
			if err != nil {
				yield(PlacedEntry{}, err)
				return
			}
			if at++; at > after && !yield(PlacedEntry{e, at}, nil) {
				return
			}
		}
	}
}

// List implements [Transcripts].
func (s Basic) List(ctx context.Context, project string) iter.Seq2[Summary, error] {
	if s.ListFunc == nil {
		return func(yield func(Summary, error) bool) { yield(Summary{}, unsupported("list its sessions")) }
	}
	return s.ListFunc(ctx, project)
}

// Subagents implements [Transcripts].
func (s Basic) Subagents(ctx context.Context, project, session string) iter.Seq2[string, error] {
	if s.SubagentsFunc == nil {
		return func(yield func(string, error) bool) { yield("", unsupported("list the subagents of a session")) }
	}
	return s.SubagentsFunc(ctx, project, session)
}

// Delete implements [Transcripts].
func (s Basic) Delete(ctx context.Context, k Key, f Fence) error {
	if s.DeleteFunc == nil {
		return unsupported("delete")
	}
	return s.DeleteFunc(ctx, k, f)
}

// Acquire implements [Leases], and answers [errors.ErrUnsupported].
func (Basic) Acquire(context.Context, string, string, string, time.Duration) (Lease, error) {
	return Lease{}, noLeases()
}

// Renew implements [Leases], and answers [errors.ErrUnsupported].
func (Basic) Renew(context.Context, Lease) error { return noLeases() }

// Release implements [Leases], and answers [errors.ErrUnsupported].
func (Basic) Release(context.Context, Lease) error { return noLeases() }

// Now implements [Leases], and answers [errors.ErrUnsupported].
func (Basic) Now(context.Context) (time.Time, error) { return time.Time{}, noLeases() }

// noLeases is the error of all four.
func noLeases() error { return unsupported("give out leases") }
