package store

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/claude-agent-go/claude/internal/uuid"
)

// Store keeps transcripts. All methods of a store, including those of the
// optional interfaces, may be called from any goroutine and from several
// processes at once. They return soon after their context has ended.
type Store interface {
	// Append adds a batch to the end of a transcript, all of it or nothing,
	// and creates the transcript if there is none. It leaves out the whole
	// batch if it has already stored one with its id, and entries whose uuid
	// the transcript already has. After an error, it is not known whether the
	// batch was stored; it can be sent again with the same id. Errors:
	// [*KeyError], [ErrInvalid], [ErrLeaseLost], [ErrDeleted].
	Append(ctx context.Context, k Key, b Batch) error

	// Load yields the entries of a transcript as they were when the loop
	// began, in the order in which they were appended. An error ends the loop;
	// for a transcript that does not exist it is [ErrNotFound]. The caller
	// owns each entry.
	Load(ctx context.Context, k Key) iter.Seq2[Entry, error]
}

// Lister is a [Store] that knows which sessions it has.
type Lister interface {
	// List yields the sessions of a project that have their own transcript,
	// the last modified first.
	List(ctx context.Context, project string) iter.Seq2[Session, error]
}

// Session is a session in a list.
type Session struct {
	ID string
	// Modified is when the session's own transcript was last appended to, by
	// the store's clock.
	Modified time.Time
}

// SubLister is a [Store] that knows which transcripts of subagents it has.
type SubLister interface {
	// ListSubs yields the Sub of each transcript below a session, in order.
	ListSubs(ctx context.Context, project, session string) iter.Seq2[string, error]
}

// Deleter is a [Store] that can delete transcripts.
type Deleter interface {
	// Delete removes a transcript; for a session, also those of its subagents.
	// A deleted session does not come back: from the moment Delete begins its
	// work, Append returns [ErrDeleted], so a process that is still writing
	// brings nothing back. Deleting something that does not exist is not an
	// error. With a fence, a delete is refused in the same cases as an append.
	Delete(ctx context.Context, k Key, f Fence) error
}

// Summarizer is a [Store] that keeps what a list shows for each session, so
// that listing a thousand sessions does not load them. Use [SummarizerOf] to find out
// whether a store is one.
type Summarizer interface {
	// Summaries yields the summaries of the sessions of a project, the last
	// modified first.
	Summaries(ctx context.Context, project string) iter.Seq2[Summary, error]

	// Summarizes reports whether Summaries yields what List and Load of s do. As with
	// Batches of a [RecordBatcher], a store says yes only to itself: one that embeds it
	// may have a Load or a List of its own.
	Summarizes(s Store) bool
}

// SummarizerOf returns a store as a [Summarizer], nil if it is not one, or only embeds one.
func SummarizerOf(s Store) Summarizer {
	if by, ok := s.(Summarizer); ok && by.Summarizes(s) {
		return by
	}
	return nil
}

// Fleet is what a fleet of conversations needs from its store.
type Fleet interface {
	Store
	Lister
	SubLister
	Deleter
	Leaser
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
	ErrBusy      = errors.New("another process holds the lock")
	// ErrOvertaken means that a session was continued without what a journal has; see
	// [ImportJournal].
	ErrOvertaken = errors.New("the session was continued without it")
	// ErrNewer means that something was written by a newer version of this module,
	// which this one does not understand. It has changed nothing.
	ErrNewer = errors.New("was written by a newer version")
)

// Flush says when the result of a turn is delivered.
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

// NewBatchID makes an id for a batch.
func NewBatchID() string { return uuid.New() }
