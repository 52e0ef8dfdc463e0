package fleet

import (
	"context"
	"errors"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/permission"
)

// Instruction is something to be done to a conversation that runs. It can be sent to
// the process that runs it as JSON.
type Instruction struct {
	Interrupt bool            `json:"interrupt,omitzero"`
	Model     *string         `json:"model,omitzero"`
	Mode      permission.Mode `json:"mode,omitzero"`
	Delete    bool            `json:"delete,omitzero"`
}

// Perform carries out an instruction if this process runs the conversation, and
// reports whether it does. It is what Options.Elsewhere calls in the other
// process.
func (f *Fleet) Perform(ctx context.Context, key string, op Instruction) (here bool, err error) {
	s, awake := f.liveSession(key)
	if op.Delete && awake {
		return true, f.Delete(ctx, key)
	}
	if s == nil {
		return false, nil
	}
	return true, op.apply(ctx, s)
}

// apply does to a session what it can do to one.
func (op *Instruction) apply(ctx context.Context, s *claude.Session) error {
	var errs []error
	if op.Interrupt {
		_, err := s.Interrupt(ctx)
		errs = append(errs, err)
	}
	if op.Model != nil {
		errs = append(errs, s.SetModel(ctx, *op.Model))
	}
	if op.Mode != "" {
		errs = append(errs, s.SetPermissionMode(ctx, op.Mode))
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
