package store

import (
	"context"
	"errors"
	"iter"
)

// Transcripts keeps what was said. All methods of a store, of this contract and of the
// others, may be called from any goroutine and from several processes at once. They
// return soon after their context has ended. What a store cannot do at all, it answers
// with an error that matches [errors.ErrUnsupported]; see [Basic].
//
// A store that wraps another one embeds it and overrides what it changes. If it changes
// entries, it leaves their uuid readable, because stores compare it, and has a List of
// its own, because summaries contain what was said.
type Transcripts interface {
	// Append adds a batch to the end of a transcript, all of it or nothing,
	// and creates the transcript if there is none. It leaves out the whole
	// batch if it has already stored one with its id, and entries whose uuid
	// the transcript already has. After an error, it is not known whether the
	// batch was stored; it can be sent again with the same id. Errors:
	// [*KeyError], [ErrInvalid], [ErrLeaseLost], [ErrDeleted].
	Append(ctx context.Context, k Key, b Batch) error

	// Load yields the entries of a transcript behind a place, as they were when the
	// loop began, in the order in which they were appended. The place is that of an
	// entry that was read before, or 0 for the beginning. Load yields nothing if no
	// entry follows. An error ends the loop; for a transcript that does not exist it
	// is [ErrNotFound]. The caller owns each entry.
	Load(ctx context.Context, k Key, after Place) iter.Seq2[PlacedEntry, error]

	// List yields the sessions of a project that have their own transcript, the last
	// modified first.
	List(ctx context.Context, project string) iter.Seq2[Summary, error]

	// Subagents yields the Sub of each transcript below a session, in order.
	Subagents(ctx context.Context, project, session string) iter.Seq2[string, error]

	// Delete removes a transcript; for a session, also those of its subagents.
	// A deleted session does not come back: from the moment Delete begins its
	// work, Append returns [ErrDeleted], so a process that is still writing
	// brings nothing back. Deleting something that does not exist is not an
	// error. With a fence, a delete is refused in the same cases as an append.
	Delete(ctx context.Context, k Key, f Fence) error
}

// Place is where an entry ends in its transcript. Places grow with the transcript. Only
// the store that made one can read it, and it stays true when the store rewrites the
// transcript; it ends with the transcript.
type Place int64

// PlacedEntry is an entry with its place in the transcript.
type PlacedEntry struct {
	Entry Entry
	Place Place
}

// Entries yields all entries of a transcript without their places; see Load of
// [Transcripts].
func Entries(ctx context.Context, s Transcripts, k Key) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for e, err := range s.Load(ctx, k, 0) {
			if !yield(e.Entry, err) {
				return
			}
		}
	}
}

// Sessions is the part of a store that a session needs: its transcripts, and leases that
// keep two processes from writing to the same session. A [Basic] store has no leases, and
// returns an error when a session asks for one.
type Sessions interface {
	Transcripts
	Leases
}

// Fleet is the part of a store that a fleet of conversations needs.
type Fleet interface {
	Transcripts
	Leases
	Records
}

// The errors of stores, to be found with [errors.Is].
var (
	ErrNotFound  = errors.New("not found")
	ErrInvalid   = errors.New("invalid")
	ErrDeleted   = errors.New("session was deleted")
	ErrLeased    = errors.New("leased to another owner")
	ErrLeaseLost = errors.New("lease lost")
	ErrConflict  = errors.New("changed in the meantime")
	ErrDamaged   = errors.New("damaged")
	// ErrTooLarge means that a view has more than [MaxViewed] records or
	// [MaxViewedBytes] bytes. Scan them instead.
	ErrTooLarge = errors.New("too large for one view")
	ErrBusy     = errors.New("another process holds the lock")
	// ErrOvertaken means that a session was continued without what a journal has; see
	// [ImportJournal].
	ErrOvertaken = errors.New("the session was continued without it")
	// ErrNewer means that something was written by a newer version of this module,
	// which this one does not understand. It has changed nothing.
	ErrNewer = errors.New("was written by a newer version")
)

// Flush determines when the result of a turn is delivered.
type Flush int

// The ways to flush.
const (
	// Strict delivers a result once everything said before it is stored.
	Strict Flush = iota
	// Eventually delivers it at once; the entries are stored soon after.
	Eventually
)

// String returns the name of the value.
func (f Flush) String() string {
	if f == Eventually {
		return "eventually"
	}
	return "strict"
}
