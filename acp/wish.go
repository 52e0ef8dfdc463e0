package acp

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/permission"
)

// wishes are what an editor asks of a session beyond the protocol, in the _meta of the
// request that opens it, as with the npm adapter. It is a plain value.
type wishes struct {
	system  string   // replaces Claude Code's system prompt
	more    string   // is added to it
	static  bool     // it is the same on all machines
	roots   []string // more directories, if the request names none
	model   string
	effort  claude.Effort
	allowed []string // rules
	dirs    []string

	// What narrows.
	tools    []string // nil: all
	denied   []string // rules
	turns    int
	budget   float64
	sources  []claude.SettingSource // nil: all
	plans    bool                   // begins in the mode that plans
	unbypass bool                   // does not offer the mode that accepts everything
}

// wishesOf reads the _meta of a request. What the npm adapter takes and this package does
// not is an error: it might have been meant to forbid something.
func wishesOf(meta map[string]any) (w wishes, err error) {
	if err := w.prompt(meta["systemPrompt"]); err != nil {
		return w, err
	}
	for _, name := range [...]string{"additionalRoots", "disableBuiltInTools"} {
		if v := meta[name]; v != nil && !w.take(name, v) {
			return w, errorf(schema.ErrorCodeInvalidParams, "_meta.%s is not what it should be", name)
		}
	}
	const path = "_meta.claudeCode.options"
	own, _ := meta["claudeCode"].(map[string]any)
	options, ok := own["options"].(map[string]any)
	if !ok && own["options"] != nil {
		return w, errorf(schema.ErrorCodeInvalidParams, path+" is not an object")
	}
	for _, name := range slices.Sorted(maps.Keys(options)) {
		v := options[name]
		if v == nil || slices.Contains(unused, name) {
			continue
		}
		if !slices.Contains(wished, name) {
			return w, errorf(schema.ErrorCodeInvalidParams, path+".%s is not supported%s", name, instead[name])
		}
		if !w.take(name, v) {
			return w, errorf(schema.ErrorCodeInvalidParams, path+".%s is not what it should be", name)
		}
	}
	return w, nil
}

// The members of _meta.claudeCode.options that are followed, and those that change nothing
// here: the adapter decides these itself, or they only report.
var (
	wished = []string{"additionalDirectories", "allowDangerouslySkipPermissions", "allowedTools", "disallowedTools", "effort",
		"maxBudgetUsd", "maxTurns", "model", "permissionMode", "settingSources", "tools"}
	unused = []string{"abortController", "agentProgressSummaries", "cwd", "debug", "debugFile", "executable", "forwardSubagentText",
		"includeHookEvents", "includePartialMessages", "pathToClaudeCodeExecutable", "promptSuggestions", "stderr"}
	instead = map[string]string{
		"env":        ": set it where the agent is started",
		"mcpServers": ": name the servers in mcpServers of the request",
		"resume":     ": use session/resume",
	}
)

// prompt takes a system prompt: a text of the editor's own, or an addition to Claude
// Code's.
func (w *wishes) prompt(v any) error {
	switch v := v.(type) {
	case nil:
	case string:
		w.system = v
	case map[string]any:
		for name, part := range v {
			ok := true
			switch name {
			case "append":
				w.more, ok = part.(string)
			case "excludeDynamicSections":
				w.static, ok = part.(bool)
			case "type", "preset": // always those of Claude Code
			default:
				ok = false
			}
			if !ok {
				return errorf(schema.ErrorCodeInvalidParams, "_meta.systemPrompt.%s is not supported, or not of its kind", name)
			}
		}
	default:
		return errorf(schema.ErrorCodeInvalidParams, "_meta.systemPrompt is neither a text nor an object with append")
	}
	return nil
}

// take takes a member, and reports whether its value fits.
func (w *wishes) take(name string, v any) (ok bool) {
	switch name {
	case "additionalRoots":
		w.roots, ok = directories(v)
	case "additionalDirectories":
		w.dirs, ok = directories(v)
	case "disableBuiltInTools":
		var off bool
		if off, ok = v.(bool); off {
			w.tools = []string{}
		}
	case "tools": // wins over disableBuiltInTools; the preset has all tools
		preset, isPreset := v.(map[string]any)
		if isPreset {
			w.tools = nil
			return preset["type"] == "preset" && preset["preset"] == "claude_code"
		}
		w.tools, ok = texts(v)
	case "allowedTools":
		w.allowed, ok = texts(v)
	case "disallowedTools":
		w.denied, ok = texts(v)
	case "model":
		w.model, ok = v.(string)
	case "effort":
		var effort string
		effort, ok = v.(string)
		w.effort = claude.Effort(effort)
	case "maxTurns":
		n, isNumber := v.(float64)
		w.turns = int(n)
		ok = isNumber && n >= 1 && n <= 1<<30 && float64(w.turns) == n
	case "maxBudgetUsd":
		w.budget, ok = v.(float64)
		ok = ok && w.budget > 0
	case "settingSources":
		var names []string
		names, ok = texts(v)
		w.sources = []claude.SettingSource{}
		for _, n := range names {
			w.sources = append(w.sources, claude.SettingSource(n))
		}
	case "permissionMode":
		w.plans = v == string(permission.ModePlan)
		ok = w.plans || slices.Contains([]any{"default", "acceptEdits", "auto", "bypassPermissions"}, v)
	case "allowDangerouslySkipPermissions":
		var may bool
		may, ok = v.(bool)
		w.unbypass = ok && !may
	}
	return ok
}

