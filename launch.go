package claude

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/uuid"
)

// plan is what Options become: a pure function of them, but for the random
// session id.
type plan struct {
	oneWay    bool // nothing needs the control channel: no handshake
	sessionID string
	args      []string
	env       []string
	init      *control.Initialize
	hooks     map[string]hook.Hook // by callback id
	silent    bool                 // the CLI that is installed neither names nor echoes prompts
	echoes    bool                 // we ask for an echo of every prompt, the user does not
	races     bool                 // there are PermissionRequest hooks, which the callback may overtake
	inside    map[string]MCPHandler
	outside   map[string]json.RawMessage // configurations of MCP servers
	settings  json.RawMessage            // nil for none
}

// hookMargin is added to the timeout that is sent, so that ours ends first and
// the failure policy decides what a slow hook means.
const hookMargin = 5 * time.Second

func newPlan(o *Options, oneShot bool) (*plan, error) {
	inside, outside, err := o.MCPServers.split()
	if err != nil {
		return nil, &OptionError{"MCPServers", err.Error()}
	}
	p := &plan{
		inside:    inside,
		outside:   outside,
		oneWay:    oneShot && !o.needsControl(),
		races:     slices.ContainsFunc(o.Hooks, func(h hook.Hook) bool { return h.Event == hook.EventPermissionRequest }),
		sessionID: o.SessionID,
		hooks:     make(map[string]hook.Hook),
	}
	if p.sessionID == "" && o.Resume == "" && !o.Continue {
		p.sessionID = uuid.New() // known before the first turn
	}
	if p.settings, err = o.settings(); err != nil {
		return nil, err
	}
	p.args = o.args(p)
	p.env = o.environ()
	p.init = o.initialize(p.hooks)
	p.init.JSONSchema = o.OutputSchema
	p.init.SDKMCPServers = slices.Sorted(maps.Keys(p.inside))
	return p, nil
}

// needsControl reports whether something works only over the control channel:
// callbacks, and what only the handshake carries. A system prompt of the
// user's is such a thing because it does not belong on a command line, and so
// is what an old CLI ignores, because the handshake shows its version.
func (o *Options) needsControl() bool {
	for _, server := range o.MCPServers {
		if _, ok := server.(MCPHandler); ok {
			return true
		}
	}
	return o.CanUseTool != nil || len(o.Hooks) > 0 || o.OnElicitation != nil || o.OnUserDialog != nil || len(o.Requests) > 0 ||
		len(o.OutputSchema) > outputOnArgv || o.ManagedSettings != nil || len(o.features()) > 0
}

