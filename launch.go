package claude

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/proc"
	"github.com/claude-agent-go/claude/internal/secret"
	"github.com/claude-agent-go/claude/internal/uuid"
)

// plan is the outcome of Options: a pure function of them, apart from the
// random session id.
type plan struct {
	oneWay    bool // nothing needs the control channel, so there is no handshake
	resumes   bool // the session continues an earlier one
	sessionID string
	args      []string
	env       []string
	init      *control.Initialize
	hooks     map[string]hook.Hook // by callback id
	before    []registration       // of PreToolUse
	chain     *chain               // of these, if there are several
	agents    *agentCounter        // nil: their number is not limited
	silent    bool                 // the installed CLI neither names nor echoes prompts
	echoes    bool                 // we ask for an echo of every prompt, the user does not
	// dispensable are flags that the CLI may not know and that the session can do
	// without.
	dispensable []string
	races       bool // there are PermissionRequest hooks, which the callback may overtake
	inside      map[string]MCPHandler
	outside     map[string]json.RawMessage // configurations of MCP servers
	settings    json.RawMessage            // nil for none
	files       []LaunchFile               // that args and env name
}

// hookMargin is added to the timeout that the CLI gets, so that ours ends first
// and the failure policy decides what a slow hook means.
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
		resumes:   o.resumes(),
		races:     slices.ContainsFunc(o.Hooks, func(h hook.Hook) bool { return h.Event == hook.EventPermissionRequest }),
		sessionID: o.SessionID,
		hooks:     make(map[string]hook.Hook),
		init:      new(control.Initialize),
	}
	if p.sessionID == "" && !p.resumes {
		p.sessionID = uuid.New() // known before the first turn
	}
	if p.settings, err = settingsOf(o); err != nil {
		return nil, err
	}
	p.args = o.args(p)
	p.env = o.environ()
	for r := range optionRows {
		if r.handshake != nil {
			r.handshake(o, p)
		}
	}
	p.joinHooks(o)
	return p, nil
}

// needsControl reports whether an option works only over the control channel:
// callbacks, and whatever the handshake carries. That includes a user's system
// prompt, which does not belong on a command line, and options that an old CLI
// ignores, because the handshake shows its version.
func (o *Options) needsControl() bool {
	for r := range o.inUse() {
		if r.callback || r.handshake != nil || !r.since.always() && r.ignored() {
			return true
		}
	}
	return false
}

// args returns the command line.
func (o *Options) args(p *plan) []string {
	args := arguments{"--output-format=stream-json", "--verbose", "--input-format=stream-json"}
	for r := range optionRows {
		switch {
		case r.args != nil:
			r.args(o, p, &args)
		case r.flag != "":
			args.add(r.flag, r.at(o))
		}
	}
	return args
}

// arguments is a command line in the making. Values are joined to their flags,
// so that a value that begins with a dash stays a value.
type arguments []string

func (a *arguments) value(name, value string) {
	if value != "" {
		*a = append(*a, name+"="+value)
	}
}

func (a *arguments) list(name string, values []string) { a.value(name, strings.Join(values, ",")) }

func (a *arguments) on(name string, set bool) {
	if set {
		*a = append(*a, name)
	}
}

// add adds a flag for a field according to its type. A zero field adds nothing.
func (a *arguments) add(name string, field any) {
	switch v := field.(type) {
	case *bool:
		a.on(name, *v)
	case *int:
		if *v > 0 {
			a.value(name, strconv.Itoa(*v))
		}
	case *float64:
		if *v > 0 {
			a.value(name, strconv.FormatFloat(*v, 'f', -1, 64))
		}
	case *[]string:
		a.list(name, *v)
	default:
		a.value(name, reflect.ValueOf(v).Elem().String()) // a kind of text
	}
}

// allowed returns the rules for calls allowed without asking, including those
// for skills: the CLI asks about every skill that no rule allows.
func (o *Options) allowed() []string {
	rules := slices.Clone(o.AllowedTools)
	add := func(rule string) {
		if !slices.Contains(rules, rule) {
			rules = append(rules, rule)
		}
	}
	if o.AllSkills {
		add("Skill")
	}
	for _, name := range o.Skills {
		add("Skill(" + name + ")")
	}
	return rules
}

// pluginFlag returns the flag that loads a plugin.
func pluginFlag(p control.PluginConfig) string {
	if p.SkipMCPDiscovery {
		return "--plugin-dir-no-mcp"
	}
	return "--plugin-dir"
}

// inTwoWords returns the form of two flags that 1.0.128 and 2.0.0 look for
// before they parse the rest: joined to their values, these flags are silently
// ignored. A value that looks like a flag stays joined.
func inTwoWords(name, value string) []string {
	if strings.HasPrefix(value, "-") {
		return []string{name + "=" + value}
	}
	return []string{name, value}
}

