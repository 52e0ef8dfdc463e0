package fleet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/internal/restore"
	"github.com/claude-agent-go/claude/internal/transcript"
	"github.com/claude-agent-go/claude/store"
)

// ResumeFrom is a session that a CLI keeps on disk, outside of every fleet.
type ResumeFrom struct {
	// Disk is where it is, as [history.Disk] returns it.
	Disk *history.History
	// Session is its id.
	Session string
	// Fork makes the conversation a copy with an id of its own, see
	// [history.History.Fork]: whole, or up to the message with the id UpTo, which
	// is included. The transcripts of subagents are not part of it. A session can
	// be copied as often as you like, even while a CLI has it open.
	Fork bool
	UpTo string
}

// The errors of [Fleet.Resume], to be found with [errors.Is].
var (
	// ErrResumed means that a session on disk already is a conversation. The
	// error is a [*ResumedError].
	ErrResumed = errors.New("is already a conversation")
	// ErrSessionOpen means that a CLI has a session on disk open. The error is a
	// [*SessionOpenError].
	ErrSessionOpen = errors.New("is open in a CLI")
)

// ResumedError means that a session on disk already is a conversation. It matches
// [ErrResumed].
type ResumedError struct {
	Session string
	Key     string // of the conversation, empty if it belongs to another tenant
}

// Error names the conversation.
func (e *ResumedError) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("claude: fleet: session %s %v of another tenant", e.Session, ErrResumed)
	}
	return fmt.Sprintf("claude: fleet: session %s %v: %q", e.Session, ErrResumed, e.Key)
}

// Is reports whether target is [ErrResumed].
func (e *ResumedError) Is(target error) bool { return target == ErrResumed }

// SessionOpenError means that a CLI has a session on disk open, so that a
// conversation could not continue it without losing what one of them adds. It
// matches [ErrSessionOpen].
type SessionOpenError struct {
	Session string
	// PID is the process. 0 means that the session was written to while it was
	// copied.
	PID int
}

// Error names the process.
func (e *SessionOpenError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("claude: fleet: session %s %v: it was written to while it was copied", e.Session, ErrSessionOpen)
	}
	return fmt.Sprintf("claude: fleet: session %s %v: process %d", e.Session, ErrSessionOpen, e.PID)
}

// Is reports whether target is [ErrSessionOpen].
func (e *SessionOpenError) Is(target error) bool { return target == ErrSessionOpen }

// Resume turns a session that a CLI keeps on disk into a conversation, under a new
// key. Its transcript is copied into the store, with those of its subagents, and
// continued there; the files on disk stay as they are, and what is said from then on
// is not in them. The conversation exists when everything is copied. If that breaks
// off, for whatever reason, it does not exist, and Resume can be called again: it
// continues the copy, or, with Fork, makes another one. What a crash leaves of a fork
// is removed by the next fleet that opens, ten minutes later.
//
// The disk is that of the process which calls Resume, even if others run the
// conversation. They must have the directory that its options name.
//
// Within a project of a store, a session belongs to one conversation only. Other
// stores and projects do not know about it, and conversations of the same session
// there grow apart. Calling Resume again with the same key and session changes
// nothing, but with Fork the key exists and the error is [ErrExists]. Once the
// conversation is deleted, the project does not take the session again; Fork is still
// possible.
//
// Errors: a [*ResumedError]; a [*SessionOpenError], as far as that can be seen, see
// [history.History.Processes]; [ErrExists] for the key; [history.ErrInvalidID],
// [history.ErrNotFound] and [history.ErrEmpty] for the session;
// [store.ErrDeleted] if its conversation was deleted; [store.ErrLeased] if another
// process works on it in the store; [store.ErrConflict] if the store has another
// session with its id; [store.ErrDamaged] if something is missing in the middle of
// it, or if it is too large to be restored from a store, with 10,000 subagents or
// 2 GiB at most; [ErrTimeout], which bounds everything but the copy itself.
func (f *Fleet) Resume(ctx context.Context, key string, from ResumeFrom) (err error) {
	ctx, end := f.bounds.boundEach(ctx, key)
	defer end(&err)
	if err := f.resume(ctx, key, &from); err != nil {
		if _, named := errors.AsType[*ConversationError](err); named {
			return err
		}
		return &ConversationError{key, err}
	}
	return nil
}