// texts returns a list of texts. It is not nil, even if it is empty.
func texts(v any) (list []string, ok bool) {
	values, ok := v.([]any)
	list = []string{}
	for _, one := range values {
		text, isText := one.(string)
		list, ok = append(list, text), ok && isText
	}
	return list, ok
}

func directories(v any) (list []string, ok bool) {
	list, ok = texts(v)
	return list, ok && !slices.ContainsFunc(list, func(dir string) bool { return !filepath.IsAbs(dir) })
}

// wishes reads what an editor asks of a session of this agent. Rules that allow are refused
// if the agent decides about calls itself: a call that a rule allows is not asked about.
func (l *Local) wishes(meta map[string]any) (wishes, error) {
	w, err := wishesOf(meta)
	if err != nil {
		return w, err
	}
	var own claude.Options
	if l.Options != nil {
		own = *l.Options
	}
	decides := func(h hook.Hook) bool {
		return h.Event == hook.EventPreToolUse || h.Event == hook.EventPermissionRequest
	}
	if len(w.allowed) > 0 && (l.Policy != nil || own.CanUseTool != nil || slices.ContainsFunc(own.Hooks, decides)) {
		return w, errorf(schema.ErrorCodeInvalidParams, "_meta.claudeCode.options.allowedTools: this agent has rules of its own about what may run, and takes none from the editor")
	}
	if w.system != "" && (own.SystemPrompt.Text != "" || own.SystemPrompt.Sections != nil) {
		return w, errorf(schema.ErrorCodeInvalidParams, `_meta.systemPrompt: this agent has a system prompt of its own: send {"append": …} to add to it`)
	}
	return w, nil
}

// apply changes the options of a session. The editor's limits on a session are added to the
// agent's own.
func (w *wishes) apply(o *claude.Options) {
	if w.system != "" {
		o.SystemPrompt.Preset, o.SystemPrompt.Text = false, w.system
	}
	if w.more != "" {
		o.SystemPrompt.Append = strings.TrimPrefix(o.SystemPrompt.Append+"\n\n"+w.more, "\n\n")
	}
	o.SystemPrompt.Static = o.SystemPrompt.Static || w.static
	if w.model != "" {
		o.Model = w.model
	}
	if w.effort != "" {
		o.Effort = w.effort
	}
	o.AllowedTools = slices.Concat(o.AllowedTools, w.allowed)
	o.DisallowedTools = slices.Concat(o.DisallowedTools, w.denied)
	o.AddDirs = slices.Concat(o.AddDirs, w.dirs)
	o.Tools = both(o.Tools, w.tools)
	o.SettingSources = both(o.SettingSources, w.sources)
	if w.turns > 0 && (o.MaxTurns == 0 || w.turns < o.MaxTurns) {
		o.MaxTurns = w.turns
	}
	if w.budget > 0 && (o.MaxBudgetUSD == 0 || w.budget < o.MaxBudgetUSD) {
		o.MaxBudgetUSD = w.budget
	}
	if w.plans {
		o.PermissionMode = permission.ModePlan
	}
	if w.unbypass {
		o.AllowBypassPermissions = false
		if o.PermissionMode == permission.ModeBypassPermissions {
			o.PermissionMode = permission.ModeDefault
		}
	}
}

// both returns the intersection of two lists, where nil contains everything.
func both[T comparable](a, b []T) []T {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return slices.DeleteFunc(slices.Clone(a), func(one T) bool { return !slices.Contains(b, one) })
}

// narrows names a limit on a session, empty if there is none.
func (w *wishes) narrows() string {
	switch {
	case w.tools != nil:
		return "a choice of tools"
	case len(w.denied) > 0:
		return "disallowedTools"
	case w.turns > 0:
		return "maxTurns"
	case w.budget > 0:
		return "maxBudgetUsd"
	case w.sources != nil:
		return "settingSources"
	case w.plans:
		return "permissionMode"
	case w.unbypass:
		return "allowDangerouslySkipPermissions"
	}
	return ""
}

// refuseWishes refuses what a server would not keep to: its conversations run as the
// preset says. Wishes that do not narrow them are ignored.
func refuseWishes(meta map[string]any) error {
	w, err := wishesOf(meta)
	if err != nil {
		return err
	}
	if name := w.narrows(); name != "" {
		return errorf(schema.ErrorCodeInvalidParams, "%s in _meta is not supported here: the preset of the server says what a session may do", name)
	}
	return nil
}
