package page

import (
	"cmp"
	"slices"

	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/serve/api"
)

// control is something that people choose for a conversation: its model or its mode.
type control struct {
	Label, Name string
	Options     []option
}

// option is one of the values of a control. Exactly one of them is selected: a browser
// shows the first of a list without one, whatever is true.
type option struct {
	Value, Text string
	Selected    bool
}

// choicesOf are the choices for a conversation. One without an alternative is left
// out.
func choicesOf(c *api.Conversation, p *api.PresetInfo) []control {
	all := []control{
		{"Model", "model", optionsOf(c.Model, p.Model, p.Models, line)},
		{"Mode", "mode", optionsOf(c.Mode, cmp.Or(p.Mode, string(permission.ModeDefault)), p.Modes, modeName)},
	}
	return slices.DeleteFunc(all, func(one control) bool { return len(one.Options) < 2 })
}

// optionsOf are the preset's own value, under the name of Default, and the others that
// it offers. A value that holds now without being offered is among them: the CLI may
// have changed it, or the preset was changed.
func optionsOf(now, own string, offered []string, name func(string) string) []option {
	text := "Default"
	if own != "" {
		text += " (" + name(own) + ")"
	}
	all := []option{{"", text, now == "" || now == own}}
	for _, value := range append(slices.Clone(offered), now) {
		if value == "" || value == own || slices.ContainsFunc(all, func(o option) bool { return o.Value == value }) {
			continue
		}
		all = append(all, option{value, name(value), value == now})
	}
	return all
}

// modeName returns the everyday name of a permission mode.
func modeName(m string) string {
	names := map[permission.Mode]string{
		permission.ModeDefault: "Ask before acting", permission.ModeAcceptEdits: "Accept edits", permission.ModePlan: "Plan only",
		permission.ModeBypassPermissions: "Bypass permissions",
	}
	return cmp.Or(names[permission.Mode(m)], line(m))
}
