package host

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// editTools are the tools that mode acceptEdits allows.
var editTools = []string{"Write", "Edit", "MultiEdit", "NotebookEdit"}

// askingTools are questions themselves: no rule and no mode answers them.
var askingTools = []string{"AskUserQuestion", "ExitPlanMode"}

// permit decides on a call: rules and mode first, then the client. The refusal
// is the text that the model reads if the call may not run, empty if it may. The
// error is that of a turn that is over.
func (e execution) permit(ctx context.Context, pre *HookOutcome) (refusal string, err error) {
	t, c := e.t, e.c
	switch e.local(ctx, pre) {
	case permission.BehaviorAllow:
		return "", nil
	case permission.BehaviorDeny:
		return "Permission to use " + c.Name + " is denied by a rule.", nil
	}
	req := c.question(pre)
	fill(&req.AgentID, t.Subagent().ID)
	if folder, is := t.s.rights.outside(c); is && pre.Decision != hook.PermissionAsk {
		askOutside(req, folder, t.s.rights.current())
	}
	if t.s.rights.current() == permission.ModeDontAsk || !t.s.opts.PromptTool && !t.s.hooks.listens(hook.EventPermissionRequest, c.Name) {
		m := unasked(req, t.s.rights.current())
		return m.Message, t.s.emit(m)
	}
	d, err := t.Ask(ctx, req)
	if errors.Is(context.Cause(ctx), errInterrupted) {
		e.denied() // a question that an interruption ends counts as refused
		return "", errInterrupted
	}
	if err != nil {
		return "Tool permission request failed: " + err.Error(), nil
	}
	if d.Behavior() != permission.BehaviorAllow {
		if d.Interrupts() {
			e.denied()
			t.cancel(errInterrupted)
			return "", errInterrupted
		}
		return d.Message(), nil
	}
	if input, changed := d.Input(); changed {
		if raw, ok := input.(json.RawMessage); ok {
			c.input = raw
		}
	}
	t.s.rights.apply(d.Updates())
	return "", nil
}

// local decides without the client as far as it can; ask means that it cannot.
func (e execution) local(ctx context.Context, pre *HookOutcome) permission.Behavior {
	t, c := e.t, e.c
	rule, mode := t.s.rights.ruled(ctx, c), t.s.rights.current()
	switch {
	case rule == permission.BehaviorDeny:
		return permission.BehaviorDeny
	case rule == permission.BehaviorAsk, pre.Decision == hook.PermissionAsk, slices.Contains(askingTools, c.Name):
		return permission.BehaviorAsk // also of what a hook allows
	case pre.Decision == hook.PermissionAllow:
		return permission.BehaviorAllow
	case rule != "":
		return rule
	case mode == permission.ModeBypassPermissions:
		return permission.BehaviorAllow
	}
	_, outside := t.s.rights.outside(c)
	if !outside && (c.ReadOnly || mode == permission.ModeAcceptEdits && slices.Contains(editTools, c.Name)) {
		return permission.BehaviorAllow
	}
	return permission.BehaviorAsk
}

// readTools are the tools that read a file or a folder.
var readTools = []string{"Read", "Glob", "Grep", "LS"}

// unasked refuses a call in a session without a user to ask, as the CLI does: the
// client and the model read the same words.
func unasked(req *permission.Request, mode permission.Mode) *message.PermissionDenied {
	m := &message.PermissionDenied{
		ToolName: req.ToolName, ToolUseID: req.ToolUseID, AgentID: req.AgentID,
		DecisionReasonType: req.ReasonType, DecisionReason: req.Reason,
	}
	what, path := "use "+req.ToolName, argument(req.Input)
	switch {
	case path != "" && slices.Contains(editTools, req.ToolName):
		what = "write to " + path
	case path != "" && slices.Contains(readTools, req.ToolName):
		what = "read from " + path
	}
	m.Message = "Claude requested permissions to " + what + ", but you haven't granted it yet."
	switch {
	case mode == permission.ModeDontAsk:
		m.Message = "Permission to use " + req.ToolName + " has been denied because the session runs in mode " + string(mode) + "."
		m.DecisionReasonType, m.DecisionReason = "mode", ""
	case req.ToolName == "Bash":
		m.Message = "This command requires approval"
		fill(&m.DecisionReasonType, "other")
		fill(&m.DecisionReason, m.Message)
	}
	return m
}

// question returns the permission request that the client gets for a call.
func (c *Call) question(pre *HookOutcome) *permission.Request {
	req := c.Request
	req.ToolName, req.Input, req.ToolUseID = c.Name, c.input, c.ID
	fill(&req.DisplayName, displayName(c.Name))
	if pre.Decision == hook.PermissionAsk {
		req.Reason, req.ReasonType = pre.DecisionReason, "hook"
		// The CLI does not keep the client's hooks apart from those of settings.
		req.ReasonHookEvent, req.ReasonHookSource = string(hook.EventPreToolUse), "settings"
	} else if req.Suggestions == nil {
		req.Suggestions = suggestions(c)
	}
	if server, _, ok := splitMCP(c.Name); ok && req.MCPServer == nil {
		req.MCPServer = &permission.ToolServer{Name: server, Source: "sdk"}
	}
	req.RequiresUserInteraction = req.RequiresUserInteraction || slices.Contains(askingTools, c.Name)
	return &req
}

// displayName is a tool's name for people: of an MCP tool without its server.
func displayName(name string) string {
	_, tool, ok := splitMCP(name)
	if !ok || tool == "" {
		return name
	}
	return strings.ToUpper(tool[:1]) + tool[1:]
}

// suggestions are the rules that the CLI offers so that it need not ask again.
func suggestions(c *Call) []permission.Update {
	switch {
	case slices.Contains(editTools, c.Name):
		return []permission.Update{permission.SetMode(permission.ModeAcceptEdits, permission.ToSession)}
	case slices.Contains(askingTools, c.Name):
		return nil
	case c.Name == "Bash":
		return []permission.Update{permission.AllowRule(c.Name, argument(c.input), permission.ToLocalSettings)}
	}
	return []permission.Update{permission.AllowRule(c.Name, "", permission.ToLocalSettings)}
}

// invalidDecision is the text that the model reads if the client's answer is not
// valid.
const invalidDecision = "The client's permission callback returned an invalid result: " +
	"it must allow, or deny with a message."

// readDecision checks a reply as the CLI does: anything but a decision denies, as
// does a denial without a message.
func readDecision(payload json.RawMessage) permission.Decision {
	var d permission.Decision
	var f struct {
		Message any `json:"message"`
	}
	err := jsonx.Unmarshal(payload, &d)
	if err == nil {
		err = jsonx.Unmarshal(payload, &f)
	}
	if _, text := f.Message.(string); err != nil || d.Behavior() == "" || d.Behavior() == permission.BehaviorDeny && !text {
		return permission.Deny(invalidDecision)
	}
	return d
}

// splitMCP splits the name of an MCP tool.
func splitMCP(name string) (server, tool string, ok bool) {
	rest, ok := strings.CutPrefix(name, "mcp__")
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, "__")
}
