package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/permission"
)

// Instruction is something to be done to a conversation that runs. It can be sent to
// the process that runs it as JSON.
type Instruction struct {
	Interrupt bool `json:"interrupt,omitzero"`
	// Prompt is the prompt whose turn is to be interrupted. If it is over, no other
	// is. Empty: whichever turn runs when the instruction arrives.
	Prompt string `json:"prompt,omitzero"`
	// Model and Mode are what is chosen from now on, nil if it stays. Empty is
	// what the options of the conversation say.
	Model  *string          `json:"model,omitzero"`
	Mode   *permission.Mode `json:"mode,omitzero"`
	Delete bool             `json:"delete,omitzero"`
}

// choices are the permission mode and the model of a session.
type choices struct {
	mode  permission.Mode
	model string
}

// modeOf is the mode in force if a mode is chosen. Empty is that of the options.
func (own choices) modeOf(chosen permission.Mode) permission.Mode {
	return cmp.Or(chosen, own.mode, permission.ModeDefault)
}

// Perform carries out an instruction if this process runs the conversation, and
// reports whether it does. It is what Options.Elsewhere calls in the other
// process.
func (f *Fleet) Perform(ctx context.Context, key string, op Instruction) (here bool, err error) {
	s, awake := f.roster.liveSession(key)
	if op.Delete && awake {
		return true, f.Delete(ctx, key)
	}
	if op.Interrupt && f.roster.turnOf(key) != nil {
		if _, err = f.endings.interrupt(ctx, key, op.Prompt); errors.Is(err, ErrElsewhere) {
			err = nil
		} else {
			here = true
		}
	}
	if s == nil || op.Interrupt && !here {
		return here, err
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

// resets reports whether a choice is taken back.
func (op *Instruction) resets() bool {
	return op.Model != nil && *op.Model == "" || op.Mode != nil && *op.Mode == ""
}

// askChoices are those of the options as they are now. The CLI may have been started
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

// apply changes the mode and the model of a session whose options have choices of their
// own.
func (op *Instruction) apply(ctx context.Context, s *claude.Session, own choices) error {
	var errs []error
	if op.Model != nil {
		errs = append(errs, s.SetModel(ctx, cmp.Or(*op.Model, own.model)))
	}
	if op.Mode != nil {
		errs = append(errs, s.SetPermissionMode(ctx, own.modeOf(*op.Mode)))
	}
	return errors.Join(errs...)
}

// perform does something to a conversation, wherever its CLI runs. If it runs
// nowhere, there is nothing to do.
func (f *Fleet) perform(ctx context.Context, key string, op Instruction) error {
	here, err := f.Perform(ctx, key, op)
	if here || f.opts.Elsewhere == nil {
		return err
	}
	err = f.opts.Elsewhere(ctx, key, op)
	if errors.Is(err, ErrElsewhere) {
		return nil // nobody has a CLI for it now
	}
	return err
}
