package hook

import (
	"encoding/json"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/permission"
)

// PermissionDecision is a hook's decision before something happens.
type PermissionDecision string

// The decisions.
const (
	// PermissionAllow allows it without asking.
	PermissionAllow PermissionDecision = "allow"
	// PermissionDeny denies it.
	PermissionDeny PermissionDecision = "deny"
	// PermissionAsk asks the user, even if a rule would allow.
	PermissionAsk PermissionDecision = "ask"
	// PermissionDefer ends the turn and leaves the tool call to the program,
	// in the result message. Only tool calls can be deferred.
	PermissionDefer PermissionDecision = "defer"
)

// PreToolUseOutput is the reply to [PreToolUse]. Without a Decision the CLI's
// own rules decide.
type PreToolUseOutput struct {
	Common         `json:"-"`
	Decision       PermissionDecision
	DecisionReason string
	// UpdatedInput replaces the tool's input; nil leaves it. It is encoded by
	// the rules of encoding/json and must be an object.
	UpdatedInput any
	// AdditionalContext is given to the model.
	AdditionalContext string
}

// DenyTool denies the tool call; the model reads the reason.
func DenyTool(reason string) *PreToolUseOutput {
	return &PreToolUseOutput{Decision: PermissionDeny, DecisionReason: reason}
}

// AllowTool lets the tool call run without asking.
func AllowTool(reason string) *PreToolUseOutput {
	return &PreToolUseOutput{Decision: PermissionAllow, DecisionReason: reason}
}

// AskTool asks the user about the tool call.
func AskTool(reason string) *PreToolUseOutput {
	return &PreToolUseOutput{Decision: PermissionAsk, DecisionReason: reason}
}

// DeferTool ends the turn and leaves the tool call to the program.
func DeferTool() *PreToolUseOutput {
	return &PreToolUseOutput{Decision: PermissionDefer}
}

// RewriteInput replaces the tool's input. The CLI's rules then decide about
// the new input; set Decision to allow it at once. That needs CLI 2.0.77, or
// 2.1.325 without a decision: an older CLI would run the tool with the
// original input. A session prevents that: the hook fails, and the tool is
// blocked unless the hook fails open.
func RewriteInput(input any) *PreToolUseOutput {
	return &PreToolUseOutput{UpdatedInput: input}
}

func (o *PreToolUseOutput) parts() (Common, any, error) {
	f := struct {
		Decision          PermissionDecision `json:"permissionDecision,omitzero"`
		DecisionReason    string             `json:"permissionDecisionReason,omitzero"`
		UpdatedInput      json.RawMessage    `json:"updatedInput,omitzero"`
		AdditionalContext string             `json:"additionalContext,omitzero"`
	}{o.Decision, o.DecisionReason, nil, o.AdditionalContext}
	if o.UpdatedInput == nil {
		return o.Common, f, nil
	}
	var err error
	if f.UpdatedInput, err = jsonx.MarshalUser(o.UpdatedInput); err == nil && !isObject(f.UpdatedInput) {
		err = errNotObject
	}
	return o.Common, f, err
}

// PostToolUseOutput is the reply to [PostToolUse]. Blocking gives the reason to
// the model as feedback; the tool has already run.
type PostToolUseOutput struct {
	Common `json:"-"`
	// AdditionalContext is given to the model.
	AdditionalContext string
	// ClassifierContext is given to the classifier of auto mode.
	ClassifierContext string
	// UpdatedToolOutput replaces the tool's output; nil leaves it. Both
	// outputs are encoded by the rules of encoding/json.
	UpdatedToolOutput any
	// UpdatedMCPToolOutput is the older form, for MCP tools only.
	UpdatedMCPToolOutput any
}

func (o *PostToolUseOutput) parts() (Common, any, error) {
	f := struct {
		AdditionalContext    string          `json:"additionalContext,omitzero"`
		ClassifierContext    string          `json:"classifierContext,omitzero"`
		UpdatedToolOutput    json.RawMessage `json:"updatedToolOutput,omitzero"`
		UpdatedMCPToolOutput json.RawMessage `json:"updatedMCPToolOutput,omitzero"`
	}{o.AdditionalContext, o.ClassifierContext, nil, nil}
	var err error
	if o.UpdatedToolOutput != nil {
		if f.UpdatedToolOutput, err = jsonx.MarshalUser(o.UpdatedToolOutput); err != nil {
			return o.Common, nil, err
		}
	}
	if o.UpdatedMCPToolOutput != nil {
		f.UpdatedMCPToolOutput, err = jsonx.MarshalUser(o.UpdatedMCPToolOutput)
	}
	return o.Common, f, err
}

// PermissionRequestOutput is the reply to [PermissionRequest].
// [permission.Pass] leaves the question to others.
type PermissionRequestOutput struct {
	Common   `json:"-"`
	Decision permission.Decision
}

// Decide answers a permission request.
func Decide(d permission.Decision) *PermissionRequestOutput {
	return &PermissionRequestOutput{Decision: d}
}

func (o *PermissionRequestOutput) parts() (Common, any, error) {
	if o.Decision.Behavior() == "" {
		return o.Common, nil, nil
	}
	return o.Common, struct {
		Decision permission.Decision `json:"decision"`
	}{o.Decision}, nil
}

// PermissionDeniedOutput is the reply to [PermissionDenied].
type PermissionDeniedOutput struct {
	Common `json:"-"`
	// Retry lets the model try the tool call again.
	Retry bool `json:"retry,omitzero"`
}

