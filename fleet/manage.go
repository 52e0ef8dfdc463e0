package fleet

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// Delete removes a conversation and everything about it in the store. A turn that runs
// is cut off; prompts that wait end as [PromptCancelled]; questions are gone. From the
// moment the deletion begins, every other method returns [ErrDeleted]; when it is done,
// [ErrUnknown], and the key can be used again.
//
// If another process runs the conversation and Options.Bus does not reach it, Delete
// returns [ErrElsewhere], and nothing has changed unless the Bus has lost the reply. After
// any other error, the conversation may be half deleted: call Delete again, or leave it to
// the next Open.
func (f *Fleet) Delete(ctx context.Context, key string) error { return f.eraser.delete(ctx, key) }

// Get returns a conversation, or [ErrUnknown].
func (f *Fleet) Get(ctx context.Context, key string) (info ConversationInfo, err error) {
	ctx, end := f.bounds.bound(ctx, key)
	defer end(&err)
	rec, err := f.records.load(ctx, key)
	if err != nil {
		return ConversationInfo{}, err
	}
	var q queueState
	for p, err := range f.records.waiting(ctx, key) {
		if err != nil {
			return info, &ConversationError{key, err}
		}
		q.add(p)
	}
	return f.reports.info(ctx, &rec, q), nil
}

// List yields the conversations: first those without a tenant, then those of tenants, both
// in the order of their keys by bytes. It reads the store in two
// passes, however many conversations there are: first the prompts that wait, then the
// conversations. Those that only a newer version of this program can read are left out.
// It waits for each of them no longer than Options.StoreTimeout.
func (f *Fleet) List(ctx context.Context) iter.Seq2[ConversationInfo, error] {
	return f.reports.list(ctx, func(ctx context.Context, kind string) iter.Seq2[store.Record, error] {
		return f.store.Scan(ctx, store.Folder{Project: f.opts.Project, Kind: kind}, "")
	})
}

// Describe gives a conversation a title and labels, in place of those that it had.
// [ConversationInfo] has them. The conversation is made if there is none, so that it
// can be described before its first prompt. A fork does not inherit them.
func (f *Fleet) Describe(ctx context.Context, key string, d Description) (err error) {
	if err := checkKey(f.opts.Project, key); err != nil {
		return err
	}
	if err := d.check(); err != nil {
		return &ConversationError{key, err}
	}
	ctx, end := f.bounds.bound(ctx, key)
	defer end(&err)
	if _, err := f.records.create(ctx, key); err != nil {
		return err
	}
	_, err = f.records.change(ctx, key, store.Fence{}, func(r *record) error {
		if r.Title == d.Title && maps.Equal(r.Labels, d.Labels) {
			return errUnchanged
		}
		r.Title, r.Labels = d.Title, maps.Clone(d.Labels)
		return nil
	})
	return err
}

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
	if err := f.copier.checkNew(ctx, newKey); err != nil {
		return err
	}
	now, err := f.store.Now(ctx)
	if err != nil {
		return &ConversationError{newKey, err}
	}
	fork := record{Key: newKey, Created: now, Mode: rec.Mode, Model: rec.Model}
	return f.copier.copyTo(ctx, &fork, func(ctx context.Context, session string) error {
		if err := f.copier.forkSession(ctx, &rec, upTo, session); err != nil {
			return &ConversationError{key, err}
		}
		return nil
	})
}

// Resume turns a session that a CLI keeps on disk into a conversation, under a new
// key. Its transcript is copied into the store, with those of its subagents, and
// continued there; the files on disk stay as they are, and what is said from then on
// is not in them. The conversation exists when everything is copied. If that breaks
// off, for whatever reason, it does not exist, and Resume can be called again: it
// continues the copy, or, with Fork, makes another one. The leftovers of a fork that
// crashed are removed by the next fleet that opens, ten minutes later.
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
	if err := f.copier.resume(ctx, key, &from); err != nil {
		if _, named := errors.AsType[*ConversationError](err); named {
			return err
		}
		return &ConversationError{key, err}
	}
	return nil
}