func (f *Fleet) resume(ctx context.Context, key string, from *ResumeFrom) error {
	if err := checkKey(f.opts.Project, key); err != nil {
		return err
	}
	if from.Disk == nil || from.Disk.ConfigDir() == "" {
		return fmt.Errorf("%w: ResumeFrom.Disk is not a history on disk", store.ErrInvalid)
	}
	if from.UpTo != "" && !from.Fork {
		return fmt.Errorf("%w: ResumeFrom.UpTo is for a fork", store.ErrInvalid)
	}
	if _, err := from.Disk.Info(ctx, from.Session); err != nil {
		return err
	}
	now, err := f.store.Now(ctx)
	if err != nil {
		return err
	}
	rec := record{Key: key, Session: from.Session, Created: now}
	if !from.Fork {
		return f.resumeSame(ctx, from, &rec)
	}
	if err := f.checkNew(ctx, key); err != nil {
		return err
	}
	return f.copyTo(ctx, &rec, func(ctx context.Context, session string) error {
		_, resume := pauseBound(ctx) // it is read from a disk
		defer resume()
		_, err := from.Disk.Fork(ctx, from.Session, history.ForkOptions{UpTo: from.UpTo, ID: session, Into: history.In(f.store, f.opts.Project)})
		return err
	})
}

// resumeSame makes a conversation of the session itself. Its lease in the store
// lets only one process do so, and nobody else write to it meanwhile.
func (f *Fleet) resumeSame(ctx context.Context, from *ResumeFrom, rec *record) (err error) {
	lease, err := f.leases.ownNamed(ctx, from.Session)
	if err != nil {
		return err
	}
	defer f.leases.giveBack(ctx, lease)
	holder, err := f.holderOf(ctx, from.Session)
	if err != nil {
		return err
	}
	if holder == rec.Key {
		return nil
	}
	if holder != "" {
		return &ResumedError{from.Session, holder}
	}
	if err := f.checkNew(ctx, rec.Key); err != nil {
		return err
	}
	// What is copied belongs to the conversation, so it is written under its lease:
	// that is what anyone must have who moves the transcript later.
	own, err := f.leases.own(ctx, rec.Key)
	if err != nil {
		return err
	}
	defer f.leases.giveBack(ctx, own)
	_, resume := pauseBound(ctx) // it is read from a disk
	if err := checkClosed(ctx, from); err != nil {
		return err
	}
	if err := f.copySession(ctx, from, own.Fence); err != nil {
		return err
	}
	if err := checkClosed(ctx, from); err != nil { // a CLI may have come during the copy
		return err
	}
	resume()
	// The lease of the session may be lost, and with it the right to make a conversation
	// of it, while nobody has asked for that of the conversation.
	_, err = f.records.put(ctx, kindConversation, place(rec.Key), rec, 0, lease.Fence)
	if errors.Is(err, store.ErrConflict) { // somebody was faster
		return ErrExists
	}
	return err
}

// checkClosed refuses a session that a CLI has open.
func checkClosed(ctx context.Context, from *ResumeFrom) error {
	pids, err := from.Disk.Processes(ctx, from.Session)
	if err == nil && len(pids) > 0 {
		err = &SessionOpenError{from.Session, pids[0]}
	}
	return err
}

// holderOf returns the key of the conversation that has a session, "" if none has.
func (f *Fleet) holderOf(ctx context.Context, session string) (key string, err error) {
	for r, err := range f.store.Scan(ctx, store.Folder{Project: f.opts.Project, Kind: kindConversation}, "") {
		changed(ctx, err)
		var rec record
		if err == nil {
			err = decode(r, &rec)
		}
		if err != nil {
			return "", err
		}
		if !slices.Contains(rec.sessions(), session) {
			continue
		}
		if !rec.Deleted.IsZero() { // and the session with it
			return "", fmt.Errorf("session %s: %w", session, store.ErrDeleted)
		}
		return rec.Key, nil
	}
	return "", nil
}

// copySession copies a session from disk into the store. One that is written to
// meanwhile, be it by a subagent, is open somewhere, and the copy may lack something.
// The next attempt adds it.
func (f *Fleet) copySession(ctx context.Context, from *ResumeFrom, fence store.Fence) error {
	root, err := os.OpenRoot(from.Disk.ConfigDir())
	if err != nil {
		return err
	}
	defer root.Close()
	folder, err := restore.Find(root, from.Session)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("session %s %w", from.Session, history.ErrNotFound)
	}
	if err != nil {
		return err
	}
	before, err := restore.VersionOf(root, folder, from.Session)
	if err != nil {
		return err
	}
	err = restore.Resumable(ctx, root, folder, from.Session)
	if errors.Is(err, transcript.ErrEmpty) {
		return fmt.Errorf("session %s: %w", from.Session, history.ErrEmpty)
	}
	if err != nil {
		return err
	}
	source := restore.Source{Store: f.store, Project: f.opts.Project}
	saved, err := source.SaveUnder(ctx, root, folder, from.Session, fence)
	if errors.Is(err, restore.ErrDiffers) {
		return fmt.Errorf("%w: %w", store.ErrConflict, err)
	}
	if err != nil {
		return err
	}
	if saved.Skipped > 0 {
		f.opts.Logger.Warn("lines of a session cannot be read and are left out", "session", from.Session, "lines", saved.Skipped)
	}
	after, err := restore.VersionOf(root, folder, from.Session)
	if err != nil {
		return err
	}
	if !maps.Equal(before, after) {
		return &SessionOpenError{Session: from.Session}
	}
	return nil
}