// args returns the command line. Values are joined to their flags, so that a
// value that begins with a dash stays a value.
func (o *Options) args(p *plan) []string {
	args := []string{"--output-format=stream-json", "--verbose", "--input-format=stream-json"}
	flag := func(name, value string) {
		if value != "" {
			args = append(args, name+"="+value)
		}
	}
	list := func(name string, values []string) { flag(name, strings.Join(values, ",")) }
	on := func(name string, set bool) {
		if set {
			args = append(args, name)
		}
	}
	flag("--model", o.Model)
	flag("--fallback-model", o.FallbackModel)
	flag("--effort", string(o.Effort))
	switch {
	case o.Thinking.Budget > 0:
		flag("--max-thinking-tokens", strconv.Itoa(o.Thinking.Budget))
	case o.Thinking.Mode == ThinkingEnabled:
		flag("--thinking", "adaptive")
	default:
		flag("--thinking", string(o.Thinking.Mode))
	}
	flag("--thinking-display", string(o.Thinking.Display))
	list("--betas", o.Betas)
	on("--system-prompt=", o.SystemPrompt.empty()) // beside the handshake: 2.0.0 reads no prompt there
	if len(o.OutputSchema) <= outputOnArgv {
		flag("--json-schema", string(o.OutputSchema))
	}
	if o.Tools != nil {
		args = append(args, "--tools="+strings.Join(o.Tools, ","))
	}
	list("--allowedTools", o.allowed())
	list("--disallowedTools", o.DisallowedTools)
	flag("--permission-mode", string(o.PermissionMode))
	on("--allow-dangerously-skip-permissions", o.AllowBypassPermissions)
	on("--permission-prompt-tool=stdio", o.CanUseTool != nil)
	flag("--permission-prompt-tool", o.PermissionPromptTool)
	flag("--permission-prompts", string(o.PermissionPrompts))
	flag("--agent", o.Agent)
	for _, plugin := range o.Plugins {
		flag(pluginFlag(plugin), plugin.Path)
	}
	on("--strict-mcp-config", o.StrictMCPConfig)
	flag("--session-id", p.sessionID)
	flag("--resume", o.Resume)
	flag("--resume-session-at", o.ResumeAt)
	flag("--resume-drops-turn", o.ResumeDropsTurn)
	on("--continue", o.Continue)
	on("--fork-session", o.ForkSession)
	on("--no-session-persistence", o.NoPersistence)
	if o.SettingSources != nil {
		args = append(args, inTwoWords("--setting-sources", strings.Join(words(o.SettingSources...), ","))...)
	}
	if o.SettingsFile != "" {
		args = append(args, inTwoWords("--settings", o.SettingsFile)...)
	}
	on("--await-initialize", o.ManagedSettings != nil)
	on("--managed-settings-in-initialize", o.ManagedSettings != nil)
	flag("--project-config-root", o.ProjectConfigRoot)
	for _, dir := range o.AddDirs {
		flag("--add-dir", dir)
	}
	if o.MaxTurns > 0 {
		flag("--max-turns", strconv.Itoa(o.MaxTurns))
	}
	if o.MaxBudgetUSD > 0 {
		flag("--max-budget-usd", strconv.FormatFloat(o.MaxBudgetUSD, 'f', -1, 64))
	}
	if o.TaskBudget > 0 {
		flag("--task-budget", strconv.Itoa(o.TaskBudget))
	}
	on("--include-partial-messages", o.PartialMessages)
	on("--replay-user-messages", o.ReplayUserMessages)
	on("--include-hook-events", o.HookEvents)
	on("--debug", o.Debug && o.DebugFile == "")
	flag("--debug-file", o.DebugFile)
	return append(args, o.ExtraArgs...)
}

// inTwoWords is the form of two flags that 1.0.128 and 2.0.0 look for before
// they parse the rest: joined to their values they are ignored without a word.
// A value that looks like a flag stays joined.
func inTwoWords(name, value string) []string {
	if strings.HasPrefix(value, "-") {
		return []string{name + "=" + value}
	}
	return []string{name, value}
}

// environ returns the CLI's environment. Two variables are taken out that end
// a child before it begins: NODE_OPTIONS of a debugger, and the mark by which
// older CLIs refuse to run inside themselves. What this process would merely
// hand down is taken out, too, if it is of uninherited; who wants it for the
// CLI says so in Env.
func (o *Options) environ() []string {
	env, drop := o.Env, []string{"NODE_OPTIONS", "CLAUDECODE"}
	if env == nil {
		env, drop = os.Environ(), append(drop, uninherited[:]...)
	}
	env = slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.ContainsFunc(drop, func(bad string) bool { return strings.EqualFold(name, bad) })
	})
	for _, entry := range []string{"CLAUDE_CODE_ENTRYPOINT=sdk-go", "CLAUDE_AGENT_SDK_VERSION=" + Version, readsStates + "=1"} {
		if name, _, _ := strings.Cut(entry, "="); !setIn(env, name) {
			env = append(env, entry)
		}
	}
	set := func(name, value string) { // goes before what Env says, for any Transport
		env = slices.DeleteFunc(env, func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
		env = append(env, name+"="+value)
	}
	if filepath.IsAbs(o.Cwd) {
		set("PWD", o.Cwd) // as os/exec does where it inherits
	}
	if o.FileCheckpointing {
		set("CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING", "true")
	}
	if o.VerbatimPrompts {
		// A prompt is sent as it is, but the arguments that the model gives to
		// a skill are read like a prompt.
		set("CLAUDE_CODE_DISABLE_FILE_MENTIONS", "1")
	}
	if o.MaxRetries != 0 {
		set("CLAUDE_CODE_MAX_RETRIES", strconv.Itoa(max(o.MaxRetries, 0))) // NoRetries is negative
	}
	if o.Timeouts.API > 0 {
		set("API_TIMEOUT_MS", strconv.FormatInt(max(o.Timeouts.API.Milliseconds(), 1), 10))
	}
	if o.QuestionPreview != "" {
		set("CLAUDE_CODE_QUESTION_PREVIEW_FORMAT", string(o.QuestionPreview))
	}
	return env
}

