package acp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/acp/internal/translate"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/permission"
)

// The answers that an editor offers.
const (
	optionOnce   = "allow-once"
	optionAlways = "allow-with-updates"
	optionReject = "reject"
)

// asker puts questions of the CLI before the person at the editor.
type asker struct {
	editor  *editor
	session schema.SessionID
	shown   translate.Shown
	first   permission.Func // asked before; nil: none
	bypass  bool            // bypassPermissions may be chosen
	kept    *keeper
}

// decide is the permission callback of a session. Whatever does not end with a
// clear answer denies.
func (a asker) decide(ctx context.Context, req *permission.Request) (permission.Decision, error) {
	if a.first != nil {
		d, err := a.first(ctx, req)
		if err != nil || d.Behavior() != "" {
			return d, err
		}
	}
	return a.kept.decide(ctx, req, func(ctx context.Context) (permission.Decision, error) { return a.person(ctx, req) })
}

// person puts a question before the person at the editor.
func (a asker) person(ctx context.Context, req *permission.Request) (permission.Decision, error) {
	if req.ToolName == "AskUserQuestion" {
		return a.questions(ctx, req)
	}
	outcome, err := a.editor.RequestPermission(ctx, &schema.RequestPermissionRequest{
		SessionID: a.session, ToolCall: a.call(req), Options: permissionOptions(req, a.bypass),
	})
	if err != nil {
		return permission.Decision{}, fmt.Errorf("the editor did not answer: %w", err)
	}
	return decisionOf(req, outcome, a.bypass), nil
}

func (a asker) call(req *permission.Request) schema.ToolCallUpdate {
	up := a.shown.Update(req.ToolUseID, req.ToolName, req.Input)
	if req.BlockedPath != "" && up.Locations == nil {
		up.Locations = []schema.ToolCallLocation{{Path: req.BlockedPath}}
	}
	if req.MCPServer != nil {
		up.Meta = map[string]any{"claudeCode": map[string]any{"toolName": req.ToolName, "mcpServer": map[string]any{"name": req.MCPServer.Name, "source": req.MCPServer.Source}}}
	}
	return up
}

// permissionOptions returns the answers to a question about a call.
func permissionOptions(req *permission.Request, bypass bool) []schema.PermissionOption {
	if req.ToolName == planTool {
		return planOptions(planModes(bypass))
	}
	options := []schema.PermissionOption{{OptionID: optionOnce, Name: "Yes", Kind: schema.PermissionOptionKindAllowOnce}}
	if u, ok := always(req); ok {
		options = append(options, schema.PermissionOption{OptionID: optionAlways, Name: alwaysName(u), Kind: schema.PermissionOptionKindAllowAlways})
	}
	return append(options, schema.PermissionOption{OptionID: optionReject, Name: "No", Kind: schema.PermissionOptionKindRejectOnce})
}

// always returns the suggestion that "always" stands for. The CLI suggests
// several ways to answer a question for good, from a rule about one command to a
// mode that accepts all edits; a person who is shown one of them must not get the
// others. A rule that cannot be named in full is not offered.
func always(req *permission.Request) (u permission.Update, ok bool) {
	if req.SuppressAlwaysAllow || req.ServerPolicyAskOnly && req.MCPServer != nil {
		return permission.Update{}, false
	}
	for _, s := range req.Suggestions {
		switch {
		case alwaysName(s) == "":
		case s.Type == permission.UpdateAddRules:
			return s, true
		case !ok:
			u, ok = s, true
		}
	}
	return u, ok
}

// alwaysName describes all that a suggestion would allow, and whether it outlives
// the session. It is empty for one that must not be offered.
func alwaysName(u permission.Update) string {
	var name string
	switch {
	case u.Type == permission.UpdateAddRules && u.Behavior == permission.BehaviorAllow && len(u.Rules) > 0:
		var rules []string
		for _, r := range u.Rules {
			rules = append(rules, r.String())
		}
		name = "Yes, and don't ask again for " + strings.Join(rules, ", ")
	case u.Type == permission.UpdateAddDirectories && len(u.Directories) > 0:
		name = "Yes, and allow " + strings.Join(u.Directories, ", ") + " from now on"
	case u.Type == permission.UpdateSetMode && u.Mode == permission.ModeAcceptEdits && u.Destination == permission.ToSession:
		name = "Yes, and accept all edits during this session"
	case u.Type == permission.UpdateSetMode && u.Mode == permission.ModeAcceptEdits:
		name = "Yes, and accept all edits"
	case u.Type == permission.UpdateSetMode && u.Mode != "" && u.Mode != permission.ModeBypassPermissions:
		name = fmt.Sprintf("Yes, and change to mode %s", u.Mode)
	default:
		return ""
	}
	if u.Destination != permission.ToSession {
		name += " (saved)"
	}
	return name
}

