package claude

import (
	"cmp"
	"encoding/json"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/permission"
)

// Options configures a session. The zero value, or a nil pointer, means the
// CLI's own defaults and an empty system prompt. Options are copied when a
// session starts; the same value may start many sessions, even at once.
type Options struct {
	// # Model and thinking

	// Model is an alias ("sonnet") or a full name. Empty: the CLI decides.
	Model string
	// FallbackModel is used when Model is overloaded. Empty: none.
	FallbackModel string
	// Effort is how hard the model works, such as EffortHigh. Empty: the CLI
	// decides.
	Effort Effort
	// Thinking controls whether and how long the model thinks before it
	// answers.
	Thinking Thinking
	// Betas are headers for API features in beta. They work only with an API
	// key. It becomes --betas.
	Betas []string

	// # Prompts

	// SystemPrompt is the text that the model reads before everything else. The
	// zero value is an empty prompt; set Preset to use Claude Code's own.
	SystemPrompt SystemPrompt
	// PlanModeInstructions replaces the task that plan mode gives the model;
	// the rules around it stay. Empty: the CLI's own.
	PlanModeInstructions string
	// VerbatimPrompts keeps the CLI from interpreting prompts: no slash
	// commands, no @file, no attachments, and no @file in what the model
	// passes to a skill. Without it, "@/any/file" in a prompt shows that file
	// to the model without asking any permission, hook or rule. Set it, or use
	// [EscapePrompt], when prompts contain text written by others.
	VerbatimPrompts bool
	// PromptSuggestions asks for a *message.PromptSuggestion after each turn,
	// starting with the second answer. Each costs a model call.
	PromptSuggestions bool

	// # Answers

	// OutputSchema is the JSON Schema of the answers. It must describe an
	// object and is fixed for the session. Results then have StructuredOutput;
	// see Decode. Nil: answers are text. [SchemaFor] makes a schema from a
	// type.
	OutputSchema json.RawMessage

	// # Tools and permissions

	// Tools are the built-in tools that are available at all. Nil: the CLI's
	// default; an empty list: none.
	Tools []string
	// AllowedTools are permission rules for calls that are allowed without
	// asking, such as "Read" or "Bash(git:*)".
	AllowedTools []string
	// DisallowedTools are permission rules for calls that are always denied.
	DisallowedTools []string
	// ToolAliases redirects calls from one tool to another. The key is the
	// name the model uses, the value is the tool that runs, such as "Bash":
	// "mcp__box__bash".
	ToolAliases map[string]string
	// PermissionMode is the mode to start in. Empty: the CLI decides.
	PermissionMode permission.Mode
	// AllowBypassPermissions makes it possible to switch to
	// permission.ModeBypassPermissions later.
	AllowBypassPermissions bool
	// CanUseTool decides tool calls that no rule decides. Without it, the CLI
	// denies them and lists them in Result.PermissionDenials. It may be called
	// several times at once.
	CanUseTool permission.Func
	// PermissionPromptTool is an MCP tool that decides instead of CanUseTool,
	// named as mcp__server__tool. It excludes CanUseTool.
	PermissionPromptTool string
	// PermissionPrompts selects who is asked. PermissionPromptsHost asks
	// CanUseTool or PermissionPromptTool. PermissionPromptsNone asks no one: a
	// call that no rule, mode or hook allows is denied at once. Empty:
	// PermissionPromptsHost.
	PermissionPrompts PermissionPrompts
	// Hooks are called at the events they name.
	Hooks []hook.Hook
	// HookFailure decides what a failing hook means, unless the hook sets its
	// own policy. With the zero value, the agent continues when a hook returns
	// an error, but a hook for PreToolUse, PermissionRequest or
	// UserPromptSubmit that breaks down, for example by panicking or taking too
	// long, blocks. hook.FailOpen never blocks; hook.FailClosed always does.
	HookFailure hook.FailurePolicy
	// OnElicitation answers questions from MCP servers. Without it, or when it
	// fails, they are declined.
	OnElicitation control.ElicitationFunc
	// OnUserDialog shows the CLI's dialogs of the kinds in DialogKinds;
	// neither works without the other. A dialog is cancelled when OnUserDialog
	// fails or is not set.
	OnUserDialog control.DialogFunc
	DialogKinds  []string
	// Requests answers control requests from the CLI that this package does
	// not know, by subtype. Requests without an entry are refused.
	Requests map[string]RequestFunc
	// QuestionPreview is the format of previews in the questions of the
	// AskUserQuestion tool: QuestionPreviewMarkdown or QuestionPreviewHTML.
	// Empty: QuestionPreviewMarkdown.
	QuestionPreview QuestionPreview

	// # Agents, skills and plugins

	// Agents defines agents by name that Claude can start as subagents. They
	// are sent in the handshake.
	Agents map[string]AgentDefinition
	// Agent is the agent that the conversation itself runs as, from Agents or
	// from the settings. Empty: none.
	Agent string
	// ForwardSubagentText also asks for what subagents say and think.
	// Otherwise only their tool calls are reported.
	ForwardSubagentText bool
	// AgentProgressSummaries asks for a summary of each subagent's work, in
	// *message.TaskProgress, about every half minute. Each costs a model call.
	AgentProgressSummaries bool
	// Subagents limit how many agents Claude starts, and how deep they nest.
	Subagents SubagentLimits
	// PerTaskStop tells the CLI that this program can stop background tasks one
	// by one, with SessionTasks.Stop. An interrupt then leaves background agents
	// running; otherwise it also ends them. It never ends shell commands.
	PerTaskStop bool
	// Skills are the skills that Claude sees and may use, as "name" or
	// "plugin:name". Nil: the CLI's default; an empty list: none. Other skills
	// are hidden but not locked: their files stay readable.
	Skills []string
	// AllSkills lets Claude use every skill without asking. It excludes
	// Skills.
	AllSkills bool
	// Plugins are the plugins loaded for this session.
	Plugins []control.PluginConfig

	// # MCP servers

	// MCPServers are the MCP servers of the session, external and in-process.
	// The CLI gets their configurations in a file that only this user can read
	// and that is removed when the process ends.
	MCPServers MCPServers
	// StrictMCPConfig ignores all MCP servers configured elsewhere, such as in
	// settings files.
	StrictMCPConfig bool

	// # Sessions

	// SessionID is the id of the new session, a UUID. Empty: a random one.
	SessionID string
	// Resume is the id of a session to continue, a UUID. Anyone with the id
	// can read the conversation; verify ownership before you take an id from a
	// request.
	Resume string
	// ResumeAt is the id of the message in that session to continue after.
	ResumeAt string
	// ResumeDropsTurn is the id of the prompt whose turn ResumeAt leaves out.
	// It is a check: the CLI refuses to start if anything else would be left
	// out.
	ResumeDropsTurn string
	// Continue continues the newest session of the working directory.
	Continue bool
	// ForkSession continues in a copy with a new id; the original session is
	// unchanged.
	ForkSession bool
	// NoPersistence keeps the session from being written to disk. It cannot be
	// resumed.
	NoPersistence bool
	// Title is the title of a new session. Empty: the CLI chooses one.
	Title string
	// Store keeps the transcript of the session in a store while it runs, so
	// that it survives this machine. Resume, Continue, ForkSession and ResumeAt
	// then take the session from the store, whatever directory, home and
	// machine it was begun in. Nil: only the CLI keeps it, on disk.
	Store *StoreOptions
	// FileCheckpointing keeps old versions of files for SessionFiles.Rewind.
	FileCheckpointing bool

	// # Settings and sandbox

	// SettingSources are the settings files to read. Nil: the CLI's default,
	// all of them; an empty list: none.
	SettingSources []SettingSource
	// Settings override those in files. They have the form of a settings.json,
	// with any values that encode as JSON. The CLI gets them in a file that
	// only this user can read and that is removed when the process ends.
	Settings map[string]any
	// SettingsFile is the path of a settings file to use instead of Settings.
	// It excludes Settings and Sandbox.
	SettingsFile string
	// ManagedSettings take the place of an administrator's settings: they can
	// forbid things, and no other settings can allow them again. If the machine
	// has an administrator's own settings, the CLI ignores these unless those
	// permit them. They are sent in the handshake; the start fails if the CLI
	// does not apply them.
	ManagedSettings map[string]any
	// Sandbox confines the shell commands of the session. It is added to
	// Settings and overrides their sandbox. Nil: the settings decide.
	Sandbox *Sandbox
	// ProjectConfigRoot is the checkout to read project settings, MCP servers
	// and agents from, instead of Cwd, which may hold an unreviewed branch. It
	// must be an absolute path. Empty: Cwd.
	ProjectConfigRoot string
	// AddDirs are directories that tools may use in addition to Cwd.
	AddDirs []string

	// # Limits of a session

	// MaxTurns limits the model calls for one prompt. 0: no limit.
	MaxTurns int
	// MaxBudgetUSD ends a turn once the process has cost more than this.
	// Earlier costs of a resumed session do not count. 0: no limit.
	MaxBudgetUSD float64
	// MaxRetries is how often the CLI retries an API call that was overloaded,
	// rate-limited or did not get through, with growing pauses. 0: the CLI
	// decides, which is 10 times within about three minutes; [NoRetries]:
	// never. The CLI accepts at most 15. It becomes CLAUDE_CODE_MAX_RETRIES.
	MaxRetries int
	// TaskBudget is the number of tokens the model is told to work within. 0:
	// none.
	TaskBudget int

	// # Messages

	// PartialMessages asks for a *message.StreamEvent for each piece of text
	// as it is written.
	PartialMessages bool
	// ReplayUserMessages asks for an echo of each prompt.
	ReplayUserMessages bool
	// HookEvents asks for a *message.HookEvent for each hook from settings and
	// plugins that runs.
	HookEvents bool
	// SessionStates asks for a *message.SessionState whenever the CLI becomes
	// idle or busy, or waits for an answer.
	SessionStates bool

	// # Process

	// CLIPath is the executable, or a .js file to run with node. Empty:
	// "claude" in PATH, then the usual places.
	CLIPath string
	// Cwd is the working directory. Empty: this process's own.
	Cwd string
	// Env is the whole environment of the CLI, in the form of os.Environ. Nil:
	// this process's own, without variables that would load code into the CLI
	// or open it to a debugger. [Hardened] sets a minimal one.
	Env []string
	// ExtraArgs are appended to the command line unchanged, for flags that
	// have no option here. They are not checked, and every user of the machine
	// can read them: don't put secrets or untrusted input in them.
	ExtraArgs []string
	// Stderr is called with each line the CLI writes to standard error, with
	// secrets redacted. A line over 64 KiB is cut there and ends with a note of
	// how much is missing. Stderr runs in its own goroutine, one call at a
	// time. A line may contain escape sequences: don't print it to a terminal
	// unchanged.
	Stderr func(line string)
	// Debug makes the CLI write its debug log, to stderr or to its own file.
	Debug bool
	// DebugFile is the file for that log. It implies Debug.
	DebugFile string
	// Transport starts the CLI. Nil: it is started as a child process.
	Transport Transport

	// # Observation, time and space

	// Logger logs what happens in the session. Nil: nothing is logged.
	Logger *slog.Logger
	// Trace observes frames, callbacks and states. Nil: no tracing.
	Trace *Trace
	// Timeouts limit how long the session waits.
	Timeouts Timeouts
	// Limits limit what may pile up in the session.
	Limits Limits
}

