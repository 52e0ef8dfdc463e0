package approval

import (
	"errors"
	"fmt"
	"time"
)

// The errors of an inbox, to be found with [errors.Is]. A question that does not
// exist is [store.ErrNotFound].
var (
	// ErrGone means that the question can no longer be decided. The error is a
	// [*GoneError].
	ErrGone = errors.New("can no longer be decided")
	// ErrChanged means that the person decided about a different input from the
	// question's.
	ErrChanged = errors.New("is about a different input from the one that was shown")
	// ErrForbidden means that this person may not decide.
	ErrForbidden = errors.New("may not be decided by this person")
	// ErrInvalid means that a question or an answer lacks something.
	ErrInvalid = errors.New("invalid")
)

// DecidedError means that another person decided first.
type DecidedError struct {
	ID     string
	By     string
	At     time.Time
	Answer Answer
}

// Error names who decided, and when.
func (e *DecidedError) Error() string {
	return fmt.Sprintf("claude: approval: %s decided question %s at %s", e.By, e.ID, e.At.UTC().Format(time.RFC3339))
}

// GoneError explains why a question can no longer be decided. It matches
// [ErrGone].
type GoneError struct {
	ID        string
	Outcome   Outcome
	Successor string // the question to decide instead, if it was superseded
}

// Error describes what happened to the question.
func (e *GoneError) Error() string {
	if e.Successor != "" {
		return fmt.Sprintf("claude: approval: question %s was replaced by %s", e.ID, e.Successor)
	}
	return fmt.Sprintf("claude: approval: question %s %v: %s", e.ID, ErrGone, e.Outcome)
}

// Is reports whether target is [ErrGone].
func (e *GoneError) Is(target error) bool { return target == ErrGone }

// StateError means that a question is not in the state that the call needs.
type StateError struct {
	ID    string
	State State // the state it is in
	Want  State // the state that it cannot enter from there
}

// Error names both states.
func (e *StateError) Error() string {
	return fmt.Sprintf("claude: approval: question %s is %s and cannot become %s", e.ID, e.State, e.Want)
}

// about adds the question to an error.
func about(id string, err error) error {
	return fmt.Errorf("claude: approval: question %q: %w", id, err)
}
