package claude

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// option is a row of the table of options: a field of Options and everything
// the package knows about it. All code that has to look at every option reads
// the table: the launch plan, the checks of values and versions, the copy of
// Options, and docs/options.md. So no option can be forgotten in one of them.
type option struct {
	field string             // its name, after that of the struct it is in
	at    func(*Options) any // a pointer to the field
	empty bool               // an empty list or map is not the same as none

	// Where it goes. args and handshake run for every session and find out by
	// themselves whether there is anything to add; env runs only if the option
	// is set.
	flag      string                            // the command line, formed by the type of the field
	args      func(*Options, *plan, *arguments) // the same, where the type is not enough
	env       func(*Options) (name, value string)
	file      string                // the flag that names the file it is written to
	handshake func(*Options, *plan) // the initialize request
	with      string                // the row that takes this field along
	process   bool                  // how the process is started
	local     bool                  // nowhere: it controls this package only

	// callback marks an option that the CLI calls, over the control channel.
	callback bool
	// since is when the CLI learnt the option. An older CLI refuses a flag that
	// it does not know, and silently ignores everything else.
	since since
	// when decides whether callback, handshake and since count. Nil: always.
	when func(*Options) bool

	is      textForm
	choices []string                // the values of a text, or of each in a list
	check   func(o *Options) string // what is wrong with the value, in place of the check of its type
	initial time.Duration           // the default for a duration of zero
}

// textForm is the form that a text must have. A text for the command line, the
// environment or the process is plain at least.
type textForm int

const (
	anyText   textForm = iota
	plainText          // without a NUL byte
	nameText           // without control characters
	entryText          // a name that is joined to others by commas
)

// late is when the CLI learnt most options that an older one ignores: after
// 2.1.0.
var late = since{"2.1.0", newest}

