package acp

import (
	"fmt"
	"slices"
	"testing"

	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/serve/api"
)

// TestPlanOptions offers the modes that may follow a plan, from the one that asks most on.
func TestPlanOptions(t *testing.T) {
	for _, c := range []struct {
		modes []permission.Mode
		want  []string // the ids and the kinds
	}{
		{nil, []string{"allow-once allow_once", "reject reject_once"}},
		{[]permission.Mode{"acceptEdits", "default"}, []string{"exit-plan-default allow_once", "exit-plan-accept-edits allow_always", "reject reject_once"}},
		{[]permission.Mode{"bypassPermissions", "auto"}, []string{"allow-once allow_once", "exit-plan-auto allow_always", "exit-plan-bypass allow_always", "reject reject_once"}},
		{[]permission.Mode{"default", "newer"}, []string{"exit-plan-default allow_once", "exit-plan-newer allow_always", "reject reject_once"}},
	} {
		var got []string
		for _, o := range planOptions(c.modes) {
			got = append(got, fmt.Sprintf("%s %s", o.OptionID, o.Kind))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.modes, got, c.want)
		}
	}
}

// TestRemotePlanDecision turns an answer to a plan into the decision with its mode. An
// answer that was not offered denies.
func TestRemotePlanDecision(t *testing.T) {
	plan := &api.Approval{Kind: api.KindPlan, Modes: []string{"default", "acceptEdits"}}
	call := &api.Approval{Kind: api.KindTool}
	for _, c := range []struct {
		q        *api.Approval
		id       schema.PermissionOptionID
		decision api.DecisionKind
		mode     string
	}{
		{plan, "exit-plan-default", api.DecideAllow, "default"},
		{plan, "exit-plan-accept-edits", api.DecideAllow, "acceptEdits"},
		{plan, "exit-plan-bypass", api.DecideDeny, ""},
		{plan, "reject", api.DecideDeny, ""},
		{call, "exit-plan-accept-edits", api.DecideDeny, ""},
		{call, "allow-once", api.DecideAllow, ""},
		{&api.Approval{Kind: api.KindPlan}, "allow-once", api.DecideAllow, ""},
	} {
		d, ok := approvalDecision(c.q, selected(c.id))
		if !ok || d.Decision != c.decision || d.Mode != c.mode {
			t.Errorf("%s to a %s: %+v, %t", c.id, c.q.Kind, d, ok)
		}
	}
}
