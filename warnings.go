package claude

import (
	"fmt"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/permission"
)

// What decides before a callback is asked. Where two options can never work
// together the start fails. Where a mode leaves next to nothing for the callback
// to decide the log has a warning, where rules leave less a line at debug level.

// checkAsking refuses options of which one would silently replace the other.
func (o *Options) checkAsking() *OptionError {
	switch {
	case o.PermissionPromptTool != "" && o.CanUseTool != nil:
		return &OptionError{"PermissionPromptTool", "would be asked instead of CanUseTool: set one of them"}
	case o.PermissionPromptTool == "stdio":
		return &OptionError{"PermissionPromptTool", "stdio is this process: set CanUseTool"}
	case o.CanUseTool != nil && o.hasExtra("--permission-prompt-tool"):
		return &OptionError{"ExtraArgs", "--permission-prompt-tool would be asked instead of CanUseTool"}
	case o.PermissionPrompts == PermissionPromptsNone && (o.CanUseTool != nil || o.PermissionPromptTool != ""):
		return &OptionError{"PermissionPrompts", "none keeps CanUseTool and PermissionPromptTool from being asked"}
	case len(o.DialogKinds) > 0 && o.OnUserDialog == nil:
		return &OptionError{"DialogKinds", "needs OnUserDialog"}
	case o.OnUserDialog != nil && len(o.DialogKinds) == 0:
		return &OptionError{"OnUserDialog", "needs DialogKinds: the CLI shows only dialogs of the kinds it is given"}
	}
	for subtype, f := range o.Requests {
		switch {
		case f == nil:
			return &OptionError{fmt.Sprintf("Requests[%q]", subtype), "has no function"}
		case slices.Contains(servedRequests[:], subtype):
			return &OptionError{fmt.Sprintf("Requests[%q]", subtype), "is answered by this package"}
		}
	}
	for i, kind := range o.DialogKinds {
		if kind == "" {
			return &OptionError{"DialogKinds", fmt.Sprintf("entry %d is empty", i)}
		}
	}
	return nil
}

// checkRules refuses rules that the CLI would misread. It takes them as one
// list: a parenthesis that is missing swallows the rules that follow.
func (o *Options) checkRules() *OptionError {
	for _, list := range []struct {
		field string
		rules []string
	}{{"AllowedTools", o.AllowedTools}, {"DisallowedTools", o.DisallowedTools}} {
		for _, rule := range list.rules {
			parsed, err := permission.ParseRule(rule)
			if err != nil {
				return &OptionError{list.field, err.Error()}
			}
			if right := otherCase(parsed.ToolName); right != "" {
				return &OptionError{list.field, fmt.Sprintf("the CLI never applies %q: the tool is %s", rule, right)}
			}
			if why := neverApplies(parsed); why != "" {
				return &OptionError{list.field, fmt.Sprintf("the CLI never applies %q: %s", rule, why)}
			}
			if cut(rule) {
				return &OptionError{list.field, fmt.Sprintf("the CLI would cut %q in two: use a pattern in place of the parentheses", rule)}
			}
		}
	}
	for _, name := range o.Skills {
		if _, err := permission.ParseRule("Skill(" + name + ")"); err != nil || strings.ContainsAny(name, "()") {
			return &OptionError{"Skills", fmt.Sprintf("%q is not the name of a skill", name)}
		}
	}
	return nil
}

// neverApplies says why the CLI takes a rule and never applies it, "" if it does
// apply it. The forms were tried on CLI 2.1.325.
func neverApplies(r permission.Rule) string {
	content := r.RuleContent
	if content == "" || content == "*" || content == "**" {
		return ""
	}
	switch r.ToolName {
	case "Bash":
		switch {
		case strings.TrimSpace(content) == "" || content == ":*":
			return "write Bash for all commands"
		case strings.HasSuffix(content, ":") || strings.Contains(strings.TrimSuffix(content, ":*"), ":* "):
			return "a prefix ends with :*"
		case len(content) > 1 && content[0] == '"' && content[len(content)-1] == '"':
			return "a command stands there without quotes"
		}
	case "Read", "Edit":
		switch {
		case strings.HasSuffix(content, ":*"):
			return "a path has no :*"
		case strings.HasPrefix(content, "!"):
			return "a pattern cannot be an exception"
		}
	case "Write", "MultiEdit", "NotebookEdit":
		return "paths go into Edit(…), for all tools that write"
	case "Agent", "Task":
		if strings.Contains(content, "*") {
			return "an agent has no pattern"
		}
	case "WebFetch":
		if !strings.HasPrefix(content, "domain:") {
			return "want WebFetch(domain:host)"
		}
	}
	return ""
}

// cut reports whether the CLI cuts a rule of its command line: at a comma or a
// blank that follows a closing parenthesis, also one behind a backslash, with
// no opening one in between.
func cut(rule string) bool {
	inside := false
	for _, c := range strings.TrimSpace(rule) {
		switch c {
		case '(':
			inside = true
		case ')':
			inside = false
		case ',', ' ', '\t', '\n':
			if !inside {
				return true
			}
		}
	}
	return false
}

// servedRequests are the requests of the CLI that have options of their own.
var servedRequests = [...]string{"can_use_tool", "hook_callback", "mcp_message", "elicitation", "request_user_dialog"}

// hasExtra reports whether ExtraArgs holds a flag.
func (o *Options) hasExtra(flag string) bool {
	return slices.ContainsFunc(o.ExtraArgs, func(arg string) bool {
		name, _, _ := strings.Cut(arg, "=")
		return name == flag
	})
}

// extra returns the values that ExtraArgs gives to a flag, in both forms.
func (o *Options) extra(flag string) []string {
	var values []string
	for i, arg := range o.ExtraArgs {
		name, value, joined := strings.Cut(arg, "=")
		switch {
		case name != flag:
		case joined:
			values = append(values, value)
		case i+1 < len(o.ExtraArgs):
			values = append(values, o.ExtraArgs[i+1])
		}
	}
	return values
}

// warn logs what keeps the permission callback from being asked, in one line.
func (o *Options) warn() {
	if o.CanUseTool == nil {
		return
	}
	modes := append(o.extra("--permission-mode"), string(o.PermissionMode))
	switch {
	case slices.Contains(modes, string(permission.ModeBypassPermissions)), o.hasExtra("--dangerously-skip-permissions"):
		o.Logger.Warn("in permission mode bypassPermissions CanUseTool is called only for questions to the user and for safety checks")
	case slices.Contains(modes, string(permission.ModeDontAsk)):
		o.Logger.Warn("CanUseTool is never called in permission mode dontAsk: what no rule allows is denied")
	}
	rules := slices.Clone(o.AllowedTools)
	for _, list := range append(o.extra("--allowedTools"), o.extra("--allowed-tools")...) {
		rules = append(rules, strings.FieldsFunc(list, func(c rune) bool { return c == ',' || c == ' ' })...)
	}
	rules = slices.DeleteFunc(rules, func(rule string) bool { return !coversTool(rule) })
	if len(rules) > 0 { // rules beside a callback are the common set-up: no warning
		o.Logger.Debug("CanUseTool is not called for tools that are allowed as a whole", "rules", rules)
	}
}

// coversTool reports whether a rule allows every call of a tool: "Bash",
// "Bash()" and "Bash(*)" are the same. The CLI never applies "Bash(:*)".
func coversTool(rule string) bool {
	parsed, err := permission.ParseRule(rule)
	return err == nil && parsed.RuleContent == ""
}