// optionTable has a row for each field of Options, in the order of the command
// line. The fields of SystemPrompt, Thinking, Timeouts and Limits have rows of
// their own; those of Sandbox travel together.
var optionTable = [...]option{
	// Model and thinking.
	{field: "Model", at: func(o *Options) any { return &o.Model }, flag: "--model", is: nameText},
	{field: "FallbackModel", at: func(o *Options) any { return &o.FallbackModel }, flag: "--fallback-model", is: nameText},
	{field: "Effort", at: func(o *Options) any { return &o.Effort }, flag: "--effort", since: late,
		choices: []string{string(EffortLow), string(EffortMedium), string(EffortHigh), string(EffortXHigh), string(EffortMax)}},
	{field: "Thinking.Mode", at: func(o *Options) any { return &o.Thinking.Mode }, since: late,
		choices: []string{string(ThinkingAdaptive), string(ThinkingEnabled), string(ThinkingDisabled)},
		when:    func(o *Options) bool { return o.Thinking.Budget == 0 },
		args: func(o *Options, _ *plan, a *arguments) {
			switch {
			case o.Thinking.Budget > 0: // the budget implies it
			case o.Thinking.Mode == ThinkingEnabled:
				a.value("--thinking", string(ThinkingAdaptive))
			default:
				a.value("--thinking", string(o.Thinking.Mode))
			}
		}},
	{field: "Thinking.Budget", at: func(o *Options) any { return &o.Thinking.Budget }, flag: "--max-thinking-tokens", with: "Thinking.Mode", since: since{"2.0.0", "2.0.77"}},
	{field: "Thinking.Display", at: func(o *Options) any { return &o.Thinking.Display }, flag: "--thinking-display", choices: []string{string(ThinkingSummarized), string(ThinkingOmitted)}},
	{field: "Betas", at: func(o *Options) any { return &o.Betas }, flag: "--betas", since: since{"2.0.0", "2.0.77"}, is: entryText},

	// Prompts. An empty one is on the command line as well as in the handshake:
	// 2.0.0 reads no prompt from the handshake.
	{field: "SystemPrompt.Preset", at: func(o *Options) any { return &o.SystemPrompt.Preset }, with: "SystemPrompt.Text",
		args: func(o *Options, _ *plan, a *arguments) { a.on("--system-prompt=", o.SystemPrompt.empty()) }},
	{field: "SystemPrompt.Text", at: func(o *Options) any { return &o.SystemPrompt.Text }, with: "SystemPrompt.Preset", since: since{"2.0.0", "2.0.77"},
		handshake: func(o *Options, p *plan) {
			if !o.SystemPrompt.Preset && o.SystemPrompt.Sections == nil {
				p.init.SystemPrompt = []string{o.SystemPrompt.Text}
			}
		}},
	{field: "SystemPrompt.Sections", at: func(o *Options) any { return &o.SystemPrompt.Sections }, with: "SystemPrompt.Preset", empty: true, since: late,
		handshake: func(o *Options, p *plan) {
			if o.SystemPrompt.Sections != nil {
				p.init.SystemPrompt = o.SystemPrompt.Sections
			}
		}},
	{field: "SystemPrompt.Append", at: func(o *Options) any { return &o.SystemPrompt.Append }, since: since{"2.0.0", "2.0.77"},
		handshake: func(o *Options, p *plan) { p.init.AppendSystemPrompt = o.SystemPrompt.Append }},
	{field: "SystemPrompt.Static", at: func(o *Options) any { return &o.SystemPrompt.Static }, since: late,
		handshake: func(o *Options, p *plan) { p.init.ExcludeDynamicSections = o.SystemPrompt.Static }},
	{field: "SystemPrompt.Fresh", at: func(o *Options) any { return &o.SystemPrompt.Fresh }, since: late,
		handshake: func(o *Options, p *plan) {
			if o.SystemPrompt.Fresh {
				p.init.SystemPromptSnapshot = json.RawMessage("false")
			}
		}},
	{field: "PlanModeInstructions", at: func(o *Options) any { return &o.PlanModeInstructions }, since: late,
		handshake: func(o *Options, p *plan) { p.init.PlanModeInstructions = o.PlanModeInstructions }},
	// A prompt is sent unchanged, but the CLI reads the arguments that the
	// model gives to a skill like a prompt, unless the environment forbids it.
	{field: "VerbatimPrompts", at: func(o *Options) any { return &o.VerbatimPrompts }, since: sinceVerbatim,
		env: func(*Options) (string, string) { return "CLAUDE_CODE_DISABLE_FILE_MENTIONS", "1" }},
	{field: "PromptSuggestions", at: func(o *Options) any { return &o.PromptSuggestions }, since: late,
		handshake: func(o *Options, p *plan) { p.init.PromptSuggestions = o.PromptSuggestions }},

	// Answers. A schema too long for a command line travels in the handshake
	// alone.
	{field: "OutputSchema", at: func(o *Options) any { return &o.OutputSchema }, since: since{has: "2.0.50"},
		when: func(o *Options) bool { return len(o.OutputSchema) > outputOnArgv },
		args: func(o *Options, _ *plan, a *arguments) {
			if len(o.OutputSchema) <= outputOnArgv {
				a.value("--json-schema", string(o.OutputSchema))
			}
		},
		handshake: func(o *Options, p *plan) { p.init.JSONSchema = o.OutputSchema }},

	// Tools and permissions.
	{field: "Tools", at: func(o *Options) any { return &o.Tools }, empty: true, since: since{"2.0.0", "2.0.77"}, is: entryText,
		args: func(o *Options, _ *plan, a *arguments) {
			if o.Tools != nil {
				*a = append(*a, "--tools="+strings.Join(o.Tools, ","))
			}
		}},
	{field: "AllowedTools", at: func(o *Options) any { return &o.AllowedTools },
		args: func(o *Options, _ *plan, a *arguments) { a.list("--allowedTools", o.allowed()) }},
	{field: "DisallowedTools", at: func(o *Options) any { return &o.DisallowedTools }, flag: "--disallowedTools"},
	{field: "ToolAliases", at: func(o *Options) any { return &o.ToolAliases }, since: late,
		handshake: func(o *Options, p *plan) { p.init.ToolAliases = o.ToolAliases }},
	{field: "PermissionMode", at: func(o *Options) any { return &o.PermissionMode }, flag: "--permission-mode",
		check: func(o *Options) string {
			if o.PermissionMode == "" {
				return ""
			}
			return problemOf(o.PermissionMode.Check())
		}},
	{field: "AllowBypassPermissions", at: func(o *Options) any { return &o.AllowBypassPermissions }, flag: "--allow-dangerously-skip-permissions", since: since{"2.0.0", "2.0.77"}},
	{field: "CanUseTool", at: func(o *Options) any { return &o.CanUseTool }, callback: true,
		args: func(o *Options, _ *plan, a *arguments) {
			a.on("--permission-prompt-tool=stdio", o.CanUseTool != nil)
		}},
	{field: "PermissionPromptTool", at: func(o *Options) any { return &o.PermissionPromptTool }, flag: "--permission-prompt-tool", is: nameText},
	{field: "PermissionPrompts", at: func(o *Options) any { return &o.PermissionPrompts }, flag: "--permission-prompts", since: late,
		choices: []string{string(PermissionPromptsHost), string(PermissionPromptsNone)}},
	// Before the user's hooks: what is refused here need not be noted there.
	{field: "Subagents.AtOnce", at: func(o *Options) any { return &o.Subagents.AtOnce }, callback: true, handshake: registerAgentLimits,
		env: func(o *Options) (string, string) {
			return "CLAUDE_CODE_MAX_CONCURRENT_SUBAGENTS", strconv.Itoa(o.Subagents.AtOnce)
		}},
	{field: "Subagents.Depth", at: func(o *Options) any { return &o.Subagents.Depth }, callback: true, handshake: registerAgentLimits,
		env: func(o *Options) (string, string) {
			return "CLAUDE_CODE_MAX_SUBAGENT_SPAWN_DEPTH", strconv.Itoa(o.Subagents.Depth)
		}},
	{field: "Subagents.Total", at: func(o *Options) any { return &o.Subagents.Total }, callback: true, handshake: registerAgentLimits},
	{field: "Subagents.Started", at: func(o *Options) any { return &o.Subagents.Started }, local: true},
	{field: "Hooks", at: func(o *Options) any { return &o.Hooks }, since: since{has: "1.0.85"},
		handshake: registerHooks},
	{field: "HookFailure", at: func(o *Options) any { return &o.HookFailure }, with: "Hooks"},
	{field: "OnElicitation", at: func(o *Options) any { return &o.OnElicitation }, local: true, callback: true},
	{field: "OnUserDialog", at: func(o *Options) any { return &o.OnUserDialog }, with: "DialogKinds", callback: true},
	{field: "DialogKinds", at: func(o *Options) any { return &o.DialogKinds }, since: late, is: plainText,
		handshake: func(o *Options, p *plan) {
			if len(o.DialogKinds) > 0 {
				p.init.SupportedDialogKinds = o.DialogKinds
			}
		}},
	{field: "Requests", at: func(o *Options) any { return &o.Requests }, local: true, callback: true},
	{field: "QuestionPreview", at: func(o *Options) any { return &o.QuestionPreview }, since: late, choices: []string{string(QuestionPreviewMarkdown), string(QuestionPreviewHTML)},
		env: func(o *Options) (string, string) {
			return "CLAUDE_CODE_QUESTION_PREVIEW_FORMAT", string(o.QuestionPreview)
		}},

	// Agents, skills and plugins.
	{field: "Agents", at: func(o *Options) any { return &o.Agents }, since: since{"2.0.0", "2.0.77"},
		handshake: func(o *Options, p *plan) { p.init.Agents = o.Agents }},
	{field: "Agent", at: func(o *Options) any { return &o.Agent }, flag: "--agent", is: nameText},
	{field: "ForwardSubagentText", at: func(o *Options) any { return &o.ForwardSubagentText }, since: late,
		handshake: func(o *Options, p *plan) { p.init.ForwardSubagentText = o.ForwardSubagentText }},
	{field: "AgentProgressSummaries", at: func(o *Options) any { return &o.AgentProgressSummaries }, since: late,
		handshake: func(o *Options, p *plan) { p.init.AgentProgressSummaries = o.AgentProgressSummaries }},
	{field: "PerTaskStop", at: func(o *Options) any { return &o.PerTaskStop }, since: late,
		handshake: func(o *Options, p *plan) { p.init.PerTaskStopAffordance = o.PerTaskStop }},
	{field: "Skills", at: func(o *Options) any { return &o.Skills }, with: "AllowedTools", empty: true, since: late, is: plainText,
		handshake: func(o *Options, p *plan) { p.init.Skills = o.Skills }},
	{field: "AllSkills", at: func(o *Options) any { return &o.AllSkills }, with: "AllowedTools"},
	{field: "Plugins", at: func(o *Options) any { return &o.Plugins }, since: since{"2.0.0", "2.0.77"},
		args: func(o *Options, _ *plan, a *arguments) {
			for _, plugin := range o.Plugins {
				a.value(pluginFlag(plugin), plugin.Path)
			}
		}},

	// MCP servers. The handshake names those of this process.
	{field: "MCPServers", at: func(o *Options) any { return &o.MCPServers }, file: "--mcp-config", since: since{has: "1.0.119"},
		when:      func(o *Options) bool { return o.MCPServers.inProcess() },
		handshake: func(_ *Options, p *plan) { p.init.SDKMCPServers = slices.Sorted(maps.Keys(p.inside)) }},
	{field: "StrictMCPConfig", at: func(o *Options) any { return &o.StrictMCPConfig }, flag: "--strict-mcp-config"},

	// Sessions. The id is known before the first turn, even if the user chose
	// none.
	{field: "SessionID", at: func(o *Options) any { return &o.SessionID },
		args: func(_ *Options, p *plan, a *arguments) { a.value("--session-id", p.sessionID) }},
	{field: "Resume", at: func(o *Options) any { return &o.Resume }, flag: "--resume", with: "SessionID"},
	{field: "ResumeAt", at: func(o *Options) any { return &o.ResumeAt }, flag: "--resume-session-at", is: nameText},
	{field: "ResumeDropsTurn", at: func(o *Options) any { return &o.ResumeDropsTurn }, flag: "--resume-drops-turn", is: nameText},
	{field: "Continue", at: func(o *Options) any { return &o.Continue }, flag: "--continue", with: "SessionID"},
	{field: "ForkSession", at: func(o *Options) any { return &o.ForkSession }, flag: "--fork-session"},
	{field: "NoPersistence", at: func(o *Options) any { return &o.NoPersistence }, flag: "--no-session-persistence", since: since{"2.0.0", "2.0.77"}},
	{field: "Title", at: func(o *Options) any { return &o.Title }, since: late,
		handshake: func(o *Options, p *plan) { p.init.Title = o.Title }},
	{field: "Store", at: func(o *Options) any { return &o.Store }, since: since{"2.1.96", "2.1.97"},
		args:      func(o *Options, _ *plan, a *arguments) { a.on("--session-mirror", o.Store != nil) },
		when:      func(o *Options) bool { return o.Store.leases() },
		handshake: func(o *Options, p *plan) { o.Store.registerFence(p) }},
	{field: "FileCheckpointing", at: func(o *Options) any { return &o.FileCheckpointing }, since: since{"2.0.0", "2.0.77"},
		env: func(*Options) (string, string) { return "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING", "true" }},

	// Settings and sandbox.
	{field: "SettingSources", at: func(o *Options) any { return &o.SettingSources }, empty: true, since: since{"1.0.85", "1.0.128"},
		choices: []string{string(SettingSourceUser), string(SettingSourceProject), string(SettingSourceLocal)},
		args: func(o *Options, _ *plan, a *arguments) {
			if o.SettingSources != nil {
				*a = append(*a, inTwoWords("--setting-sources", strings.Join(words(o.SettingSources...), ","))...)
			}
		}},
	{field: "Settings", at: func(o *Options) any { return &o.Settings }, empty: true, file: "--settings", since: since{"1.0.59", "1.0.63"}},
	{field: "SettingsFile", at: func(o *Options) any { return &o.SettingsFile }, since: since{"1.0.59", "1.0.63"},
		args: func(o *Options, _ *plan, a *arguments) {
			if o.SettingsFile != "" {
				*a = append(*a, inTwoWords("--settings", o.SettingsFile)...)
			}
		}},
	{field: "ManagedSettings", at: func(o *Options) any { return &o.ManagedSettings }, empty: true, since: late,
		args: func(o *Options, _ *plan, a *arguments) {
			a.on(awaitFlag, o.ManagedSettings != nil)
			a.on("--managed-settings-in-initialize", o.ManagedSettings != nil)
		},
		handshake: func(o *Options, p *plan) {
			if o.ManagedSettings != nil {
				p.init.ManagedSettings, _ = json.Marshal(o.ManagedSettings) // checked before
			}
		}},
	{field: "Sandbox", at: func(o *Options) any { return &o.Sandbox }, file: "--settings", since: since{"1.0.59", "1.0.63"}},
	{field: "ProjectConfigRoot", at: func(o *Options) any { return &o.ProjectConfigRoot }, flag: "--project-config-root", since: late},
	{field: "AddDirs", at: func(o *Options) any { return &o.AddDirs },
		args: func(o *Options, _ *plan, a *arguments) {
			for _, dir := range o.AddDirs {
				a.value("--add-dir", dir)
			}
		}},

	// Limits of a session.
	{field: "MaxTurns", at: func(o *Options) any { return &o.MaxTurns }, flag: "--max-turns"},
	{field: "MaxBudgetUSD", at: func(o *Options) any { return &o.MaxBudgetUSD }, flag: "--max-budget-usd", since: since{"2.0.0", "2.0.77"}},
	{field: "MaxRetries", at: func(o *Options) any { return &o.MaxRetries },
		env: func(o *Options) (string, string) {
			return "CLAUDE_CODE_MAX_RETRIES", strconv.Itoa(max(o.MaxRetries, 0)) // NoRetries is negative
		},
		check: func(o *Options) string {
			if o.MaxRetries < NoRetries {
				return fmt.Sprintf("%d is negative (NoRetries means none)", o.MaxRetries)
			}
			return ""
		}},
	{field: "TaskBudget", at: func(o *Options) any { return &o.TaskBudget }, flag: "--task-budget", since: late},

	// Messages.
	{field: "PartialMessages", at: func(o *Options) any { return &o.PartialMessages }, flag: "--include-partial-messages", since: since{"1.0.85", "1.0.128"}},
	{field: "ReplayUserMessages", at: func(o *Options) any { return &o.ReplayUserMessages }, flag: echoFlag, since: sinceEchoes},
	{field: "HookEvents", at: func(o *Options) any { return &o.HookEvents }, flag: "--include-hook-events", since: late},
	{field: "SessionStates", at: func(o *Options) any { return &o.SessionStates }, local: true, since: late},

	// Process.
	{field: "CLIPath", at: func(o *Options) any { return &o.CLIPath }, process: true},
	{field: "Cwd", at: func(o *Options) any { return &o.Cwd }, process: true,
		env: func(o *Options) (string, string) {
			if filepath.IsAbs(o.Cwd) {
				return "PWD", o.Cwd // as os/exec does where it inherits
			}
			return "", ""
		}},
	{field: "Env", at: func(o *Options) any { return &o.Env }, empty: true,
		env: func(*Options) (string, string) { return "", "" }}, // by environ itself
	{field: "Stderr", at: func(o *Options) any { return &o.Stderr }, process: true},
	{field: "Debug", at: func(o *Options) any { return &o.Debug },
		args: func(o *Options, _ *plan, a *arguments) { a.on("--debug", o.Debug && o.DebugFile == "") }},
	{field: "DebugFile", at: func(o *Options) any { return &o.DebugFile }, flag: "--debug-file", since: late},
	{field: "Transport", at: func(o *Options) any { return &o.Transport }, local: true},

	// Observation, time and space.
	{field: "Logger", at: func(o *Options) any { return &o.Logger }, local: true},
	{field: "Trace", at: func(o *Options) any { return &o.Trace }, local: true},
	{field: "Timeouts.Initialize", at: func(o *Options) any { return &o.Timeouts.Initialize }, local: true, initial: 60 * time.Second},
	{field: "Timeouts.Control", at: func(o *Options) any { return &o.Timeouts.Control }, local: true, initial: 5 * time.Second},
	{field: "Timeouts.Rewind", at: func(o *Options) any { return &o.Timeouts.Rewind }, local: true, initial: 30 * time.Second},
	{field: "Timeouts.MCP", at: func(o *Options) any { return &o.Timeouts.MCP }, local: true, initial: 60 * time.Second},
	{field: "Timeouts.Callback", at: func(o *Options) any { return &o.Timeouts.Callback }, local: true},
	{field: "Timeouts.API", at: func(o *Options) any { return &o.Timeouts.API },
		env: func(o *Options) (string, string) {
			return "API_TIMEOUT_MS", strconv.FormatInt(max(o.Timeouts.API.Milliseconds(), 1), 10)
		},
		check: func(o *Options) string {
			if o.Timeouts.API < 0 || o.Timeouts.API > maxAPITimeout {
				return fmt.Sprintf("%v is not between 0 and %v", o.Timeouts.API, maxAPITimeout)
			}
			return ""
		}},
	{field: "Timeouts.Close", at: func(o *Options) any { return &o.Timeouts.Close }, local: true, initial: 5 * time.Second},
	{field: "Timeouts.Kill", at: func(o *Options) any { return &o.Timeouts.Kill }, local: true},
	{field: "Timeouts.Flush", at: func(o *Options) any { return &o.Timeouts.Flush }, local: true, initial: 10 * time.Second},
	{field: "Limits.Line", at: func(o *Options) any { return &o.Limits.Line }, local: true},
	{field: "Limits.Unread", at: func(o *Options) any { return &o.Limits.Unread }, local: true},
	{field: "Limits.Queued", at: func(o *Options) any { return &o.Limits.Queued }, local: true},
	{field: "Limits.Pending", at: func(o *Options) any { return &o.Limits.Pending }, local: true},
	{field: "Limits.Callbacks", at: func(o *Options) any { return &o.Limits.Callbacks }, local: true},

	// Last, so that it has the last word.
	{field: "ExtraArgs", at: func(o *Options) any { return &o.ExtraArgs },
		args: func(o *Options, _ *plan, a *arguments) { *a = append(*a, o.ExtraArgs...) }},
}

