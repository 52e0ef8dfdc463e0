package claude

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/claude-agent-go/claude/control"
)

// empty reports whether the model is to be told nothing.
func (p SystemPrompt) empty() bool { return !p.Preset && p.Text == "" && p.Sections == nil }

// allowed returns the rules that need no question, with those for skills: the
// CLI asks for every skill that no rule allows.
func (o *Options) allowed() []string {
	rules := slices.Clone(o.AllowedTools)
	add := func(rule string) {
		if !slices.Contains(rules, rule) {
			rules = append(rules, rule)
		}
	}
	if o.AllSkills {
		add("Skill")
	}
	for _, name := range o.Skills {
		add("Skill(" + name + ")")
	}
	return rules
}

// pluginFlag is the flag that loads a plugin.
func pluginFlag(p control.PluginConfig) string {
	if p.SkipMCPDiscovery {
		return "--plugin-dir-no-mcp"
	}
	return "--plugin-dir"
}

// checkAgents reports agents, skills and plugins that the CLI would drop or
// read as something else.
func (o *Options) checkAgents() *OptionError {
	for _, name := range slices.Sorted(maps.Keys(o.Agents)) {
		field := fmt.Sprintf("Agents[%q]", name)
		switch agent := o.Agents[name]; {
		case strings.TrimSpace(name) == "":
			return &OptionError{field, "has no name"}
		case agent.Description == "":
			return &OptionError{field, "has no description: Claude chooses agents by it"}
		case agent.Prompt == "":
			return &OptionError{field, "has no prompt"}
		}
	}
	if o.AllSkills && o.Skills != nil {
		return &OptionError{"AllSkills", "both AllSkills and Skills are set"}
	}
	for _, name := range o.Skills {
		if problem := checkSkill(name); problem != "" {
			return &OptionError{"Skills", fmt.Sprintf("%q %s", name, problem)}
		}
	}
	for i, p := range o.Plugins {
		field := fmt.Sprintf("Plugins[%d]", i)
		switch {
		case p.Type != "" && p.Type != "local":
			return &OptionError{field, fmt.Sprintf("has type %q: only local plugins can be loaded", p.Type)}
		case p.Path == "" || strings.ContainsRune(p.Path, 0):
			return &OptionError{field, "has no usable path"}
		}
	}
	for from, to := range o.ToolAliases {
		if from == "" || to == "" {
			return &OptionError{"ToolAliases", "has an empty name"}
		}
	}
	if o.ProjectConfigRoot != "" && !filepath.IsAbs(o.ProjectConfigRoot) {
		return &OptionError{"ProjectConfigRoot", "is no absolute path"}
	}
	return nil
}

// checkSkill refuses names that would become another permission rule than the
// one for that skill.
func checkSkill(name string) string {
	switch {
	case name == "" || strings.TrimSpace(name) != name:
		return "is empty or padded"
	case strings.ContainsAny(name, "(),"), strings.ContainsFunc(name, unicode.IsControl), strings.ContainsRune(name, '\ufeff'):
		return "contains a character that no skill has"
	case name == "*", strings.HasSuffix(name, ":*"), strings.HasSuffix(name, " *"):
		return "is a wildcard: set AllSkills"
	case strings.HasPrefix(name, "/"):
		return "begins with a slash"
	case strings.Contains(name, `\\`), strings.HasSuffix(name, `\`):
		return "has a backslash that would escape"
	}
	return ""
}
