package page

import (
	"cmp"
	"slices"

	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/serve/api"
)

// control lets people choose a setting of a conversation: its model or its mode.
type control struct {
	Label, Name string
	Options     []option
}

// option is a value of a control. Exactly one of them is selected: otherwise a browser
// would show the first, whatever the setting really is.
type option struct {
	Value, Text string
	Selected    bool
}

// choicesOf returns the choices for a conversation, without those that have no
// alternative.
func choicesOf(c *api.Conversation, p *api.PresetInfo) []control {
	all := []control{
		{"Model", "model", optionsOf(c.Model, p.Model, p.Models, line)},
		{"Mode", "mode", optionsOf(c.Mode, cmp.Or(p.Mode, string(permission.ModeDefault)), p.Modes, modeName)},
	}
	return slices.DeleteFunc(all, func(one control) bool { return len(one.Options) < 2 })
}

// optionsOf returns the preset's own value, under the name of Default, and the others
// that it offers. It includes a current value that is not offered: the CLI or the
// preset may have changed since.
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
