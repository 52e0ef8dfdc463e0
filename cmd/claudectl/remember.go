package main

import (
	"strings"

	"github.com/claude-agent-go/claude/permission"
)

// updateText describes what an update of the permissions would change, and for
// how long, as a continuation of "would".
func updateText(u permission.Update) string {
	what := updateWhat(u)
	if what == "" {
		return "change the permissions: " + string(u.Raw)
	}
	if where, ok := destinations[u.Destination]; ok {
		return what + ", " + where
	}
	return what + " (" + string(u.Destination) + ")"
}

func updateWhat(u permission.Update) string {
	var rules []string
	for _, rule := range u.Rules {
		rules = append(rules, rule.String())
	}
	list := strings.Join(rules, ", ")
	dirs := strings.Join(u.Directories, ", ")
	switch u.Type {
	case permission.UpdateAddRules:
		return behaviours[u.Behavior] + " " + list
	case permission.UpdateReplaceRules:
		return behaviours[u.Behavior] + " " + list + " and forget all other such rules"
	case permission.UpdateRemoveRules:
		return "take away the rule to " + behaviours[u.Behavior] + " " + list
	case permission.UpdateSetMode:
		if text, ok := modes[u.Mode]; ok {
			return text
		}
		return "switch to the permission mode " + string(u.Mode)
	case permission.UpdateAddDirectories:
		return "let tools work in " + dirs
	case permission.UpdateRemoveDirectories:
		return "keep tools out of " + dirs
	}
	return ""
}

// behaviours describes the effects of a rule on the calls it matches.
var behaviours = map[permission.Behavior]string{
	permission.BehaviorAllow: "allow",
	permission.BehaviorDeny:  "deny",
	permission.BehaviorAsk:   "ask about",
}

// modes describes the permission modes that a CLI suggests.
var modes = map[permission.Mode]string{
	permission.ModeAcceptEdits:       "allow all edits of files",
	permission.ModeBypassPermissions: "allow everything",
}

// destinations describes the scope and duration of an update.
var destinations = map[permission.Destination]string{
	permission.ToSession:         "until this session ends",
	permission.ToCLIArg:          "until this session ends",
	permission.ToLocalSettings:   "for you, in this project (.claude/settings.local.json)",
	permission.ToProjectSettings: "for everyone in this project (.claude/settings.json)",
	permission.ToUserSettings:    "for you, in every project (~/.claude/settings.json)",
}
