package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/claude-agent-go/claude/fleet/internal/dayspend"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/recordform"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// record is what the store knows of a conversation besides its transcript and
// its prompts. A conversation that sleeps is this record and nothing in memory.
type record struct {
	Key string `json:"key"`
	// Session is the id of its session, and Older those before it, the oldest
	// first.
	Session string   `json:"session"`
	Older   []string `json:"older,omitempty"`
	// Unstored are ids of sessions that were begun and of which nothing was stored
	// when they were given up. A journal may have something of them.
	Unstored []string  `json:"unstored,omitempty"`
	Created  time.Time `json:"created"`
	// Mode and Model were chosen while it ran or slept. A CLI that resumes a
	// session does not know the mode.
	Mode  permission.Mode `json:"mode,omitzero"`
	Model string          `json:"model,omitzero"`
	// Title and Labels are what [Fleet.Describe] was given.
	Title  string            `json:"title,omitzero"`
	Labels map[string]string `json:"labels,omitempty"`
	Stuck  *stuck            `json:"stuck,omitzero"`
	Cost   keptLedger        `json:"cost"`
	// Counted is the id of the last result in Cost.
	Counted string `json:"counted,omitzero"`
	// Through is how far the transcripts of Session are in Cost.
	Through through `json:"through,omitzero"`
	// Spent is what prompts without an outcome have cost so far, by their ids. It
	// is written together with Cost, so a crash takes neither away.
	Spent map[string]keptLedger `json:"spent,omitempty"`
	// Unprompted is, of Cost, what turns have cost that answer no prompt.
	Unprompted keptLedger `json:"unprompted,omitzero"`
	// Today is what it has cost on its last day, if there is a budget for a day.
	Today dayspend.Today `json:"today,omitzero"`
	// Unsettled is why questions of its turns have not ended, empty if they have.
	Unsettled string `json:"unsettled,omitzero"`
	// Deleted is when its deletion began.
	Deleted time.Time `json:"deleted,omitzero"`

	// Unknown are members that a newer program has added.
	Unknown jsonx.Unknown `json:",embed"`

	revision int64 // 0 if the store does not have it
}

// clone returns a copy that can be changed.
func (r record) clone() record {
	r.Spent = maps.Clone(r.Spent)
	return r
}

// sessions returns the ids of its sessions, the oldest first.
func (r *record) sessions() []string {
	if r.Session == "" {
		return r.Older
	}
	return append(slices.Clone(r.Older), r.Session)
}

// stuck says why nothing more is tried.
type stuck struct {
	Prompt string    `json:"prompt"`
	Reason string    `json:"reason"`
	Cause  Cause     `json:"cause,omitzero"`
	At     time.Time `json:"at"`
	// Untold says that it is not in the log of outcomes yet.
	Untold bool `json:"untold,omitzero"`

	// Unknown are members that a newer program has added.
	Unknown jsonx.Unknown `json:",embed"`
}

// stuckError is the error of a conversation that is stuck.
func (r *record) stuckError() *StuckError {
	return &StuckError{r.Key, r.Stuck.Prompt, r.Stuck.Reason, r.Stuck.Cause}
}

// loadRecord reads a conversation. One that does not exist is [ErrUnknown], one
// that is being deleted [ErrDeleted].
func (f *Fleet) loadRecord(ctx context.Context, key string) (record, error) {
	rec, err := f.readRecord(ctx, key)
	if err == nil && !rec.Deleted.IsZero() {
		err = &ConversationError{key, ErrDeleted}
	}
	return rec, err
}

// readRecord is loadRecord with those that are being deleted.
func (f *Fleet) readRecord(ctx context.Context, key string) (record, error) {
	if err := checkKey(f.opts.Project, key); err != nil {
		return record{}, err
	}
	r, err := f.store.GetRecord(ctx, f.recordKey(kindConversation, place(key)))
	if errors.Is(err, store.ErrNotFound) {
		return record{}, &ConversationError{key, ErrUnknown}
	}
	if err != nil {
		return record{}, &ConversationError{key, err}
	}
	rec := record{revision: r.Revision}
	err = decode(r, &rec)
	return rec, err
}

// createRecord makes a conversation unless it exists.
func (f *Fleet) createRecord(ctx context.Context, key string) (record, error) {
	rec, err := f.loadRecord(ctx, key)
	if !errors.Is(err, ErrUnknown) {
		return rec, err
	}
	return f.newRecord(ctx, key)
}

// newRecord makes a conversation that was not there.
func (f *Fleet) newRecord(ctx context.Context, key string) (record, error) {
	now, err := f.store.Now(ctx)
	if err != nil {
		return record{}, err
	}
	rec := record{Key: key, Created: now}
	rec.revision, err = f.put(ctx, kindConversation, place(key), &rec, 0, store.Fence{})
	if errors.Is(err, store.ErrConflict) { // somebody was faster
		rec, err = f.loadRecord(ctx, key)
	}
	return rec, err
}

// errUnchanged is what a change returns that has nothing to write.
var errUnchanged = errors.New("unchanged")

// changeRecord reads a conversation, lets do change it and writes it, again and
// again until nobody else has changed it in between.
func (f *Fleet) changeRecord(ctx context.Context, key string, fence store.Fence, do func(*record) error) (record, error) {
	return f.changeAnyRecord(ctx, key, fence, func(r *record) error {
		if !r.Deleted.IsZero() {
			return &ConversationError{key, ErrDeleted}
		}
		return do(r)
	})
}

// changeAnyRecord is changeRecord with those that are being deleted.
func (f *Fleet) changeAnyRecord(ctx context.Context, key string, fence store.Fence, do func(*record) error) (record, error) {
	for {
		rec, err := f.readRecord(ctx, key)
		if err != nil {
			return rec, err
		}
		cost := rec.Cost.USD
		if err := do(&rec); errors.Is(err, errUnchanged) {
			return rec, nil
		} else if err != nil {
			return rec, err
		}
		rec.revision, err = f.putConversation(ctx, &rec, cost, fence)
		if !errors.Is(err, store.ErrConflict) {
			return rec, err
		}
	}
}

// moveTo makes another session the conversation's.
func (r *record) moveTo(session string) {
	if r.Session != "" {
		r.Older = append(slices.Clone(r.Older), r.Session)
	}
	r.Session, r.Through = session, through{}
}

// changeTo is the change of a record to a value.
func (f *Fleet) changeTo(kind, name string, v any, revision int64) (store.RecordChange, error) {
	value, err := recordform.Encode(v)
	if err != nil {
		return store.RecordChange{}, fmt.Errorf("claude: fleet: encode %s: %w", name, err)
	}
	return store.RecordChange{Key: f.recordKey(kind, name), Value: value, Revision: revision}, nil
}

// put writes a record.
func (f *Fleet) put(ctx context.Context, kind, name string, v any, revision int64, fence store.Fence) (int64, error) {
	c, err := f.changeTo(kind, name, v, revision)
	if err != nil {
		return 0, err
	}
	next, err := f.store.PutRecord(ctx, c.Key, c.Value, revision, fence)
	if err != nil {
		return 0, fmt.Errorf("claude: fleet: write %s %s: %w", kind, name, err)
	}
	return next, nil
}

// decode reads the value of a record.
func decode(r store.Record, v any) error {
	if err := recordform.Decode(r, v); err != nil {
		return fmt.Errorf("claude: fleet: %w", err)
	}
	return nil
}