// Variables that make the CLI say when it is idle or busy. The first is always
// set: only the CLI knows when background agents are done and answered.
const (
	readsStates = "CLAUDE_CODE_SDK_READS_SESSION_STATE"
	emitsStates = "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS"
)

// readsStates reports whether the user wants to see these states.
func (o *Options) readsStates() bool {
	env := o.Env
	if env == nil {
		env = os.Environ()
	}
	return o.SessionStates || setIn(env, readsStates) || setIn(env, emitsStates)
}

// setIn reports whether an environment has a variable.
func setIn(env []string, name string) bool {
	return slices.ContainsFunc(env, func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
}

// homeOf is the home directory of a CLI with this environment: what it takes a
// tilde for. Without the variable it asks the system who runs it.
func homeOf(env []string) string {
	name := "HOME"
	if runtime.GOOS == "windows" {
		name = "USERPROFILE"
	}
	for _, entry := range slices.Backward(env) { // the last one counts
		if value, ok := strings.CutPrefix(entry, name+"="); ok && value != "" {
			return value
		}
	}
	if u, err := user.Current(); err == nil {
		return u.HomeDir
	}
	return ""
}

// uninherited are variables that are meant for the program that has them, and
// would do harm in the CLI: they load code into it, open it to a debugger, tie
// it to an editor, or make it write its log between the lines of the protocol.
var uninherited = [...]string{
	"LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES",
	"BUN_OPTIONS", "BUN_INSPECT", "BUN_INSPECT_CONNECT_TO", "BUN_INSPECT_NOTIFY", "BUN_INSPECT_PRELOAD",
	"NODE_REPL_EXTERNAL_MODULE", "VSCODE_INSPECTOR_OPTIONS",
	"CLAUDE_CODE_SSE_PORT", "ANTHROPIC_LOG",
}

// initialize returns the handshake, and registers hooks under the ids in it.
func (o *Options) initialize(hooks map[string]hook.Hook) *control.Initialize {
	init := &control.Initialize{AppendSystemPrompt: o.SystemPrompt.Append}
	if len(o.DialogKinds) > 0 {
		init.SupportedDialogKinds = o.DialogKinds
	}
	o.describe(init)
	for i, h := range o.Hooks {
		id := fmt.Sprintf("hook_%d", i)
		hooks[id] = h
		m := control.HookMatcher{CallbackIDs: []string{id}}
		if h.Matcher != "" {
			m.Matcher = &h.Matcher
		}
		if h.Timeout > 0 {
			m.Timeout = (h.Timeout + hookMargin).Seconds()
		}
		if o.failsClosed(h) || o.undecided(h) && h.Event.Gate() {
			m.OnFailure = "block" // for failures that only the CLI sees
		}
		if init.Hooks == nil {
			init.Hooks = make(map[string][]control.HookMatcher)
		}
		init.Hooks[string(h.Event)] = append(init.Hooks[string(h.Event)], m)
	}
	return init
}

func (o *Options) failsClosed(h hook.Hook) bool {
	if h.OnFailure != 0 {
		return h.OnFailure == hook.FailClosed
	}
	return o.HookFailure == hook.FailClosed
}

// undecided reports whether no policy says what the failure of a hook means.
func (o *Options) undecided(h hook.Hook) bool { return h.OnFailure == 0 && o.HookFailure == 0 }

// strictest stands for a hook that is called by an id that none has: it fails
// as the strictest of the hooks does that it might have been.
func (o *Options) strictest(event hook.Event) hook.Hook {
	found, most := hook.Hook{Event: event}, 0
	for _, other := range o.Hooks {
		strict := 1
		switch {
		case o.failsClosed(other):
			strict = 3
		case o.undecided(other) && other.Event.Gate():
			strict = 2
		}
		if (other.Event == event || event == "") && strict > most {
			found, most = hook.Hook{Event: other.Event, OnFailure: other.OnFailure}, strict
		}
	}
	return found
}