// SystemPrompt is the system prompt of a session.
type SystemPrompt struct {
	// Text is the whole prompt. It excludes Preset.
	Text string
	// Sections is the whole prompt in pieces that are cached separately. It
	// excludes Text and Preset.
	Sections []string
	// Preset uses Claude Code's own prompt.
	Preset bool
	// Append is text added at the end.
	Append string
	// Static moves the parts of the preset that differ between machines into
	// the first message, so that sessions share its cache.
	Static bool
	// Fresh renders the prompt for every model call. Otherwise a CLI that
	// supports it records the prompt once, even for sessions that are resumed.
	Fresh bool
}

// Thinking controls the model's thinking. The zero value leaves it to the CLI.
type Thinking struct {
	// Mode selects whether the model thinks. Empty: the CLI decides.
	Mode ThinkingMode
	// Budget is the number of tokens for ThinkingEnabled.
	Budget int
	// Display selects how thinking is shown. Empty: the CLI decides.
	Display ThinkingDisplay
}

// Values of options that lift a limit, or set it to nothing.
const (
	// NoTimeout, in a field of Timeouts, means that the wait has no limit of its
	// own.
	NoTimeout time.Duration = -1
	// NoRetries, in Options.MaxRetries, means that each API call is made only
	// once.
	NoRetries = -1
)

