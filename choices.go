package claude

import "github.com/claude-agent-go/claude/control"

// AgentDefinition defines an agent for [Options.Agents]. It is the type of
// package control, which the handshake needs, under the name that the official
// SDKs give it.
type AgentDefinition = control.AgentDefinition

// Effort is how hard the model works on an answer: see [Options.Effort]. It is
// the type of package control, which messages and hooks use, too.
type Effort = control.Effort

// The levels of effort, lowest first. Not every model has all of them:
// control.ModelInfo lists those it has.
const (
	EffortLow    Effort = "low"
	EffortMedium Effort = "medium"
	EffortHigh   Effort = "high"
	EffortXHigh  Effort = "xhigh"
	EffortMax    Effort = "max"
)

// ThinkingMode says whether the model thinks before it answers. The zero value
// leaves it to the CLI.
type ThinkingMode string

// Whether the model thinks.
const (
	// ThinkingAdaptive lets the model decide how much it thinks.
	ThinkingAdaptive ThinkingMode = "adaptive"
	// ThinkingEnabled lets it think within Thinking.Budget. Without a budget it
	// is ThinkingAdaptive.
	ThinkingEnabled ThinkingMode = "enabled"
	// ThinkingDisabled has it answer at once.
	ThinkingDisabled ThinkingMode = "disabled"
)

// ThinkingDisplay says how thinking is shown. The zero value leaves it to the
// CLI.
type ThinkingDisplay string

// How thinking is shown.
const (
	// ThinkingSummarized sends a summary of it.
	ThinkingSummarized ThinkingDisplay = "summarized"
	// ThinkingOmitted sends thinking blocks without text.
	ThinkingOmitted ThinkingDisplay = "omitted"
)

// PermissionPrompts says who is asked about tool calls that no rule decides.
// The zero value is PermissionPromptsHost.
type PermissionPrompts string

// Who is asked.
const (
	// PermissionPromptsHost asks Options.CanUseTool, or the tool that
	// Options.PermissionPromptTool names.
	PermissionPromptsHost PermissionPrompts = "host"
	// PermissionPromptsNone asks nobody: what no rule, mode or hook allows is
	// denied at once.
	PermissionPromptsNone PermissionPrompts = "none"
)

// SettingSource is one of the settings files that the CLI reads.
type SettingSource string

// The settings files.
const (
	// SettingSourceUser is the user's own, in the configuration directory.
	SettingSourceUser SettingSource = "user"
	// SettingSourceProject is the one that a project shares,
	// .claude/settings.json.
	SettingSourceProject SettingSource = "project"
	// SettingSourceLocal is the user's own in a project,
	// .claude/settings.local.json.
	SettingSourceLocal SettingSource = "local"
)

// QuestionPreview is the form of the previews in the questions of the
// AskUserQuestion tool. The zero value is QuestionPreviewMarkdown.
type QuestionPreview string

// The forms of previews.
const (
	QuestionPreviewMarkdown QuestionPreview = "markdown"
	QuestionPreviewHTML     QuestionPreview = "html"
)
