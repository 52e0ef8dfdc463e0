package fleet

import (
	"context"
	"errors"
	"slices"

	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/store"
)

// beginCopy makes a conversation of a session that was copied for it. If its key is
// taken, the copy is removed again.
func (cp *copier) beginCopy(ctx context.Context, rec *record) error {
	_, err := cp.records.put(ctx, kindConversation, place(rec.Key), rec, 0, store.Fence{})
	if errors.Is(err, store.ErrConflict) {
		there, readErr := cp.records.read(ctx, rec.Key)
		switch {
		case readErr == nil && slices.Contains(there.sessions(), rec.Session):
			return nil // the conflict is with this write itself, whose reply was lost
		case readErr != nil && !errors.Is(readErr, ErrUnknown):
			return readErr // it may be this conversation, which needs its session
		}
		err = errors.Join(ErrExists, cp.store.Delete(ctx, store.Key{Project: cp.opts.Project, Session: rec.Session}, store.Fence{}))
	}
	if err != nil {
		return &ConversationError{rec.Key, err}
	}
	return nil
}

// checkNew refuses the key of a conversation that exists.
func (cp *copier) checkNew(ctx context.Context, key string) error {
	_, err := cp.records.load(ctx, key)
	if err == nil {
		return &ConversationError{key, ErrExists}
	}
	if errors.Is(err, ErrUnknown) {
		return nil
	}
	return err
}

// forkSession copies the session of a conversation, or the earlier one that has the
// message, to a new one.
func (cp *copier) forkSession(ctx context.Context, rec *record, upTo, to string) (err error) {
	h := history.In(cp.store, cp.opts.Project)
	sessions := rec.sessions()
	err = history.ErrEmpty
	for i := len(sessions) - 1; i >= 0; i-- {
		_, err = h.Fork(ctx, sessions[i], history.ForkOptions{UpTo: upTo, ID: to})
		if upTo == "" || !errors.Is(err, history.ErrNotFound) {
			break
		}
	}
	if upTo == "" && errors.Is(err, history.ErrNotFound) {
		err = history.ErrEmpty // nothing of the session is stored
	}
	return err
}