// decisionOf returns the decision that an answer means.
func decisionOf(req *permission.Request, outcome schema.RequestPermissionOutcome, bypass bool) permission.Decision {
	if outcome.Cancelled != nil {
		return permission.DenyAndStop("The turn was cancelled.")
	}
	if outcome.Selected == nil {
		return permission.Deny("The editor gave no answer that can be read.")
	}
	switch id := outcome.Selected.OptionID; {
	case id == optionReject:
		return permission.Deny("The user refused this call.")
	case req.ToolName == planTool:
		if mode, ok := planMode(planModes(bypass), id); ok {
			return permission.Allow(permission.SetMode(mode, permission.ToSession))
		}
	case id == optionOnce:
		return permission.Allow()
	case id == optionAlways:
		if u, ok := always(req); ok {
			return permission.Allow(u)
		}
	}
	return permission.Deny("The editor chose an answer that was not offered.")
}

var errUnanswered = errors.New("the user did not answer")

// questions asks what the model wants to know: in a form if the editor has them,
// else one by one.
func (a asker) questions(ctx context.Context, req *permission.Request) (permission.Decision, error) {
	list, err := req.Questions()
	if err != nil {
		return permission.Decision{}, err
	}
	answers := req.Answers()
	if elicits(a.editor) {
		resp, err := a.editor.Elicit(ctx, questionForm(a.session, req, list))
		if err == nil {
			err = readForm(answers, list, resp)
		}
		if errors.Is(err, errUnanswered) {
			return permission.Deny("The user did not answer the questions."), nil
		}
		if err != nil {
			return permission.Decision{}, err
		}
		return answers.Decision()
	}
	for i, q := range list {
		var options []schema.PermissionOption
		for n, o := range q.Options {
			options = append(options, schema.PermissionOption{OptionID: schema.PermissionOptionID(fmt.Sprintf("answer-%d", n)), Name: o.Label, Kind: schema.PermissionOptionKindAllowOnce})
		}
		options = append(options, schema.PermissionOption{OptionID: optionReject, Name: "Don't answer", Kind: schema.PermissionOptionKindRejectOnce})
		call := a.call(req)
		call.Title = &q.Text
		outcome, err := a.editor.RequestPermission(ctx, &schema.RequestPermissionRequest{SessionID: a.session, ToolCall: call, Options: options})
		switch {
		case err != nil:
			return permission.Decision{}, err
		case outcome.Cancelled != nil:
			return permission.DenyAndStop("The turn was cancelled."), nil
		case outcome.Selected == nil:
			return permission.Deny("The user did not answer the questions."), nil
		}
		var n int
		if _, err := fmt.Sscanf(string(outcome.Selected.OptionID), "answer-%d", &n); err != nil || n < 0 || n >= len(q.Options) {
			return permission.Deny("The user did not answer the questions."), nil
		}
		answers.ChooseAt(i, n)
	}
	return answers.Decision()
}

// questionForm is a form with a choice and a free text for each question.
func questionForm(session schema.SessionID, req *permission.Request, list []permission.Question) *schema.CreateElicitationRequest {
	properties := make(map[string]schema.ElicitationPropertySchema)
	for i, q := range list {
		var options []schema.EnumOption
		for _, o := range q.Options {
			options = append(options, schema.EnumOption{Const: o.Label, Title: o.Label, Description: &o.Description})
		}
		title := orName(q.Header, q.Text)
		field := schema.ElicitationPropertySchema{String: &schema.StringPropertySchema{Title: &title, Description: &q.Text, OneOf: options}}
		if q.MultiSelect {
			field = schema.ElicitationPropertySchema{Array: &schema.MultiSelectPropertySchema{Title: &title, Description: &q.Text,
				Items: schema.MultiSelectItems{Titled: &schema.TitledMultiSelectItems{AnyOf: options}}}}
		}
		properties[fmt.Sprintf("question_%d", i)] = field
		properties[fmt.Sprintf("question_%d_custom", i)] = schema.ElicitationPropertySchema{String: &schema.StringPropertySchema{
			Title: new("Other"), Description: new("Your own answer, instead of those above")}}
	}
	message := "Claude has a question."
	if len(list) > 0 {
		message = list[0].Text
	}
	return &schema.CreateElicitationRequest{
		Mode: "form", SessionID: session, ToolCallID: schema.ToolCallID(req.ToolUseID), Message: message,
		RequestedSchema: schema.ElicitationSchema{Type: "object", Properties: properties},
	}
}

// readForm takes the answers of a form. A text of one's own wins.
func readForm(answers *permission.Answers, list []permission.Question, resp *schema.CreateElicitationResponse) error {
	if resp.Action != "accept" {
		return errUnanswered
	}
	for i := range list {
		value := resp.Content[fmt.Sprintf("question_%d", i)]
		var labels []string
		switch own := jsonx.Text(resp.Content[fmt.Sprintf("question_%d_custom", i)]); {
		case own != "":
			answers.WriteAt(i, own)
		case jsonx.Text(value) != "":
			answers.ChooseAt(i, optionsOf(&list[i], jsonx.Text(value))...)
		case jsonx.Unmarshal(value, &labels) == nil && len(labels) > 0:
			answers.ChooseAt(i, optionsOf(&list[i], labels...)...)
		default:
			return errUnanswered
		}
	}
	return nil
}

// optionsOf returns the options with these labels, by their index. Two questions may
// have the same text, so it does not identify one. A label that was not offered is -1,
// which no answer takes.
func optionsOf(q *permission.Question, labels ...string) (options []int) {
	for _, label := range labels {
		options = append(options, slices.IndexFunc(q.Options, func(o permission.Option) bool { return o.Label == label }))
	}
	return options
}