func (o *PermissionDeniedOutput) parts() (Common, any, error) { return o.Common, o, nil }

// PromptOutput is the reply to [UserPromptSubmit] and [UserPromptExpansion].
type PromptOutput struct {
	Common `json:"-"`
	// AdditionalContext is given to the model with the prompt.
	AdditionalContext string `json:"additionalContext,omitzero"`
	// SessionTitle names the session; only [UserPromptSubmit] can set it.
	SessionTitle string `json:"sessionTitle,omitzero"`
	// SuppressOriginalPrompt hides the text of a blocked prompt from the user.
	SuppressOriginalPrompt bool `json:"suppressOriginalPrompt,omitzero"`
}

// BlockPrompt keeps the prompt from the model. The turn ends with a result
// that is not an error.
func BlockPrompt(reason string) *PromptOutput { return &PromptOutput{Common: Block(reason)} }

func (o *PromptOutput) parts() (Common, any, error) { return o.Common, o, nil }

// StopOutput is the reply to [Stop] and [SubagentStop].
type StopOutput struct {
	Common `json:"-"`
	// AdditionalContext is given to the model, which then continues.
	AdditionalContext string `json:"additionalContext,omitzero"`
}

// KeepGoing makes the model continue instead of stopping; it reads the reason.
// The next input then has StopHookActive set, so that a hook can give in.
func KeepGoing(reason string) *StopOutput { return &StopOutput{Common: Block(reason)} }

func (o *StopOutput) parts() (Common, any, error) { return o.Common, o, nil }

// ContextOutput is the reply to events that can only add to what the model
// reads.
type ContextOutput struct {
	Common            `json:"-"`
	AdditionalContext string `json:"additionalContext,omitzero"`
}

// AddContext gives the model a text to read.
func AddContext(text string) *ContextOutput { return &ContextOutput{AdditionalContext: text} }

func (o *ContextOutput) parts() (Common, any, error) { return o.Common, o, nil }

// GateOutput is the reply to events that can be blocked and accept nothing
// else.
type GateOutput struct {
	Common `json:"-"`
}

func (o *GateOutput) parts() (Common, any, error) { return o.Common, nil, nil }

// SessionStartOutput is the reply to [SessionStart].
type SessionStartOutput struct {
	Common `json:"-"`
	// AdditionalContext is given to the model.
	AdditionalContext string `json:"additionalContext,omitzero"`
	// InitialUserMessage is sent as the first prompt.
	InitialUserMessage string `json:"initialUserMessage,omitzero"`
	// SessionTitle names the session.
	SessionTitle string `json:"sessionTitle,omitzero"`
	// WatchPaths are the files whose changes call [FileChanged] hooks.
	WatchPaths []string `json:"watchPaths,omitzero"`
	// ReloadSkills reads the skills again.
	ReloadSkills bool `json:"reloadSkills,omitzero"`
}

func (o *SessionStartOutput) parts() (Common, any, error) { return o.Common, o, nil }

// ModelSwitchOutput is the reply to [PreModelSwitch].
type ModelSwitchOutput struct {
	Common         `json:"-"`
	Decision       PermissionDecision `json:"permissionDecision,omitzero"`
	DecisionReason string             `json:"permissionDecisionReason,omitzero"`
}

func (o *ModelSwitchOutput) parts() (Common, any, error) { return o.Common, o, nil }

// ElicitationOutput is the reply to [Elicitation], instead of asking the user,
// and to [ElicitationResult], instead of what the user answered.
type ElicitationOutput struct {
	Common `json:"-"`
	// Action is the answer; empty leaves the question open. CLI 2.1.325 accepts only a refusal here, and then tells the server
	// "decline". To accept, answer in the session's elicitation callback.
	Action control.ElicitationAction
	// Content is the filled-in form. It is encoded by the rules of
	// encoding/json.
	Content any
}

func (o *ElicitationOutput) parts() (Common, any, error) {
	f := struct {
		Action  control.ElicitationAction `json:"action,omitzero"`
		Content json.RawMessage           `json:"content,omitzero"`
	}{Action: o.Action}
	var err error
	if o.Content != nil {
		f.Content, err = jsonx.MarshalUser(o.Content)
	}
	common := o.Common
	if o.Action == "decline" || o.Action == "cancel" {
		// The action alone is ignored (2.1.325); a block declines.
		common.Block = true
	}
	return common, f, err
}

// WatchOutput is the reply to [CwdChanged] and [FileChanged].
type WatchOutput struct {
	Common `json:"-"`
	// WatchPaths are the files to watch from now on; nil leaves them.
	WatchPaths []string `json:"watchPaths,omitzero"`
}

func (o *WatchOutput) parts() (Common, any, error) { return o.Common, o, nil }

// WorktreeOutput is the reply to [WorktreeCreate].
type WorktreeOutput struct {
	Common `json:"-"`
	// Path is where the hook created the worktree.
	Path string `json:"worktreePath,omitzero"`
}

func (o *WorktreeOutput) parts() (Common, any, error) { return o.Common, o, nil }

// DisplayOutput is the reply to [MessageDisplay].
type DisplayOutput struct {
	Common `json:"-"`
	// Content is shown instead of the model's text; nil leaves it.
	Content *string `json:"displayContent,omitzero"`
}

func (o *DisplayOutput) parts() (Common, any, error) { return o.Common, o, nil }
