package claude

import (
	"cmp"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/permission"
)

// Options says how a session is run. The zero value, and a nil pointer, are a
// session with the CLI's own defaults and an empty system prompt. Options are copied when a session
// starts; the same value may start many, also at once.
type Options struct {
	// # Model and thinking

	// Model is an alias ("sonnet") or a full name. Empty: the CLI decides.
	Model string
	// FallbackModel is used when Model is overloaded. Empty: none.
	FallbackModel string
	// Effort is how hard the model works, such as EffortHigh. Empty: the CLI
	// decides.
	Effort Effort
	// Thinking says whether and how long the model thinks before it answers.
	Thinking Thinking
	// Betas are headers of API features that are not yet for everybody. They
	// work with an API key only. It becomes --betas.
	Betas []string

	// # Prompts

	// SystemPrompt is what the model is told before everything else. The zero
	// value is an empty prompt; set Preset for that of Claude Code.
	SystemPrompt SystemPrompt
	// PlanModeInstructions replaces the work that plan mode tells the model to
	// do; the rules around it stay. Empty: the CLI's own.
	PlanModeInstructions string
	// VerbatimPrompts keeps the CLI from reading anything into prompts: no
	// slash commands, no @file, nothing attached to them, and no @file in what
	// the model gives to a skill. Without it "@/any/file" in a prompt puts that
	// file before the model, and no permission, hook or rule is asked: set it,
	// or use [EscapePrompt], where prompts hold what others wrote.
	VerbatimPrompts bool
	// PromptSuggestions asks for a *message.PromptSuggestion after a turn, from
	// the second answer on. Each is a call of the model.
	PromptSuggestions bool

	// # Answers

	// OutputSchema is the JSON Schema of the answers, an object, fixed for the
	// session: results then have StructuredOutput, see Decode. Nil: answers
	// are text. [SchemaFor] makes it from a type.
	OutputSchema json.RawMessage

	// # Tools and permissions

	// Tools are the built-in tools that exist at all. Nil: the CLI's default;
	// an empty list: none.
	Tools []string
	// AllowedTools are permission rules that need no question, such as "Read"
	// or "Bash(git:*)".
	AllowedTools []string
	// DisallowedTools are rules that are always refused.
	DisallowedTools []string
	// ToolAliases sends calls of one tool to another: the key is the name that
	// the model uses, the value the tool that runs, such as
	// "Bash": "mcp__box__bash".
	ToolAliases map[string]string
	// PermissionMode is the mode to start in. Empty: the CLI decides.
	PermissionMode permission.Mode
	// AllowBypassPermissions makes it possible to switch to
	// permission.ModeBypassPermissions later on.
	AllowBypassPermissions bool
	// CanUseTool decides about tool calls that no rule decides. Without it the
	// CLI refuses them and lists them in Result.PermissionDenials. It may be
	// called several times at once.
	CanUseTool permission.Func
	// PermissionPromptTool is an MCP tool that decides instead of CanUseTool,
	// as mcp__server__tool. It excludes CanUseTool.
	PermissionPromptTool string
	// PermissionPrompts says who is asked: PermissionPromptsHost is CanUseTool
	// or PermissionPromptTool, PermissionPromptsNone is nobody, and what no
	// rule, mode or hook allows is denied at once. Empty: the former.
	PermissionPrompts PermissionPrompts
	// Hooks are called at the events they name.
	Hooks []hook.Hook
	// HookFailure is what a hook that fails means, where the hook itself does
	// not say. With the zero value an error that a hook returns means that the
	// agent goes on, and a hook of PreToolUse, PermissionRequest or
	// UserPromptSubmit that breaks down, for example by a panic or because it
	// takes too long, blocks. hook.FailOpen never blocks, hook.FailClosed
	// always does.
	HookFailure hook.FailurePolicy
	// OnElicitation answers the questions of MCP servers. Without it, and when
	// it fails, they are declined.
	OnElicitation control.ElicitationFunc
	// OnUserDialog shows the dialogs of the CLI whose kinds DialogKinds names;
	// each needs the other. When it fails the dialog is cancelled, as is one
	// that comes without it.
	OnUserDialog control.DialogFunc
	DialogKinds  []string
	// Requests answers control requests of the CLI that this package does not
	// know, by their subtype. Without an entry they are refused.
	Requests map[string]RequestFunc
	// QuestionPreview is the form of previews in the questions of the
	// AskUserQuestion tool: QuestionPreviewMarkdown or QuestionPreviewHTML.
	// Empty: the former.
	QuestionPreview QuestionPreview

	// # Agents, skills and plugins

	// Agents defines agents by name, which Claude can start as subagents. They
	// are sent in the handshake.
	Agents map[string]AgentDefinition
	// Agent is the agent that the conversation itself runs as, one of Agents or
	// of the settings. Empty: none.
	Agent string
	// ForwardSubagentText asks for what subagents say and think, too. Otherwise
	// only their tool calls are told.
	ForwardSubagentText bool
	// AgentProgressSummaries asks for a summary of what each subagent does, in
	// *message.TaskProgress, about every half minute. Each is a call of the
	// model.
	AgentProgressSummaries bool
	// PerTaskStop says that this program can stop background tasks one by one,
	// by Session.StopTask. An interrupt then leaves agents in the background
	// running; otherwise it ends them too. Shell commands it leaves anyway.
	PerTaskStop bool
	// Skills are the skills that Claude sees and may use, by name, or as
	// "plugin:name". Nil: the CLI's default; an empty list: none. It hides the
	// others, it does not lock them: their files stay readable.
	Skills []string
	// AllSkills lets Claude use every skill without a question. It excludes
	// Skills.
	AllSkills bool
	// Plugins are loaded for this session.
	Plugins []control.PluginConfig

	// # MCP servers

	// MCPServers are the MCP servers of the session: external ones, and those
	// of this process. Configurations are given to the CLI in a file that only
	// this user can read and that is gone when the process is.
	MCPServers MCPServers
	// StrictMCPConfig ignores all MCP servers that come from elsewhere, such
	// as settings files.
	StrictMCPConfig bool

	// # Sessions

	// SessionID is the id of the new session, a UUID. Empty: a random one.
	SessionID string
	// Resume is the id of a session to go on with, a UUID. Who has the id has
	// the conversation: ask whose it is before you take it from a request.
	Resume string
	// ResumeAt is the id of the message of that session to go on after.
	ResumeAt string
	// ResumeDropsTurn is the id of the prompt whose turn ResumeAt leaves out,
	// as a check: the CLI refuses to start if anything else would be left out.
	ResumeDropsTurn string
	// Continue goes on with the newest session of the working directory.
	Continue bool
	// ForkSession gives the resumed session a new id and leaves the old one
	// as it is.
	ForkSession bool
	// NoPersistence keeps the session from being written to disk. It cannot
	// be resumed then.
	NoPersistence bool
	// Title is the title of a new session. Empty: the CLI makes one.
	Title string
	// FileCheckpointing keeps old versions of files for Session.RewindFiles.
	FileCheckpointing bool

	// # Settings and sandbox

	// SettingSources are the settings files that are read. Nil: the CLI's
	// default, all of them; an empty list: none.
	SettingSources []SettingSource
	// Settings are settings that go before those of files, as in a
	// settings.json: any value that encodes as JSON. They are given to the CLI
	// in a file that only this user can read and that is gone with the process.
	Settings map[string]any
	// SettingsFile is the path of such a file. It excludes Settings and
	// Sandbox.
	SettingsFile string
	// ManagedSettings are settings in the place of an administrator's: they
	// can take away, and nothing below can give back. Where the machine has an
	// administrator's own, the CLI ignores them unless those say otherwise.
	// They are sent in the handshake; the start fails when the CLI does not
	// apply them.
	ManagedSettings map[string]any
	// Sandbox confines the shell commands of the session. It is added to
	// Settings, and goes before what they say of the sandbox. Nil: as the
	// settings say.
	Sandbox *Sandbox
	// ProjectConfigRoot is the checkout that project settings, MCP servers and
	// agents are read from instead of Cwd, which may hold a branch that nobody
	// has reviewed. An absolute path. Empty: Cwd.
	ProjectConfigRoot string
	// AddDirs are directories the tools may use besides Cwd.
	AddDirs []string

	// # Limits of a session

	// MaxTurns bounds the model calls of one prompt. 0: no bound.
	MaxTurns int
	// MaxBudgetUSD ends a turn in which the process has cost more. What a
	// resumed session has cost before does not count. 0: no bound.
	MaxBudgetUSD float64
	// MaxRetries is how often the CLI repeats a call of the API that was
	// overloaded, limited or did not get through, with growing pauses. 0: the
	// CLI decides, which is 10 times within about three minutes; [NoRetries]:
	// never. The CLI takes 15 at most. It becomes CLAUDE_CODE_MAX_RETRIES.
	MaxRetries int
	// TaskBudget is a number of tokens that the model is told to get along
	// with. 0: none.
	TaskBudget int

	// # Messages

	// PartialMessages asks for a *message.StreamEvent for each piece of text
	// as it is written.
	PartialMessages bool
	// ReplayUserMessages asks for an echo of every prompt.
	ReplayUserMessages bool
	// HookEvents asks for a *message.HookEvent for each hook of settings and
	// plugins that runs.
	HookEvents bool
	// SessionStates asks for a *message.SessionState when the CLI turns idle or
	// busy, or waits for an answer.
	SessionStates bool

	// # Process

	// CLIPath is the executable, or a .js file for node. Empty: "claude" in
	// PATH, then the usual places.
	CLIPath string
	// Cwd is the working directory. Empty: that of this process.
	Cwd string
	// Env is the whole environment of the CLI, as in os.Environ. Nil: that of
	// this process, without variables that would load code into the CLI or
	// open it to a debugger. [Hardened] has a minimal one.
	Env []string
	// ExtraArgs are appended to the command line as they are, for flags that
	// have no option here. Nothing in them is checked, and every user of the
	// machine can read them: no secrets, and nothing that others have a say in.
	ExtraArgs []string
	// Stderr is called with each line the CLI writes there, secrets redacted.
	// One over 64 KiB is cut there, and says how much is missing. It runs in a
	// goroutine of its own, one call at a time. A line may hold escape
	// sequences: it is no text for a terminal as it is.
	Stderr func(line string)
	// Debug makes the CLI write its debug log, to stderr or a file of its own.
	Debug bool
	// DebugFile is the file for that log. It implies Debug.
	DebugFile string
	// Transport starts the CLI. Nil: as a child process.
	Transport Transport

	// # Observation, time and space

	// Logger takes what happens in the session. Nil: silence.
	Logger *slog.Logger
	// Trace is told of frames, callbacks and states. Nil: nobody is.
	Trace *Trace
	// Timeouts bound the waits.
	Timeouts Timeouts
	// Limits bound what may pile up.
	Limits Limits
}

