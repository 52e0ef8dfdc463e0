package acp

import (
	"slices"

	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/permission"
)

// planTool is the tool by which Claude asks to leave plan mode.
const planTool = "ExitPlanMode"

// planExit is an answer that ends the planning: the session continues in a mode.
type planExit struct {
	mode permission.Mode
	id   schema.PermissionOptionID
	name string
}

// planExits are the answers for some modes, from the one that asks most to the one that
// asks nothing. Editors know the ids from other agents.
func planExits(modes []permission.Mode) (exits []planExit) {
	known := []planExit{
		{permission.ModeDefault, "exit-plan-default", "Yes, and ask before edits"},
		{permission.ModeAcceptEdits, "exit-plan-accept-edits", "Yes, and accept edits"},
		{permission.ModeAuto, "exit-plan-auto", "Yes, and let Claude decide what to ask about"},
		{permission.ModeDontAsk, "exit-plan-dont-ask", "Yes, and deny what needs a question"},
		{permission.ModeBypassPermissions, "exit-plan-bypass", "Yes, and bypass permissions"},
	}
	for _, e := range known {
		if slices.Contains(modes, e.mode) {
			exits = append(exits, e)
		}
	}
	for _, m := range modes {
		if !slices.ContainsFunc(known, func(e planExit) bool { return e.mode == m }) {
			exits = append(exits, planExit{m, schema.PermissionOptionID("exit-plan-" + m), "Yes, and change to mode " + string(m)})
		}
	}
	return exits
}

// planOptions returns the answers to a plan. Only the mode that asks before each edit
// counts once.
func planOptions(modes []permission.Mode) (options []schema.PermissionOption) {
	for _, e := range planExits(modes) {
		kind := schema.PermissionOptionKindAllowAlways
		if e.mode == permission.ModeDefault {
			kind = schema.PermissionOptionKindAllowOnce
		}
		options = append(options, schema.PermissionOption{OptionID: e.id, Name: e.name, Kind: kind})
	}
	if !slices.Contains(modes, permission.ModeDefault) {
		options = slices.Insert(options, 0, schema.PermissionOption{OptionID: optionOnce, Name: "Yes", Kind: schema.PermissionOptionKindAllowOnce})
	}
	return append(options, schema.PermissionOption{OptionID: optionReject, Name: "No, keep planning", Kind: schema.PermissionOptionKindRejectOnce})
}

// planMode returns the mode that an answer means, if it was offered.
func planMode(modes []permission.Mode, id schema.PermissionOptionID) (permission.Mode, bool) {
	for _, e := range planExits(modes) {
		if e.id == id {
			return e.mode, true
		}
	}
	return "", false
}

// planModes are the modes that may follow a plan in a session of this machine.
func planModes(bypass bool) []permission.Mode {
	modes := []permission.Mode{permission.ModeDefault, permission.ModeAcceptEdits}
	if bypass {
		modes = append(modes, permission.ModeBypassPermissions)
	}
	return modes
}
