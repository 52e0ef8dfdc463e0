package serve

import (
	"cmp"
	"slices"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/serve/api"
)

// A plan is allowed with the permission mode that follows it. The CLI takes the mode with
// the answer: chosen for the conversation before that, it would end the planning of a CLI
// whose plan is still open.

// shown shows a question to a user, with the modes that they may choose.
func (as *answers) shown(q *approval.Question, n *note, u api.User) api.Approval {
	a := approvalOf(q, u)
	if a.MayDecide && a.Kind == api.KindPlan {
		a.Modes = as.modesAfter(n, u)
	}
	return a
}

// modesAfter returns the modes that a user may choose to follow a plan: those of the
// preset, except for planning itself. It takes the role that changes the mode at any
// other time.
func (as *answers) modesAfter(n *note, u api.User) []string {
	p := find(as.presets, n.Preset)
	if p == nil || !u.Role.Covers(api.RoleOperator) {
		return nil
	}
	var modes []string
	for _, m := range append([]permission.Mode{cmp.Or(p.Mode, permission.ModeDefault)}, p.Modes...) {
		if m != permission.ModePlan && m != "" && !slices.Contains(modes, string(m)) {
			modes = append(modes, string(m))
		}
	}
	return modes
}

// checkMode refuses a mode that does not follow this question, or is not for this user.
func (as *answers) checkMode(d *api.Decision, q *approval.Question, n *note, u api.User) error {
	switch {
	case kindOf(q.Tool) != api.KindPlan:
		return badRequest.because("a mode is chosen only with the approval of a plan")
	case d.Decision != api.DecideAllow:
		return badRequest.because("a mode is chosen only if the plan is allowed")
	}
	if err := need(u, api.RoleOperator); err != nil {
		return err
	}
	if modes := as.modesAfter(n, u); !slices.Contains(modes, d.Mode) {
		return modeRefused.because("after a plan, preset %q offers %s", n.Preset, offered(modes))
	}
	return nil
}