// SystemPrompt is the system prompt of a session.
type SystemPrompt struct {
	// Text is the whole prompt. It excludes Preset.
	Text string
	// Sections is the whole prompt in pieces that are cached one by one. It
	// excludes Text and Preset.
	Sections []string
	// Preset takes the prompt of Claude Code.
	Preset bool
	// Append is added at the end.
	Append string
	// Static moves what differs from machine to machine out of the preset and
	// into the first message, so that sessions share its cache.
	Static bool
	// Fresh renders the prompt for every call of the model. Otherwise a CLI
	// that can records it once, also for sessions that are resumed.
	Fresh bool
}

// Thinking bounds the model's thinking. The zero value leaves it to the CLI.
type Thinking struct {
	// Mode says whether the model thinks. Empty: the CLI decides.
	Mode ThinkingMode
	// Budget is the number of tokens, for ThinkingEnabled.
	Budget int
	// Display says how thinking is shown. Empty: the CLI decides.
	Display ThinkingDisplay
}

// NoTimeout in a field of Timeouts means that the wait has no bound of its
// own.
const NoTimeout time.Duration = -1

// NoRetries in Options.MaxRetries means that a call of the API is made once.
const NoRetries = -1

// Timeouts bound the waits of a session. Zero fields have the defaults given;
// [NoTimeout] takes the bound away.
type Timeouts struct {
	// Initialize bounds the handshake: 60 s.
	Initialize time.Duration
	// Control bounds operations such as Interrupt and SetModel: 5 s.
	Control time.Duration
	// Rewind bounds RewindFiles: 30 s.
	Rewind time.Duration
	// MCP bounds ReconnectMCPServer, ToggleMCPServer and SetMCPServers, which wait for
	// servers: 60 s.
	MCP time.Duration
	// Callback bounds every callback. Zero: 60 s for hooks and Requests, and
	// no bound for CanUseTool, OnElicitation and OnUserDialog, which may ask a
	// person; the CLI waits, too. A hook's own Timeout goes before it.
	Callback time.Duration
	// API bounds each attempt of the CLI to reach the API: how long it waits
	// for an answer to begin. Zero: the CLI decides, which is minutes. With
	// Options.MaxRetries it bounds how long a turn tries. It becomes
	// API_TIMEOUT_MS.
	API time.Duration
	// Close is how long the CLI may take to end by itself when the session
	// is closed: 5 s. Then it is told to.
	Close time.Duration
}