// optionRows yields the rows of the table.
func optionRows(yield func(*option) bool) {
	rows := optionTable[:]
	for i := range rows {
		if !yield(&rows[i]) {
			return
		}
	}
}

// set reports whether the option is set: to something that is not zero and, for
// most lists and maps, not empty.
func (r *option) set(o *Options) bool {
	switch v := r.at(o).(type) { // the most frequent kinds without reflection
	case *string:
		return *v != ""
	case *bool:
		return *v
	case *int:
		return *v != 0
	case *[]string:
		return len(*v) > 0 || r.empty && *v != nil
	}
	v := reflect.ValueOf(r.at(o)).Elem()
	if k := v.Kind(); k == reflect.Slice || k == reflect.Map {
		return v.Len() > 0 || r.empty && !v.IsNil()
	}
	return !v.IsZero()
}

// onCommandLine reports whether the command line carries the option, or names a
// file that does: a CLI that does not know the flag refuses to start.
func (r *option) onCommandLine() bool { return r.flag != "" || r.args != nil || r.file != "" }

// ignored reports whether a CLI too old for the option ignores it silently.
func (r *option) ignored() bool { return r.handshake != nil || !r.onCommandLine() }

// inUse yields the rows of the options that are set and whose columns about the
// control channel and versions count.
func (o *Options) inUse() iter.Seq[*option] {
	return func(yield func(*option) bool) {
		for r := range optionRows {
			if r.set(o) && (r.when == nil || r.when(o)) && !yield(r) {
				return
			}
		}
	}
}

// copyTo gives the copy of Options a list or map of its own: the user may change
// theirs.
func (r *option) copyTo(c *Options) {
	switch v := r.at(c).(type) {
	case *string, *bool, *int:
		return
	case *[]string:
		*v = slices.Clone(*v)
		return
	}
	v := reflect.ValueOf(r.at(c)).Elem()
	switch k := v.Kind(); {
	case k == reflect.Slice && !v.IsNil():
		own := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(own, v)
		v.Set(own)
	case k == reflect.Map && !v.IsNil():
		own := reflect.MakeMapWithSize(v.Type(), v.Len())
		for it := v.MapRange(); it.Next(); {
			own.SetMapIndex(it.Key(), it.Value())
		}
		v.Set(own)
	case v.CanInt() && v.IsZero() && r.initial != 0:
		v.SetInt(int64(r.initial))
	}
}