// SetPermissionMode chooses the permission mode of a conversation. The choice survives
// sleep, although the CLI forgets it. Empty means the mode of its options.
func (f *Fleet) SetPermissionMode(ctx context.Context, key string, mode permission.Mode) error {
	if err := mode.Check(); mode != "" && err != nil {
		return fmt.Errorf("claude: fleet: %w: %w", store.ErrInvalid, err)
	}
	if err := f.choose(ctx, key, func(r *record) { r.chooseMode(mode) }); err != nil {
		return err
	}
	return f.perform(ctx, key, instruction{Mode: &mode})
}

// chooseMode sets the mode that a person has chosen. It is counted, so that an earlier one
// that the CLI reports late does not replace it.
func (r *record) chooseMode(mode permission.Mode) {
	if r.Mode != mode {
		r.Mode = mode
		r.Chosen++
	}
}

// choose changes the choices of a conversation.
func (f *Fleet) choose(ctx context.Context, key string, set func(*record)) (err error) {
	ctx, end := f.bounds.bound(ctx, key)
	defer end(&err)
	_, err = f.records.change(ctx, key, store.Fence{}, func(r *record) error {
		set(r)
		return nil
	})
	return err
}

// performHere carries out an instruction if this process runs the conversation, and
// reports whether it does.
func (f *Fleet) performHere(ctx context.Context, key string, op instruction) (here bool, err error) {
	if op.Interrupt && f.roster.turnOf(key) != nil {
		if _, err = f.endings.interrupt(ctx, key, op.Prompt); errors.Is(err, ErrElsewhere) {
			err = nil
		} else {
			here = true
		}
	}
	s, owned := f.roster.liveSession(key)
	switch {
	case !owned || op.Interrupt && !here:
		return here, err
	case op.Delete:
		return true, f.Delete(ctx, key)
	case s == nil:
		return true, err // a CLI that starts catches up with what was chosen before
	}
	own := f.roster.ownChoices(key)
	if op.resets() {
		var asked error
		if own, asked = f.askChoices(ctx, key); asked != nil {
			return true, errors.Join(err, asked)
		}
	}
	return true, errors.Join(err, op.apply(ctx, s, own))
}

// perform applies what was chosen, and stored, to the CLI of a conversation, wherever it
// runs. The record is written before the lease is looked at: a process that takes it
// later reads the choice. So while no process has the lease, there is nothing to do.
func (f *Fleet) perform(ctx context.Context, key string, op instruction) error {
	here, err := f.performHere(ctx, key, op)
	if here || err != nil || f.opts.Bus == nil {
		return err
	}
	if f.leases.free(ctx, key) {
		return nil
	}
	err = f.peers.instruct(ctx, key, op)
	if errors.Is(err, errNoReply) {
		return nil // no process runs a CLI for it now
	}
	return err
}

// askChoices returns the choices in the current options. The CLI may have been started
// with others: a program that keeps choices of its own takes them back in its options
// first.
func (f *Fleet) askChoices(ctx context.Context, key string) (choices, error) {
	o, err := f.opts.Session(ctx, key)
	if err != nil {
		return choices{}, fmt.Errorf("claude: fleet: options of conversation %q: %w", key, sessionError{err})
	}
	if o == nil {
		return choices{}, nil
	}
	own := choices{o.PermissionMode, o.Model}
	f.roster.mu.Lock()
	defer f.roster.mu.Unlock()
	if c := f.roster.active[key]; c != nil {
		c.own = own
	}
	return own, nil
}

// Commands returns the slash commands that the last CLI of a conversation has announced,
// even when the conversation sleeps or runs in another process. Before its first CLI there
// are none. A copy has none until its own CLI runs. At most 500 are kept, and 128 KiB of
// their texts; longer descriptions are cut.
//
// Errors: [ErrUnknown], [ErrDeleted], [ErrTimeout], those of the store.
func (f *Fleet) Commands(ctx context.Context, key string) (commands []control.Command, err error) {
	ctx, end := f.bounds.bound(ctx, key)
	defer end(&err)
	rec, err := f.records.load(ctx, key)
	if err != nil || rec.Commands == "" {
		return nil, err
	}
	r, err := store.Get(ctx, f.records.store, f.records.key(kindCommands, place(key)))
	var kept keptCommands
	if err == nil {
		err = decode(r, &kept)
	}
	if errors.Is(err, store.ErrNotFound) { // it is being deleted
		return nil, nil
	}
	if err != nil {
		return nil, &ConversationError{key, err}
	}
	return kept.Commands, nil
}