// Timeouts limit how long a session waits. Zero fields have the defaults
// given; [NoTimeout] removes the limit.
type Timeouts struct {
	// Initialize limits the handshake: 60 s.
	Initialize time.Duration
	// Control limits operations such as Interrupt and SetModel: 5 s.
	Control time.Duration
	// Rewind limits SessionFiles.Rewind: 30 s.
	Rewind time.Duration
	// MCP limits SessionMCP.Reconnect, SessionMCP.Toggle and SessionMCP.Set, which
	// wait for servers: 60 s.
	MCP time.Duration
	// Callback limits every callback. Zero: 60 s for hooks and Requests, and
	// no limit for CanUseTool, OnElicitation and OnUserDialog, which may ask a
	// person while the CLI waits. A hook's own Timeout takes precedence.
	Callback time.Duration
	// API limits each attempt of the CLI to reach the API: how long it waits
	// for an answer to begin. Zero: the CLI decides, which is minutes.
	// Together with Options.MaxRetries it limits how long a turn keeps trying.
	// It becomes API_TIMEOUT_MS.
	API time.Duration
	// Close is how long the CLI may take to end by itself when the session is
	// closed: 5 s. After that it is told to end.
	Close time.Duration
	// Kill is how long the CLI and what it has started may live on when the
	// session is closed or fails; then all of it is killed. Zero: 5 s after the
	// CLI was told to end, and what it leaves behind then has 2 s of its own.
	Kill time.Duration
	// Flush is how long the end of a session may wait for Options.Store to
	// take what is left: 10 s. After that it stays in a journal.
	Flush time.Duration
}