// Limits bound what may pile up in a session. Zero fields have the defaults
// given.
type Limits struct {
	// Line is the longest line that is read, in bytes: 64 MiB. A longer one is
	// dropped and reported.
	Line int
	// Unread is how much memory messages that wait to be read may hold: 64 MiB. From
	// half of it on a loop that is reading is given a few milliseconds at a
	// time. Past it partial messages are dropped, then the session ends with
	// ErrSlow.
	Unread int
	// Queued is how many operations may wait for the handshake: 16.
	Queued int
	// Pending is how many operations may await their reply: 64.
	Pending int
	// Callbacks is how many callbacks may run at once: 32. Past it hooks and
	// permissions are answered as if they had failed.
	Callbacks int
}

// clone returns a copy with defaults that shares nothing a caller may change.
func (o *Options) clone() *Options {
	if o == nil {
		o = new(Options)
	}
	c := *o
	for r := range optionRows {
		r.copyTo(&c)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return &c
}

// callback is the bound of a callback that the CLI waits for, without a person
// behind it. Where there may be one, Callback is the bound as it is: zero is
// none.
func (t Timeouts) callback() time.Duration {
	return cmp.Or(t.Callback, 60*time.Second)
}

// empty reports whether the model is to be told nothing.
func (p SystemPrompt) empty() bool { return !p.Preset && p.Text == "" && p.Sections == nil }

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
