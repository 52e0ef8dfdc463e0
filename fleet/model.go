package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	if err := f.choose(ctx, key, func(r *record) { r.chooseModel(model) }); err != nil {
		return err
	}
	err := f.perform(ctx, key, instruction{Model: &model})
	if !modelRefused(err) {
		return err
	}
	// A choice that was refused must not come into force when the conversation wakes.
	undone := f.choose(ctx, key, func(r *record) { r.refuseModel(model) })
	return errors.Join(fmt.Errorf("claude: fleet: %w: %w", store.ErrInvalid, err), undone)
}

// maxModels is how many names may be on trial at once: each is one that a caller has chosen
// and no CLI has refused yet.
const maxModels = 4

// chooseModel makes a model the chosen one, until a CLI refuses it.
func (r *record) chooseModel(model string) {
	if r.Model == model {
		return
	}
	r.Models = append([]string{r.Model}, r.Models[:min(len(r.Models), maxModels-1)]...)
	r.Model = model
}

// refuseModel takes a model back that a CLI refuses. Another may have been chosen since then,
// and may be refused too: so the refused one is also not what that one gives way to.
func (r *record) refuseModel(model string) {
	r.Models = slices.DeleteFunc(slices.Clone(r.Models), func(m string) bool { return m == model })
	if r.Model != model {
		return
	}
	r.Model = ""
	if len(r.Models) > 0 {
		r.Model, r.Models = r.Models[0], r.Models[1:]
	}
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
