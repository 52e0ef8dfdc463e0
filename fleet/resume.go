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

func (cp *copier) resume(ctx context.Context, key string, from *ResumeFrom) error {
	if err := checkKey(cp.opts.Project, key); err != nil {
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
	now, err := cp.store.Now(ctx)
	if err != nil {
		return err
	}
	rec := record{Key: key, Session: from.Session, Created: now}
	if !from.Fork {
		return cp.resumeSame(ctx, from, &rec)
	}
	if err := cp.checkNew(ctx, key); err != nil {
		return err
	}
	return cp.copyTo(ctx, &rec, func(ctx context.Context, session string) error {
		_, resume := pauseBound(ctx) // it is read from a disk
		defer resume()
		_, err := from.Disk.Fork(ctx, from.Session, history.ForkOptions{UpTo: from.UpTo, ID: session, Into: history.In(cp.store, cp.opts.Project)})
		return err
	})
}

// resumeSame makes a conversation of the session itself. The session's lease in the
// store lets only one process do so, and keeps other writers away meanwhile.
func (cp *copier) resumeSame(ctx context.Context, from *ResumeFrom, rec *record) (err error) {
	lease, err := cp.leases.ownNamed(ctx, from.Session)
	if err != nil {
		return err
	}
	defer cp.leases.giveBack(ctx, lease)
	holder, err := cp.holderOf(ctx, from.Session)
	if err != nil {
		return err
	}
	if holder == rec.Key {
		return nil
	}
	if holder != "" {
		return &ResumedError{from.Session, holder}
	}
	if err := cp.checkNew(ctx, rec.Key); err != nil {
		return err
	}
	// The copy belongs to the conversation, so it is written under its lease: every
	// process that moves the transcript later must hold that lease.
	own, err := cp.leases.own(ctx, rec.Key)
	if err != nil {
		return err
	}
	defer cp.leases.giveBack(ctx, own)
	_, resume := pauseBound(ctx) // it is read from a disk
	if err := checkClosed(ctx, from); err != nil {
		return err
	}
	if err := cp.copySession(ctx, from, own.Fence); err != nil {
		return err
	}
	if err := checkClosed(ctx, from); err != nil { // a CLI may have come during the copy
		return err
	}
	resume()
	// The lease of the session may be lost, and with it the right to make a
	// conversation of it, while no other process has asked for that of the
	// conversation.
	_, err = cp.records.put(ctx, kindConversation, place(rec.Key), rec, 0, lease.Fence)
	if errors.Is(err, store.ErrConflict) { // another process was faster
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
func (cp *copier) holderOf(ctx context.Context, session string) (key string, err error) {
	for r, err := range cp.store.Scan(ctx, store.Folder{Project: cp.opts.Project, Kind: kindConversation}, "") {
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
// meanwhile, even by a subagent, is open somewhere, and the copy may lack something.
// The next attempt adds it.
func (cp *copier) copySession(ctx context.Context, from *ResumeFrom, fence store.Fence) error {
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
	source := restore.Source{Store: cp.store, Project: cp.opts.Project}
	saved, err := source.SaveUnder(ctx, root, folder, from.Session, fence)
	if errors.Is(err, restore.ErrDiffers) {
		return fmt.Errorf("%w: %w", store.ErrConflict, err)
	}
	if err != nil {
		return err
	}
	if saved.Skipped > 0 {
		cp.opts.Logger.Warn("lines of a session cannot be read and are left out", "session", from.Session, "lines", saved.Skipped)
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
