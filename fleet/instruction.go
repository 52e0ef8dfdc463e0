package fleet

import (
	"cmp"
	"context"
	"errors"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/permission"
)

// instruction is a change to a running conversation, in this process or, over the Bus, in
// another.
type instruction struct {
	Interrupt bool `json:"interrupt,omitzero"`
	// Prompt is the prompt whose turn is to be interrupted. If that turn is over,
	// nothing is. Empty: whichever turn runs when the instruction arrives.
	Prompt string `json:"prompt,omitzero"`
	// Model and Mode are the choices from now on, nil to keep the current ones. Empty
	// means those of the options of the conversation.
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

// resets reports whether a choice is taken back.
func (op *instruction) resets() bool {
	return op.Model != nil && *op.Model == "" || op.Mode != nil && *op.Mode == ""
}

// apply changes the mode and the model of a session whose options have choices of their
// own.
func (op *instruction) apply(ctx context.Context, s *claude.Session, own choices) error {
	var errs []error
	if op.Model != nil {
		errs = append(errs, s.SetModel(ctx, cmp.Or(*op.Model, own.model)))
	}
	if op.Mode != nil {
		errs = append(errs, s.SetPermissionMode(ctx, own.modeOf(*op.Mode)))
	}
	return errors.Join(errs...)
}
