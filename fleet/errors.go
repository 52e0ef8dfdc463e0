package fleet

import (
	"errors"
	"fmt"
	"time"
)

// The errors of a fleet, to be found with [errors.Is].
var (
	// ErrUnknown means that there is no such conversation, or no such prompt in
	// it.
	ErrUnknown = errors.New("unknown")
	// ErrForeign means that the key belongs to another tenant.
	ErrForeign = errors.New("belongs to another tenant")
	// ErrOverloaded means that too many prompts are waiting. The error is an
	// [*OverloadedError].
	ErrOverloaded = errors.New("too many prompts are waiting")
	// ErrBudget means that the conversation has cost as much as it may, or that the
	// budget of the day is spent. The error is a [*BudgetError].
	ErrBudget = errors.New("budget is spent")
	// ErrStuck means that the conversation needs a person to look at it. The error is a
	// [*StuckError].
	ErrStuck = errors.New("stuck")
	// ErrClosed means that the fleet was closed.
	ErrClosed = errors.New("claude: fleet: closed")
	// ErrElsewhere means that another process runs the conversation.
	ErrElsewhere = errors.New("is run by another process")
	// ErrLagging means that a loop over Run or RunPrompt read too slowly to see
	// every message. The prompt itself is not affected.
	ErrLagging = errors.New("claude: fleet: messages were not read in time")
	// ErrDeleted means that the conversation is being deleted.
	ErrDeleted = errors.New("is being deleted")
	// ErrExists means that the key already belongs to a conversation.
	ErrExists = errors.New("already exists")
	// ErrTimeout means that the store has not answered within Options.StoreTimeout. The
	// request may take effect nevertheless: ask again.
	ErrTimeout = errors.New("the store has not answered")
	// ErrBegun means that a prompt can no longer be cancelled.
	ErrBegun = errors.New("has begun")
	// ErrCursorTooOld means that the store no longer has all outcomes since a cursor,
	// see [Fleet.Outcomes].
	ErrCursorTooOld = errors.New("the cursor is too old: outcomes since then are not kept anymore")
)

// ConversationError means that a conversation cannot be used under a key. It matches
// the reason, such as [ErrUnknown] or [ErrForeign].
type ConversationError struct {
	Key    string
	Reason error
}

// Error names the key and the reason.
func (e *ConversationError) Error() string {
	return fmt.Sprintf("claude: fleet: conversation %q: %v", e.Key, e.Reason)
}

// Unwrap returns the reason.
func (e *ConversationError) Unwrap() error { return e.Reason }

// InDoubtError means that a prompt may or may not have been accepted: the store has not
// answered, or has failed. Send the prompt again with Prompt as its ID. That is
// idempotent: if it was accepted, it is not accepted a second time.
type InDoubtError struct {
	Key    string
	Prompt string // the id of the prompt, even when Send has made it
	Err    error  // the error of the store
}

// Error explains what to do.
func (e *InDoubtError) Error() string {
	return fmt.Sprintf("claude: fleet: conversation %q: prompt %s may have been accepted, send it again with this id: %v", e.Key, e.Prompt, e.Err)
}

// Unwrap returns the error of the store.
func (e *InDoubtError) Unwrap() error { return e.Err }

// OverloadedError means that a prompt was not accepted because too many are
// waiting. It matches [ErrOverloaded].
type OverloadedError struct {
	Key    string // the conversation whose queue is full, empty if the fleet is
	Tenant string // the tenant that has sent too many, if it was not one conversation
	Queued int    // prompts that wait; 0 if they came too fast
	// Wait is an estimate, from the turns so far, of how long it takes until
	// there is room.
	Wait time.Duration
}

// Error names how many are waiting, and when to try again.
func (e *OverloadedError) Error() string {
	where := "the fleet"
	switch {
	case e.Key != "":
		where = fmt.Sprintf("conversation %q", e.Key)
	case e.Tenant != "":
		where = fmt.Sprintf("tenant %q", e.Tenant)
	}
	if e.Queued == 0 {
		return fmt.Sprintf("claude: fleet: %s sends prompts too fast; try again in %v", where, e.Wait)
	}
	return fmt.Sprintf("claude: fleet: %v: %d in %s; try again in %v", ErrOverloaded, e.Queued, where, e.Wait)
}

// Is reports whether target is [ErrOverloaded].
func (e *OverloadedError) Is(target error) bool { return target == ErrOverloaded }

// BudgetError means that a conversation, a tenant or the fleet has cost as much as it
// may. It matches [ErrBudget].
type BudgetError struct {
	Key     string  // the conversation whose budget is spent
	Tenant  string  // the tenant, if its budget of the day is spent; both are empty for that of the fleet
	CostUSD float64 // what was spent
	OfUSD   float64 // what may be spent
	// Resets is when the day of the budget ends: then prompts that wait continue by
	// themselves. It is zero for the budget of a conversation.
	Resets time.Time
}

// Error names whose budget is spent, and when there is a new one.
func (e *BudgetError) Error() string {
	where := "the fleet"
	switch {
	case e.Key != "":
		where = fmt.Sprintf("conversation %q", e.Key)
	case e.Tenant != "":
		where = fmt.Sprintf("tenant %q", e.Tenant)
	}
	text := fmt.Sprintf("claude: fleet: %s: the %v: %.2f of %.2f US dollars", where, ErrBudget, e.CostUSD, e.OfUSD)
	if !e.Resets.IsZero() {
		text += fmt.Sprintf(" for the day; it begins anew at %s", e.Resets.UTC().Format(time.RFC3339))
	}
	return text
}

// Is reports whether target is [ErrBudget].
func (e *BudgetError) Is(target error) bool { return target == ErrBudget }

// StuckError means that a prompt was begun again and again and never ended. Its
// conversation does nothing until [Fleet.Retry] or [Fleet.Cancel]. It matches
// [ErrStuck].
type StuckError struct {
	Key    string
	Prompt string // the id of the prompt
	Reason string
	Cause  Cause // the kind of reason, if a program can know
}

// Error gives the reason.
func (e *StuckError) Error() string {
	return fmt.Sprintf("claude: fleet: conversation %q is stuck at prompt %s: %s", e.Key, e.Prompt, e.Reason)
}

// Is reports whether target is [ErrStuck].
func (e *StuckError) Is(target error) bool { return target == ErrStuck }

// DeferredError means that a prompt waits for a person. It stays open: its turn
// continues once the question is decided.
type DeferredError struct {
	Key    string
	Prompt string
	// Question is the id of the question, for [Fleet.Approvals]. It is empty if
	// a hook other than the gate deferred the call.
	Question string
}

// Error names the question, if there is one.
func (e *DeferredError) Error() string {
	if e.Question == "" {
		return fmt.Sprintf("claude: fleet: prompt %s of conversation %q waits for a decision", e.Prompt, e.Key)
	}
	return fmt.Sprintf("claude: fleet: prompt %s of conversation %q waits for the answer to question %s", e.Prompt, e.Key, e.Question)
}

// FailedError means that a prompt has ended without an answer.
type FailedError struct {
	Key    string
	Ticket Ticket
}

// Error describes how it ended.
func (e *FailedError) Error() string {
	return fmt.Sprintf("claude: fleet: prompt %s of conversation %q %s: %s", e.Ticket.Prompt, e.Key, e.Ticket.Status, e.Ticket.Error)
}