// Limits limit what may pile up in a session. Zero fields have the defaults
// given.
type Limits struct {
	// Line is the longest line that is read, in bytes: 64 MiB. A longer one is
	// dropped and reported.
	Line int
	// Unread is how much memory unread messages may hold: 64 MiB. Beyond half
	// of it, a loop that is reading is given a few milliseconds at a time to
	// catch up. Beyond all of it, partial messages are dropped, and then the
	// session ends with ErrSlow. A message that arrives while nothing is unread
	// is accepted whatever its size: Line is its bound.
	Unread int
	// Queued is how many operations may wait for the handshake: 16.
	Queued int
	// Pending is how many operations may wait for their reply: 64.
	Pending int
	// Callbacks is how many callbacks may run at once: 32. Beyond that, hooks
	// and permission requests are answered as if the callback had failed.
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

// callback returns the bound of a callback that the CLI waits for, without a
// person behind it. Where a person may answer, Callback itself is the bound:
// zero means no limit.
func (t Timeouts) callback() time.Duration {
	return cmp.Or(t.Callback, 60*time.Second)
}

// empty reports whether the model gets no system prompt.
func (p SystemPrompt) empty() bool { return !p.Preset && p.Text == "" && p.Sections == nil }

// AgentDefinition defines an agent for [Options.Agents]. It is an alias for
// the type in package control, which the handshake needs, under the name used
// by the official SDKs.
type AgentDefinition = control.AgentDefinition

// Effort is how hard the model works on an answer; see [Options.Effort]. It is
// an alias for the type in package control, which messages and hooks also use.
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

// ThinkingMode selects whether the model thinks before it answers. The zero
// value leaves it to the CLI.
type ThinkingMode string

// Whether the model thinks.
const (
	// ThinkingAdaptive lets the model decide how much it thinks.
	ThinkingAdaptive ThinkingMode = "adaptive"
	// ThinkingEnabled lets it think within Thinking.Budget. Without a budget
	// it is the same as ThinkingAdaptive.
	ThinkingEnabled ThinkingMode = "enabled"
	// ThinkingDisabled makes it answer at once.
	ThinkingDisabled ThinkingMode = "disabled"
)

// ThinkingDisplay selects how thinking is shown. The zero value leaves it to
// the CLI.
type ThinkingDisplay string

// How thinking is shown.
const (
	// ThinkingSummarized sends a summary of the thinking.
	ThinkingSummarized ThinkingDisplay = "summarized"
	// ThinkingOmitted sends thinking blocks without text.
	ThinkingOmitted ThinkingDisplay = "omitted"
)

// PermissionPrompts selects who is asked about tool calls that no rule decides.
// The zero value is PermissionPromptsHost.
type PermissionPrompts string

// Who is asked.
const (
	// PermissionPromptsHost asks Options.CanUseTool, or the tool that
	// Options.PermissionPromptTool names.
	PermissionPromptsHost PermissionPrompts = "host"
	// PermissionPromptsNone asks no one: a call that no rule, mode or hook
	// allows is denied at once.
	PermissionPromptsNone PermissionPrompts = "none"
)

// SettingSource is one of the settings files that the CLI reads.
type SettingSource string

// The settings files.
const (
	// SettingSourceUser is the user's own file, in the configuration
	// directory.
	SettingSourceUser SettingSource = "user"
	// SettingSourceProject is the file shared by a project,
	// .claude/settings.json.
	SettingSourceProject SettingSource = "project"
	// SettingSourceLocal is the user's own file in a project,
	// .claude/settings.local.json.
	SettingSourceLocal SettingSource = "local"
)

// QuestionPreview is the format of previews in the questions of the
// AskUserQuestion tool. The zero value is QuestionPreviewMarkdown.
type QuestionPreview string

// The formats of previews.
const (
	QuestionPreviewMarkdown QuestionPreview = "markdown"
	QuestionPreviewHTML     QuestionPreview = "html"
)

// Hardened returns options for work on untrusted material, such as a
// repository from someone else. Change them as needed before use.
//
// What it keeps out:
//
//   - Settings, hooks, agents and instruction files from the working directory
//     and from the user: SettingSources is empty.
//   - MCP servers named in the working directory or the user's settings:
//     StrictMCPConfig is set.
//   - Failures of your hooks that let pass what they should stop: HookFailure
//     is hook.FailClosed, and a CLI that cannot do so is refused.
//   - This process's secrets within reach of shell commands: Env holds only
//     what the CLI needs to run and to sign in.
//   - Files and commands named in a prompt: VerbatimPrompts is set, and a CLI
//     that cannot do so is refused. Without it, "@/path" in a prompt made from
//     other people's text reads that file past every gate.
//   - A permission mode set by someone else: it is permission.ModeDefault, in
//     which what no rule allows is asked or denied.
//   - Updates, reports and other traffic besides the model's.
//
// What it leaves to you, because it depends on the work:
//
//   - The credentials in Env: a shell command can read them, and so can the
//     model. Deny Bash, or set Sandbox.
//   - What tools may do: set CanUseTool, Tools, DisallowedTools or Sandbox.
//     Package permission/policy has ready-made decisions.
//   - What is read: the model follows instructions in files, web pages and
//     tool results, and can send what it knows wherever a tool reaches.
//   - Cost: set MaxTurns and MaxBudgetUSD.
//   - Traces: the conversation is written to disk. Set NoPersistence.
func Hardened() *Options {
	return &Options{
		SettingSources:  []SettingSource{},
		StrictMCPConfig: true,
		HookFailure:     hook.FailClosed,
		VerbatimPrompts: true,
		PermissionMode:  permission.ModeDefault,
		Env:             minimalEnv(os.Environ()),
	}
}

// minimalEnv keeps the variables that the CLI needs to find programs and its
// home, to speak the user's language and to sign in, and those that set its
// patience with the API.
func minimalEnv(environ []string) []string {
	env := []string{
		"DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
	}
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if slices.Contains(neededEnv[:], strings.ToUpper(name)) {
			env = append(env, entry)
		}
	}
	return env
}

var neededEnv = [...]string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "TERM",
	"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME",
	"USERPROFILE", "HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES",
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR",
	"CLAUDE_CODE_MAX_RETRIES", "API_TIMEOUT_MS",
	"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CONFIG_DIR",
}

// resumes reports whether the session continues an earlier one.
func (o *Options) resumes() bool { return o.Resume != "" || o.Continue }

// fromStore reports whether the session is to be resumed from a store.
func (o *Options) fromStore() bool { return o.Store != nil && o.resumes() }
