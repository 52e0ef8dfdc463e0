package store

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/claude-agent-go/claude/internal/uuid"
)

// Store keeps transcripts. All methods of a store, also those of the optional
// interfaces, may be called from any goroutine and from several processes at
// once, and they return soon after their context has ended.
type Store interface {
	// Append adds a batch to the end of a transcript, all of it or nothing, and
	// makes the transcript if there is none. It leaves out the whole batch if
	// it has stored one with its id before, and entries whose uuid the
	// transcript has. After an error nobody knows whether the batch was stored:
	// it can be sent again under the same id. Errors: [*KeyError], [ErrInvalid],
	// [ErrLeaseLost], [ErrDeleted].
	Append(ctx context.Context, k Key, b Batch) error

	// Load yields the entries of a transcript as they stood when the loop
	// began, in the order in which they were appended. An error ends the loop;
	// for a transcript that does not exist it is [ErrNotFound]. An entry belongs
	// to the caller.
	Load(ctx context.Context, k Key) iter.Seq2[Entry, error]
}

// Lister is a [Store] that knows which sessions it has.
type Lister interface {
	// List yields the sessions of a project that have a transcript of their
	// own, the last modified first.
	List(ctx context.Context, project string) iter.Seq2[Session, error]
}

// Session is a session in a list.
type Session struct {
	ID string
	// Modified is when its own transcript was last appended to, by the store's
	// clock.
	Modified time.Time
}

// SubLister is a [Store] that knows which transcripts of sub-agents it has.
type SubLister interface {
	// ListSubs yields the Sub of each transcript below a session, in order.
	ListSubs(ctx context.Context, project, session string) iter.Seq2[string, error]
}

// Deleter is a [Store] that can forget.
type Deleter interface {
	// Delete removes a transcript; that of a session with those of its
	// sub-agents. A session that was deleted does not come back: from the
	// moment that Delete begins its work, Append returns [ErrDeleted], so that a
	// process that still writes brings nothing back. To delete what is not
	// there is not an error. With a fence it is refused as an append would be.
	Delete(ctx context.Context, k Key, f Fence) error
}

// Summarizer is a [Store] that keeps for each session what a list shows of it, so
// that a list of a thousand sessions need not load them.
type Summarizer interface {
	// Summaries yields the summaries of the sessions of a project, the last
	// modified first.
	Summaries(ctx context.Context, project string) iter.Seq2[Summary, error]
}

// Fleet is what a fleet of conversations needs of its store.
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
)

// Flush says when the result of a turn is handed out.
type Flush int

// The ways to flush.
const (
	// Strict hands a result out when everything that was said before it is
	// stored.
	Strict Flush = iota
	// Eventually hands it out at once; the entries are stored soon after.
	Eventually
)

// String returns the word for it.
func (f Flush) String() string {
	if f == Eventually {
		return "eventually"
	}
	return "strict"
}

// NewBatchID makes an id for a batch.
func NewBatchID() string { return uuid.New() }
