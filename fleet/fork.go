package fleet

import (
	"context"
	"errors"
	"slices"

	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/store"
)

// Fork copies a conversation to a new key, up to the message with the id upTo,
// which is included. An empty upTo copies all that is stored, but a call that
// waits for a person is left out. The copy has the model and the mode of the
// original; it has no prompts, questions or rules, and has cost nothing yet. The
// original is unchanged, and may be running.
//
// Errors: [ErrUnknown], [ErrExists] for the new key, [history.ErrNotFound] if
// the message does not exist, [history.ErrEmpty] if nothing was said yet, [ErrTimeout].
func (f *Fleet) Fork(ctx context.Context, key, newKey, upTo string) (err error) {
	ctx, end := f.bounds.boundEach(ctx, key)
	defer end(&err)
	rec, err := f.records.load(ctx, key)
	if err != nil {
		return err
	}
	if err := f.checkNew(ctx, newKey); err != nil {
		return err
	}
	now, err := f.store.Now(ctx)
	if err != nil {
		return &ConversationError{newKey, err}
	}
	fork := record{Key: newKey, Created: now, Mode: rec.Mode, Model: rec.Model}
	return f.copyTo(ctx, &fork, func(ctx context.Context, session string) error {
		if err := f.forkSession(ctx, &rec, upTo, session); err != nil {
			return &ConversationError{key, err}
		}
		return nil
	})
}

// beginCopy makes a conversation of a session that was copied for it. If there is
// one under its key, the copy is removed again.
func (f *Fleet) beginCopy(ctx context.Context, rec *record) error {
	_, err := f.records.put(ctx, kindConversation, place(rec.Key), rec, 0, store.Fence{})
	if errors.Is(err, store.ErrConflict) {
		there, readErr := f.records.read(ctx, rec.Key)
		switch {
		case readErr == nil && slices.Contains(there.sessions(), rec.Session):
			return nil // the conflict is with this write itself, whose reply was lost
		case readErr != nil && !errors.Is(readErr, ErrUnknown):
			return readErr // it may be this one, which needs its session
		}
		err = errors.Join(ErrExists, f.store.Delete(ctx, store.Key{Project: f.opts.Project, Session: rec.Session}, store.Fence{}))
	}
	if err != nil {
		return &ConversationError{rec.Key, err}
	}
	return nil
}

// checkNew refuses the key of a conversation that exists.
func (f *Fleet) checkNew(ctx context.Context, key string) error {
	_, err := f.records.load(ctx, key)
	if err == nil {
		return &ConversationError{key, ErrExists}
	}
	if errors.Is(err, ErrUnknown) {
		return nil
	}
	return err
}

// forkSession copies the session of a conversation, or the one before it that has
// the message, to a new one.
func (f *Fleet) forkSession(ctx context.Context, rec *record, upTo, to string) (err error) {
	h := history.In(f.store, f.opts.Project)
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