// environ returns the CLI's environment. Variables that this process merely
// inherited pass through the table of [proc.Inherit]; a caller who wants one of
// them for the CLI puts it into Env.
func (o *Options) environ() []string {
	env := proc.Inherit(os.Environ())
	if o.Env != nil {
		env = proc.Chosen(o.Env)
	}
	for _, entry := range []string{"CLAUDE_CODE_ENTRYPOINT=sdk-go", "CLAUDE_AGENT_SDK_VERSION=" + Version, readsStates + "=1"} {
		if name, _, _ := strings.Cut(entry, "="); !setIn(env, name) {
			env = append(env, entry)
		}
	}
	for r := range optionRows {
		if r.env == nil || !r.set(o) {
			continue
		}
		if name, value := r.env(o); name != "" {
			env = withVariable(env, name, value)
		}
	}
	return env
}

// withVariable sets a variable, even for a Transport that takes the first of two.
func withVariable(env []string, name, value string) []string {
	env = slices.DeleteFunc(env, func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
	return append(env, name+"="+value)
}

// setEnv sets a variable of the CLI and overrides the options.
func (p *plan) setEnv(name, value string) { p.env = withVariable(p.env, name, value) }

// Variables that make the CLI report when it is idle or busy. The first is
// always set: only the CLI knows when background agents are done and answered.
const (
	readsStates = "CLAUDE_CODE_SDK_READS_SESSION_STATE"
	emitsStates = "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS"
)

// readsStates reports whether the user asked for these states.
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

// registerHooks puts the hooks into the handshake, under ids.
func registerHooks(o *Options, p *plan) {
	for i, h := range o.Hooks {
		p.addHook(registration{fmt.Sprintf("hook_%d", i), h, o.blocks(h)})
	}
}

// registration is a hook on its way into the handshake.
type registration struct {
	id     string
	hook   hook.Hook
	blocks bool
}

// addHook registers a hook, and collects those of PreToolUse.
func (p *plan) addHook(r registration) {
	if r.hook.Event == hook.EventPreToolUse {
		p.before = append(p.before, r)
		return
	}
	p.register(r.id, r.hook, r.blocks)
}

// register puts a hook into the handshake, under an id. A hook that blocks also
// blocks on failures that only the CLI sees.
func (p *plan) register(id string, h hook.Hook, blocks bool) {
	p.hooks[id] = h
	m := control.HookMatcher{CallbackIDs: []string{id}}
	if h.Matcher != "" {
		m.Matcher = &h.Matcher
	}
	if h.Timeout > 0 {
		m.Timeout = (h.Timeout + hookMargin).Seconds()
	}
	if blocks {
		m.OnFailure = "block"
	}
	if p.init.Hooks == nil {
		p.init.Hooks = make(map[string][]control.HookMatcher)
	}
	p.init.Hooks[string(h.Event)] = append(p.init.Hooks[string(h.Event)], m)
}

func (o *Options) failsClosed(h hook.Hook) bool {
	if h.OnFailure != 0 {
		return h.OnFailure == hook.FailClosed
	}
	return o.HookFailure == hook.FailClosed
}

// blocks reports whether the CLI should block if a hook gives no answer.
func (o *Options) blocks(h hook.Hook) bool {
	return o.failsClosed(h) || o.undecided(h) && h.Event.Gate()
}

// undecided reports whether no policy decides what the failure of a hook means.
func (o *Options) undecided(h hook.Hook) bool { return h.OnFailure == 0 && o.HookFailure == 0 }

// strictest stands in for a hook with an unknown id: it fails as strictly as any
// hook that it might have been.
func (o *Options) strictest(hooks []hook.Hook, event hook.Event) hook.Hook {
	found, most := hook.Hook{Event: event}, 0
	for _, other := range hooks {
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

// secrets collects the confidential values in the files of a session: headers,
// and values under names that suggest a key or a token.
func (p *plan) secrets() []string {
	found := make(map[string]bool)
	for _, text := range append(slices.Collect(maps.Values(p.outside)), p.settings, p.init.ManagedSettings) {
		var value any
		if json.Unmarshal(text, &value) == nil {
			collectSecrets(value, false, found)
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// collectSecrets searches a JSON value. telling reports that the name of the
// value, or of something around it, suggests a secret.
func collectSecrets(value any, telling bool, found map[string]bool) {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			collectSecrets(inner, telling || secret.IsSecretName(name), found)
		}
	case []any:
		for _, inner := range v {
			collectSecrets(inner, telling, found)
		}
	case string:
		if telling {
			found[v] = true
			for _, word := range strings.Fields(v) { // of "Bearer …"
				found[word] = true
			}
		}
	}
}

// mustBeAsked returns a hook that must not be bypassed, or nil: one that fails
// closed, or one at a gate whose failure policy was never set. The permission
// callback is not among them: the command line announces it, so the CLI asks it
// at any time.
func (o *Options) mustBeAsked(version string) *hook.Hook {
	for i := range o.Hooks {
		h := &o.Hooks[i]
		if o.failsClosed(*h) || o.undecided(*h) && h.Event.Gate() && !sinceDefer.missing(version) {
			return h
		}
	}
	return nil
}

// unguarded is the error of a CLI that would bypass a hook.
func (o *Options) unguarded(h *hook.Hook, version string) error {
	field := "Resume"
	if o.Continue {
		field = "Continue"
	}
	return &OptionError{field, fmt.Sprintf("with a hook of %s the CLI must be %s or newer, this one is %s: older ones may continue with a tool call before the hook is registered",
		h.Event, sinceAwait.has, cmp.Or(version, "older"))}
}
