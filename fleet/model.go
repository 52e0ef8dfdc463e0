package fleet

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/store"
)

// SetModel chooses the model of a conversation, from its next turn on. Empty means the
// model of its options. A name that no model can have, or that the CLI of the
// conversation refuses as a near miss of one that it lists, is not kept: the error
// matches [store.ErrInvalid]. If the CLI is just starting, SetModel cannot wait for its
// list: a name that it then refuses is logged, and the model before it stays.
func (f *Fleet) SetModel(ctx context.Context, key, model string) error {
	if problem := modelProblem(model); problem != "" {
		return fmt.Errorf("claude: fleet: %w: %s", store.ErrInvalid, problem)
	}
	var before string
	if err := f.choose(ctx, key, func(r *record) { before, r.Model = r.Model, model }); err != nil {
		return err
	}
	err := f.perform(ctx, key, Instruction{Model: &model})
	if !modelRefused(err) {
		return err
	}
	// A choice that was refused must not come into force when the conversation wakes.
	undone := f.choose(ctx, key, func(r *record) {
		if r.Model == model {
			r.Model = before
		}
	})
	return errors.Join(fmt.Errorf("claude: fleet: %w: %w", store.ErrInvalid, err), undone)
}

// modelRefused reports whether a session has refused the name of a model.
func modelRefused(err error) bool {
	option, refused := errors.AsType[*claude.OptionError](err)
	return refused && option.Field == "Model"
}

// modelProblem explains why no model can have a name; "" if one can.
func modelProblem(name string) string {
	if strings.ContainsFunc(name, func(c rune) bool { return unicode.IsControl(c) || unicode.IsSpace(c) }) {
		return fmt.Sprintf("the model %q has a blank or a control character in its name", name)
	}
	return ""
}
