package fleet

import (
	"errors"

	"github.com/claude-agent-go/claude"
)

// Cause is the kind of obstacle that keeps a prompt from ending, if a program can do
// something about it. It is empty for anything else, such as a store that does not
// answer.
type Cause string

// The causes. The first two are about the machine that runs the conversation, the others
// about the program and its [Options.Session].
const (
	CauseCLIMissing    Cause = "cli-missing"    // no CLI was found: install it, then retry
	CauseCLIFailed     Cause = "cli-failed"     // the CLI does not start, or ends before its turn does
	CauseOptionRefused Cause = "option-refused" // an option cannot be used: correct it, then retry
	CauseOptionsFailed Cause = "options-failed" // the program could not make the options
)

// sessionError is an error of Options.Session.
type sessionError struct{ error }

func (e sessionError) Unwrap() error { return e.error }

// causeOf finds the cause in what ended an attempt.
func causeOf(err error) Cause {
	if _, unmade := errors.AsType[sessionError](err); unmade {
		return CauseOptionsFailed
	}
	if _, refused := errors.AsType[*claude.OptionError](err); refused {
		return CauseOptionRefused
	}
	if start, ok := errors.AsType[*claude.StartError](err); ok {
		switch start.Reason {
		case claude.ErrNotFound:
			return CauseCLIMissing
		case claude.ErrStore, claude.ErrNoSession: // the CLI is not to blame
			return ""
		}
		return CauseCLIFailed
	}
	if _, ended := errors.AsType[*claude.ProcessError](err); ended {
		return CauseCLIFailed
	}
	return ""
}
