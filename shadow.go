package claude

import (
	"fmt"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/permission"
)

// What decides before a callback is asked. Where two options can never work
// together the start fails; where one merely leaves less for the other to
// decide, as a rule or a mode does, the log has a warning.

// checkAsking refuses options of which one would silently replace the other.
func (o *Options) checkAsking() *OptionError {
	switch {
	case o.PermissionPromptTool != "" && o.CanUseTool != nil:
		return &OptionError{"PermissionPromptTool", "would be asked instead of CanUseTool: set one of them"}
	case o.PermissionPromptTool == "stdio":
		return &OptionError{"PermissionPromptTool", "stdio is this process: set CanUseTool"}
	case o.CanUseTool != nil && o.hasExtra("--permission-prompt-tool"):
		return &OptionError{"ExtraArgs", "--permission-prompt-tool would be asked instead of CanUseTool"}
	case o.PermissionPrompts == "none" && (o.CanUseTool != nil || o.PermissionPromptTool != ""):
		return &OptionError{"PermissionPrompts", "none keeps CanUseTool and PermissionPromptTool from being asked"}
	case len(o.DialogKinds) > 0 && o.OnUserDialog == nil:
		return &OptionError{"DialogKinds", "needs OnUserDialog"}
	case o.OnUserDialog != nil && len(o.DialogKinds) == 0:
		return &OptionError{"OnUserDialog", "needs DialogKinds: the CLI shows only dialogs of kinds it was told of"}
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

// servedRequests are the requests of the CLI that have options of their own.
var servedRequests = [...]string{"can_use_tool", "hook_callback", "mcp_message", "elicitation", "request_user_dialog"}

// hasExtra reports whether ExtraArgs holds a flag.
func (o *Options) hasExtra(flag string) bool {
	return slices.ContainsFunc(o.ExtraArgs, func(arg string) bool {
		name, _, _ := strings.Cut(arg, "=")
		return name == flag
	})
}

// warn logs what keeps the permission callback from being asked.
func (o *Options) warn() {
	if o.CanUseTool == nil {
		return
	}
	switch {
	case o.PermissionMode == permission.ModeBypassPermissions, o.hasExtra("--dangerously-skip-permissions"):
		o.Logger.Warn("in permission mode bypassPermissions CanUseTool is called only for questions to the user and for safety checks")
	case o.PermissionMode == permission.ModeDontAsk:
		o.Logger.Warn("CanUseTool is never called in permission mode dontAsk: what no rule allows is denied")
	}
	for _, rule := range o.AllowedTools {
		if coversTool(rule) {
			o.Logger.Warn("CanUseTool is never called for a tool that is allowed as a whole", "rule", rule)
		}
	}
}

// coversTool reports whether a rule allows every call of a tool: "Bash",
// "Bash()", "Bash(*)" and "Bash(:*)" are the same.
func coversTool(rule string) bool {
	_, content, narrowed := strings.Cut(rule, "(")
	return !narrowed || slices.Contains([]string{")", "*)", ":*)"}, content)
}
