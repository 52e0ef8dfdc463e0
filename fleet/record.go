package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/fleet/internal/dayspend"
	"github.com/claude-agent-go/claude/fleet/internal/outcomelog"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/recordform"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// record is everything in the store about a conversation besides its transcript and
// its prompts. A sleeping conversation is this record and nothing in memory.
type record struct {
	Key string `json:"key"`
	// Session is the id of its session, and Older those before it, the oldest
	// first.
	Session string   `json:"session"`
	Older   []string `json:"older,omitempty"`
	// Unstored are ids of sessions that were begun and given up before anything of them
	// was stored. A journal may have something of them.
	Unstored []string  `json:"unstored,omitempty"`
	Created  time.Time `json:"created"`
	// Mode and Model were chosen while it ran or slept. A CLI that resumes a
	// session does not know the mode.
	Mode  permission.Mode `json:"mode,omitzero"`
	Model string          `json:"model,omitzero"`
	// Chosen counts the modes that people have chosen. The CLI says each of them later.
	Chosen int `json:"chosen,omitzero"`
	// Models are those chosen before Model, the newest first. Empty is that of the
	// options. See [record.refuseModel].
	Models []string `json:"models,omitempty"`
	// Commands is the digest of the slash commands that are kept, empty if there are none.
	Commands string `json:"commands,omitzero"`
	// Title and Labels are those given to [Fleet.Describe].
	Title  string            `json:"title,omitzero"`
	Labels map[string]string `json:"labels,omitempty"`
	Stuck  *stuck            `json:"stuck,omitzero"`
	Cost   keptLedger        `json:"cost"`
	// Counted is the id of the last result in Cost.
	Counted string `json:"counted,omitzero"`
	// Through is the mark up to which the transcripts of Session are in Cost.
	Through through `json:"through,omitzero"`
	// Spent is the cost so far of prompts without an outcome, by their ids. It is
	// written together with Cost, so a crash takes neither away.
	Spent map[string]keptLedger `json:"spent,omitempty"`
	// Unprompted is the part of Cost of turns that answer no prompt.
	Unprompted keptLedger `json:"unprompted,omitzero"`
	// Today is its cost on its last day, if there is a budget for a day.
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

// stuck is why nothing more is tried.
type stuck struct {
	Prompt string    `json:"prompt"`
	Reason string    `json:"reason"`
	Cause  Cause     `json:"cause,omitzero"`
	At     time.Time `json:"at"`
	// Untold means that it is not in the log of outcomes yet.
	Untold bool `json:"untold,omitzero"`

	// Unknown are members that a newer program has added.
	Unknown jsonx.Unknown `json:",embed"`
}

// stuckError is the error of a conversation that is stuck.
func (r *record) stuckError() *StuckError {
	return &StuckError{r.Key, r.Stuck.Prompt, r.Stuck.Reason, r.Stuck.Cause}
}

// records reads and writes everything that the store holds about conversations besides
// their transcripts: the conversations themselves, their prompts and the outcomes. It keeps
// nothing in memory, so all of its methods may be called from any goroutine.
type records struct {
	store   *announcer
	project string
	log     *outcomelog.Log
	days    *days // nil without a budget for a day
	newer   *newerRecords
}

// load reads a conversation. One that does not exist is [ErrUnknown], one that is being
// deleted [ErrDeleted].
func (rs *records) load(ctx context.Context, key string) (record, error) {
	rec, err := rs.read(ctx, key)
	if err == nil && !rec.Deleted.IsZero() {
		err = &ConversationError{key, ErrDeleted}
	}
	return rec, err
}

// read is load with those that are being deleted.
func (rs *records) read(ctx context.Context, key string) (record, error) {
	if err := checkKey(rs.project, key); err != nil {
		return record{}, err
	}
	r, err := store.Get(ctx, rs.store, rs.key(kindConversation, place(key)))
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

// create makes a conversation unless it exists.
func (rs *records) create(ctx context.Context, key string) (record, error) {
	rec, err := rs.load(ctx, key)
	if !errors.Is(err, ErrUnknown) {
		return rec, err
	}
	return rs.insert(ctx, key)
}

// insert makes a conversation that was not there.
func (rs *records) insert(ctx context.Context, key string) (record, error) {
	now, err := rs.store.Now(ctx)
	if err != nil {
		return record{}, err
	}
	rec := record{Key: key, Created: now}
	rec.revision, err = rs.put(ctx, kindConversation, place(key), &rec, 0, store.Fence{})
	if errors.Is(err, store.ErrConflict) { // another process was faster
		rec, err = rs.load(ctx, key)
	}
	return rec, err
}

// errUnchanged is the error of a change that has nothing to write.
var errUnchanged = errors.New("unchanged")

// change reads a conversation, lets do change it and writes it by compare-and-set,
// again and again until no other writer has changed it in between.
func (rs *records) change(ctx context.Context, key string, fence store.Fence, do func(*record) error) (record, error) {
	return rs.changeAny(ctx, key, fence, func(r *record) error {
		if !r.Deleted.IsZero() {
			return &ConversationError{key, ErrDeleted}
		}
		return do(r)
	})
}

// changeAny is change with those that are being deleted.
func (rs *records) changeAny(ctx context.Context, key string, fence store.Fence, do func(*record) error) (record, error) {
	for {
		rec, err := rs.read(ctx, key)
		if err != nil {
			return rec, err
		}
		cost := rec.Cost.USD
		if err := do(&rec); errors.Is(err, errUnchanged) {
			return rec, nil
		} else if err != nil {
			return rec, err
		}
		rec.revision, err = rs.putConversation(ctx, &rec, cost, fence)
		if !errors.Is(err, store.ErrConflict) {
			return rec, err
		}
	}
}

// moveTo gives the conversation another session.
func (r *record) moveTo(session string) {
	if r.Session != "" {
		r.Older = append(slices.Clone(r.Older), r.Session)
	}
	r.Session, r.Through = session, through{}
}

// changeTo is the change of a record to a value.
func (rs *records) changeTo(kind, name string, v any, revision int64) (store.RecordChange, error) {
	value, err := recordform.Encode(v)
	if err != nil {
		return store.RecordChange{}, fmt.Errorf("claude: fleet: encode %s: %w", name, err)
	}
	return store.RecordChange{Key: rs.key(kind, name), Value: value, Revision: revision}, nil
}

// put writes a record.
func (rs *records) put(ctx context.Context, kind, name string, v any, revision int64, fence store.Fence) (int64, error) {
	c, err := rs.changeTo(kind, name, v, revision)
	if err != nil {
		return 0, err
	}
	next, err := store.Put(ctx, rs.store, c.Key, c.Value, revision, fence)
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

func (rs *records) key(kind, name string) store.RecordKey {
	return store.RecordKey{Project: rs.project, Kind: kind, Name: name}
}

// putConversation writes the record of a conversation, and its cost today if that has
// grown.
func (rs *records) putConversation(ctx context.Context, rec *record, before float64, fence store.Fence) (int64, error) {
	usd := rec.Cost.USD - before
	day, err := rs.days.charge(ctx, rec, usd)
	if err != nil {
		return 0, err
	}
	if day == nil {
		return rs.put(ctx, kindConversation, place(rec.Key), rec, rec.revision, fence)
	}
	conversation, err := rs.changeTo(kindConversation, place(rec.Key), rec, rec.revision)
	if err != nil {
		return 0, err
	}
	next, err := rs.store.Change(ctx, fence, conversation, *day)
	if err != nil {
		return 0, err
	}
	rs.days.charged(rec, usd)
	return next[0], nil
}

// dropRecord removes a record, if there is one.
func (rs *records) dropRecord(ctx context.Context, kind, name string, fence store.Fence) error {
	r, err := store.Get(ctx, rs.store, rs.key(kind, name))
	if err == nil {
		err = store.Drop(ctx, rs.store, r.Key, r.Revision, fence)
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// dropBelow removes the records of a conversation whose names begin with it.
func (rs *records) dropBelow(ctx context.Context, kind, key string, fence store.Fence) error {
	prefix := place(key) + "/"
	for r, err := range rs.store.Scan(ctx, store.Folder{Project: rs.project, Kind: kind}, prefix) {
		if err != nil {
			return err
		}
		if !strings.HasPrefix(r.Key.Name, prefix) {
			break
		}
		if err := store.Drop(ctx, rs.store, r.Key, r.Revision, fence); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return nil
}

// recordAndTime makes a conversation unless it exists or may refuses it, and asks the
// store for the time meanwhile: each is a request, and the caller of Send waits for both.
func (rs *records) recordAndTime(ctx context.Context, key string, may func() error) (rec record, now time.Time, err error) {
	var wg sync.WaitGroup
	var timeErr error
	wg.Go(func() { now, timeErr = rs.store.Now(ctx) })
	rec, err = rs.load(ctx, key)
	if errors.Is(err, ErrUnknown) {
		if err = may(); err == nil { // what is refused leaves nothing behind
			rec, err = rs.insert(ctx, key)
		}
	}
	wg.Wait()
	if err == nil && timeErr != nil {
		err = &ConversationError{key, timeErr}
	}
	return rec, now, err
}

// putCommands writes the list of commands. Only the owner of the lease does, so the
// stored list is an earlier one.
func (rs *records) putCommands(ctx context.Context, key string, commands []control.Command, fence store.Fence) error {
	var now keptCommands
	r, err := store.Get(ctx, rs.store, rs.key(kindCommands, place(key)))
	if err == nil {
		err = decode(r, &now)
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	_, err = rs.put(ctx, kindCommands, place(key), &keptCommands{commands, now.Unknown}, r.Revision, fence)
	return err
}
