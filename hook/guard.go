package hook

import (
	"context"
	"errors"

	"github.com/claude-agent-go/claude/permission"
)

// Guard makes a [PreToolUse] hook from a permission function, for example one
// from package policy. The function is asked about every tool call that fits
// the matcher, even those that the CLI would allow without asking. Deny
// denies; Allow runs the tool without further questions, unless a rule of the
// CLI denies it; Pass leaves the call to the CLI's own rules and to the
// session's permission callback.
//
// The request holds what a hook receives: the tool, its input, the ids and the
// working directory, but no suggestions. A decision with rules to remember is
// a failure, because a hook cannot change them here.
//
// A Guard is asked at [StageGuard], about the input that hooks have left, and
// again if the input changes after that. It fails closed; set OnFailure to change
// that. A session refuses a Guard whose matcher names no tool.
func Guard(matcher string, fn permission.Func) Hook {
	if fn == nil {
		return PreToolUse(matcher, nil)
	}
	return PreToolUse(matcher, func(ctx context.Context, in *PreToolUseInput) (*PreToolUseOutput, error) {
		if in.ToolName == "" {
			return nil, errors.New("hook: guard: the input names no tool")
		}
		decision, err := fn(ctx, in.Request())
		if err != nil {
			return nil, err
		}
		return guarded(decision)
	}).FailClosed().At(StageGuard)
}

func guarded(d permission.Decision) (*PreToolUseOutput, error) {
	if len(d.Updates()) > 0 {
		return nil, errors.New("hook: guard: a hook cannot remember rules")
	}
	switch d.Behavior() {
	case permission.BehaviorAllow:
		out := AllowTool("")
		if input, changed := d.Input(); changed {
			if input == nil {
				return nil, errors.New("hook: guard: the changed input is nil")
			}
			out.UpdatedInput = input
		}
		return out, nil
	case permission.BehaviorDeny:
		out := DenyTool(d.Message())
		if d.Interrupts() {
			out.Common = StopRun(d.Message())
		}
		return out, nil
	}
	return nil, nil
}
