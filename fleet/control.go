package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

func newID() string { return uuid.New() }

// State is what a conversation does.
type State string

// The states of a conversation.
const (
	Asleep         State = "asleep"   // nothing to do
	Pending        State = "pending"  // has prompts, and waits for a place
	Starting       State = "starting" // its CLI is being started here
	Awake          State = "awake"    // has a CLI here
	AwaitingPerson State = "waiting"  // waits for a person, without a CLI
	Held           State = "held"     // has prompts, but its budget is spent
	Stuck          State = "stuck"    // needs somebody to look at it
)

// ConversationInfo is what a list shows about a conversation.
type ConversationInfo struct {
	Key      string
	State    State
	Session  string
	Created  time.Time
	Title    string            // see [Fleet.Describe]
	Labels   map[string]string // see [Fleet.Describe]
	Queued   int               // prompts without an outcome
	Question string            // what it waits for
	Stuck    string            // why it is stuck
	Cause    Cause             // what kind of reason that is
	// Unsettled is why questions about calls of its turns, which have ended, are still
	// in the inbox: the transcript, which says how the calls ended, could not be read.
	// That is tried again when the conversation wakes next.
	Unsettled string
	Model     string // if it was chosen
	Mode      permission.Mode
	Cost      Ledger // of all its turns
	// Unprompted is the part of Cost that no prompt bears: turns that the CLI
	// began by itself, because an agent in the background had ended.
	Unprompted Ledger
	// BudgetUSD is the budget that is spent, if it is held: what it may cost, or, with
	// HeldUntil, what its tenant or the fleet may cost on a day.
	BudgetUSD float64
	// HeldUntil is when the day ends whose budget is spent, if it is held for that.
	HeldUntil time.Time
	// Usage is what its CLI uses at the moment; zero if none runs in this
	// process, or if it cannot be measured.
	Usage ProcessUsage
}

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
	return f.info(ctx, &rec, q), nil
}

// holdBudget notes that a conversation is held, if its budget is spent. Its CLI may
// still be there, and does nothing.
func (f *Fleet) holdBudget(ctx context.Context, rec *record, info *ConversationInfo) {
	err := f.budgets.budget(ctx, rec)
	if err == nil || errors.Is(err, errUncounted) {
		return
	}
	info.State = Held
	if spent, ok := errors.AsType[*BudgetError](err); ok {
		info.BudgetUSD, info.HeldUntil = spent.OfUSD, spent.Resets
	}
}

// Prompt returns the ticket of a prompt, or [ErrUnknown].
func (f *Fleet) Prompt(ctx context.Context, key, id string) (t Ticket, err error) {
	ctx, end := f.bounds.bound(ctx, key)
	defer end(&err)
	t, _, err = f.ticket(ctx, key, id)
	return t, err
}

// ticket is Prompt, with the record of the conversation.
func (f *Fleet) ticket(ctx context.Context, key, id string) (Ticket, record, error) {
	rec, err := f.records.load(ctx, key)
	if err != nil {
		return Ticket{}, rec, err
	}
	if !uuid.Valid(id) {
		return Ticket{}, rec, &ConversationError{key, ErrUnknown}
	}
	// The queue first: a prompt that ends meanwhile is then found by its outcome.
	var waiting *queued
	for p, err := range f.records.pending(ctx, key) {
		if err != nil {
			return Ticket{}, rec, &ConversationError{key, err}
		}
		if p.ID == id {
			waiting = p
		}
	}
	o, ended, err := f.records.outcome(ctx, key, id)
	switch {
	case err != nil:
		return Ticket{}, rec, &ConversationError{key, err}
	case ended:
		return o, rec, nil
	case waiting == nil:
		return Ticket{}, rec, &ConversationError{key, ErrUnknown}
	}
	return f.standing(ctx, waiting, &rec), rec, nil
}

// standing is how a prompt stands that has no outcome.
func (f *Fleet) standing(ctx context.Context, p *queued, rec *record) Ticket {
	o := Ticket{Prompt: p.ID, Status: Queued, Cost: rec.Spent[p.ID].Ledger}
	switch at := rec.Stuck; {
	case !p.Cancelled.IsZero():
		return p.cancelled(rec)
	case at != nil && at.Prompt == p.ID:
		o.Status, o.Error, o.Cause = PromptStuck, at.Reason, at.Cause
	case at != nil:
		o.Cause = at.Cause
		o.Error = fmt.Sprintf("its conversation is stuck at prompt %s: %s", at.Prompt, at.Reason)
	case f.asked.waits(ctx, p.Question):
		o.Status, o.Question = Waiting, p.Question
	case p.Sent:
		o.Status = Running
	}
	return o
}

// Retry lets a conversation that is stuck try again. One that is not stuck is left
// alone.
func (f *Fleet) Retry(ctx context.Context, key string) (err error) {
	ctx, end := f.bounds.bound(ctx, key)
	defer end(&err)
	if err := checkKey(f.opts.Project, key); err != nil {
		return err
	}
	err = f.records.resetAttempts(ctx, key)
	for errors.Is(err, store.ErrConflict) { // somebody else does the same, or cancels it
		err = f.records.resetAttempts(ctx, key)
	}
	if err == nil {
		_, err = f.records.change(ctx, key, store.Fence{}, func(r *record) error {
			if r.Stuck == nil {
				return errUnchanged
			}
			r.Stuck = nil
			return nil
		})
	}
	if err == nil {
		f.want(key)
	}
	return err
}

// liveSession returns the session of a conversation that is awake here, nil if
// it is not.
func (f *Fleet) liveSession(key string) (*claude.Session, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.active[key]
	if c == nil {
		return nil, false
	}
	return c.session, c.Awake
}

// starts reports whether the CLI of a conversation is being started here.
func (f *Fleet) starts(key string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.active[key]
	return c != nil && c.starting
}

// SetModel chooses the model of a conversation, from its next turn on. Empty is
// what its options say.
func (f *Fleet) SetModel(ctx context.Context, key, model string) error {
	if err := f.choose(ctx, key, func(r *record) { r.Model = model }); err != nil {
		return err
	}
	return f.perform(ctx, key, Instruction{Model: &model})
}

// SetPermissionMode chooses the permission mode of a conversation. It stays
// chosen when the conversation sleeps, although the CLI forgets it. Empty is what
// its options say.
func (f *Fleet) SetPermissionMode(ctx context.Context, key string, mode permission.Mode) error {
	if err := mode.Check(); mode != "" && err != nil {
		return fmt.Errorf("claude: fleet: %w: %w", store.ErrInvalid, err)
	}
	if err := f.choose(ctx, key, func(r *record) { r.Mode = mode }); err != nil {
		return err
	}
	return f.perform(ctx, key, Instruction{Mode: &mode})
}

// choose changes what was chosen for a conversation.
func (f *Fleet) choose(ctx context.Context, key string, set func(*record)) (err error) {
	ctx, end := f.bounds.bound(ctx, key)
	defer end(&err)
	_, err = f.records.change(ctx, key, store.Fence{}, func(r *record) error {
		set(r)
		return nil
	})
	return err
}
