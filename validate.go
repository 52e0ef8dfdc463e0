package claude

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/matcher"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// Validate reports the first option that cannot be used, as an [*OptionError]. It starts and
// changes nothing. [Connect] and its like report the same, and what only the CLI or the
// store can know.
func (o *Options) Validate() error { return o.clone().validate() }

// validate reports the first option that cannot be used, before anything is
// started: first each by itself, then combinations.
func (o *Options) validate() error {
	for r := range optionRows {
		if problem := r.problem(o); problem != "" {
			return &OptionError{r.field, problem}
		}
	}
	for _, check := range [...]func(*Options) *OptionError{
		checkConflicts, checkRules, checkAsking, checkSession, checkEntries, checkHooks,
		func(o *Options) *OptionError { return o.MCPServers.check() }, checkOutput, checkAgents, checkSettings, checkStore,
	} {
		if err := check(o); err != nil {
			return err
		}
	}
	return nil
}

// maxAPITimeout is the longest timeout of the CLI's timers: a longer one fires
// at once.
const maxAPITimeout = math.MaxInt32 * time.Millisecond

// problem explains what is wrong with the value of an option, by its row or by
// the type of the field; "" if nothing is.
func (r *option) problem(o *Options) string {
	if r.check != nil {
		return r.check(o)
	}
	switch v := r.at(o).(type) {
	case *string:
		return r.textProblem(*v)
	case *[]string:
		return r.listProblem(*v)
	case *time.Duration:
		if *v < 0 && *v != NoTimeout {
			return fmt.Sprintf("%v is negative (NoTimeout takes the bound away)", *v)
		}
		return ""
	}
	switch v := reflect.ValueOf(r.at(o)).Elem(); v.Kind() {
	case reflect.Int:
		return numberProblem(float64(v.Int()))
	case reflect.Float64:
		return numberProblem(v.Float())
	case reflect.String: // of a type of its own
		return r.textProblem(v.String())
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.String {
			return ""
		}
		for i := range v.Len() {
			if problem := r.entryProblem(v.Index(i).String()); problem != "" {
				return problem
			}
		}
	}
	return ""
}

func numberProblem(n float64) string {
	if !(n >= 0) { // also refuses NaN
		return fmt.Sprintf("%v is negative or no number", n)
	}
	return ""
}

// textProblem explains what is wrong with a text; an empty text has no problem.
func (r *option) textProblem(text string) string {
	if text == "" {
		return ""
	}
	return r.entryProblem(text)
}

func (r *option) listProblem(list []string) string {
	for _, text := range list {
		if problem := r.entryProblem(text); problem != "" {
			return problem
		}
	}
	return ""
}

// entryProblem explains what is wrong with a text that counts even if it is
// empty. A control character has no place in a name, a comma would split it in
// two, and a text with a NUL byte cannot be passed to a process.
func (r *option) entryProblem(text string) string {
	travels := r.onCommandLine() || r.env != nil || r.process
	switch {
	case r.choices != nil:
		if !slices.Contains(r.choices, text) {
			return fmt.Sprintf("%q is not one of %s", text, strings.Join(r.choices, ", "))
		}
	case (r.is >= plainText || travels) && strings.ContainsRune(text, 0):
		return "contains a NUL byte"
	case r.is >= nameText && strings.ContainsFunc(text, unicode.IsControl):
		return fmt.Sprintf("%q contains a control character", text)
	case r.is == entryText && (text == "" || strings.Contains(text, ",")):
		return fmt.Sprintf("%q is empty or contains a comma", text)
	}
	return ""
}

// words returns values in the CLI's spelling.
func words[S ~string](values ...S) []string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = string(v)
	}
	return list
}

func checkConflicts(o *Options) *OptionError {
	switch {
	case o.SystemPrompt.Preset && (o.SystemPrompt.Text != "" || o.SystemPrompt.Sections != nil):
		return &OptionError{"SystemPrompt", "both Preset and Text are set"}
	case o.SystemPrompt.Text != "" && o.SystemPrompt.Sections != nil:
		return &OptionError{"SystemPrompt", "both Text and Sections are set"}
	case o.SystemPrompt.Static && !o.SystemPrompt.Preset:
		return &OptionError{"SystemPrompt.Static", "needs Preset"}
	case o.Thinking.Budget > 0 && o.Thinking.Mode != ThinkingEnabled:
		return &OptionError{"Thinking.Budget", `needs Mode "enabled"`}
	case o.FallbackModel != "" && o.FallbackModel == o.Model:
		return &OptionError{"FallbackModel", "is the same as Model"}
	}
	for _, rule := range o.DisallowedTools {
		if slices.Contains(o.AllowedTools, rule) {
			return &OptionError{"AllowedTools", fmt.Sprintf("%q is in DisallowedTools too", rule)}
		}
	}
	return nil
}

func checkSession(o *Options) *OptionError {
	resumes := o.Resume != "" || o.Continue
	switch {
	case o.Resume != "" && o.Continue:
		return &OptionError{"Continue", "both Resume and Continue are set"}
	case o.ForkSession && !resumes:
		return &OptionError{"ForkSession", "needs Resume or Continue"}
	case o.ResumeAt != "" && o.Resume == "":
		return &OptionError{"ResumeAt", "needs Resume"}
	case o.ResumeDropsTurn != "" && o.ResumeAt == "":
		return &OptionError{"ResumeDropsTurn", "needs ResumeAt"}
	case o.SessionID != "" && !uuid.Valid(o.SessionID):
		return &OptionError{"SessionID", fmt.Sprintf("%q is not a UUID", o.SessionID)}
	case o.Resume != "" && !uuid.Valid(o.Resume):
		// The CLI also takes titles and paths of files here. An id that came
		// from a request must not become one.
		return &OptionError{"Resume", fmt.Sprintf("%q is not a UUID", o.Resume)}
	case o.SessionID != "" && resumes && !o.ForkSession:
		return &OptionError{"SessionID", "a resumed session keeps its id unless ForkSession is set"}
	}
	return nil
}

// checkEntries refuses entries of lists that the CLI or the system would misread.
func checkEntries(o *Options) *OptionError {
	for _, dir := range o.AddDirs {
		if dir == "" {
			return &OptionError{"AddDirs", "contains an empty path"}
		}
	}
	for i, entry := range o.Env {
		if !strings.Contains(entry, "=") { // not shown: it may be a secret
			return &OptionError{"Env", fmt.Sprintf("entry %d is not NAME=value", i)}
		}
	}
	return nil
}

func checkHooks(o *Options) *OptionError {
	for i, h := range o.Hooks {
		field := fmt.Sprintf("Hooks[%d]", i)
		switch {
		case h.Event == "":
			return &OptionError{field, "has no event"}
		case h.Func == nil:
			return &OptionError{field, "has no function"}
		case h.Timeout < 0 && h.Timeout != NoTimeout:
			return &OptionError{field, "has a negative timeout"}
		}
		if wrong := cmp.Or(checkMatcher(h), checkOrder(h)); wrong != "" {
			return &OptionError{field, wrong}
		}
	}
	return nil
}

// checkOrder refuses a hook that could never be asked at the right time: one
// with a stage that its event does not have, or a guard that guards nothing.
func checkOrder(h hook.Hook) string {
	if h.Event != hook.EventPreToolUse {
		if h.Stage != hook.StageHook {
			return fmt.Sprintf("has a stage: only %s hooks are asked in stages", hook.EventPreToolUse)
		}
		return ""
	}
	if h.Stage < hook.StageHook || h.Stage > hook.StageRelease {
		return fmt.Sprintf("has an unknown stage, %d", h.Stage)
	}
	if h.Stage == hook.StageGuard && !guardsTool(h.Matcher) {
		return fmt.Sprintf("is a guard, and its matcher %q names no tool that is known: it would guard nothing. Use the empty matcher to look at every call", h.Matcher)
	}
	return ""
}

// guardsTool reports whether a matcher names tools that exist: each of its
// names must be known, and a regular expression must fit one. Tools of MCP
// servers become known only when they are called.
func guardsTool(pattern string) bool {
	if matcher.Plain(pattern) && !matcher.All(pattern) {
		names := matcher.Names(pattern)
		return len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool { return !builtIn(name) && !mcpTool.MatchString(name) })
	}
	fits, err := matcher.Compile(pattern)
	if err != nil {
		return errors.Is(err, matcher.ErrForeign) // only the CLI can tell
	}
	return strings.Contains(pattern, "mcp__") || slices.ContainsFunc(permission.BuiltInTools(), fits)
}

// mcpTool is the name of a tool of an MCP server.
var mcpTool = regexp.MustCompile(`^mcp__.+__.+$`)

// checkAgents refuses agents, skills and plugins that the CLI would drop or
// misread.
func checkAgents(o *Options) *OptionError {
	for _, name := range slices.Sorted(maps.Keys(o.Agents)) {
		field := fmt.Sprintf("Agents[%q]", name)
		switch agent := o.Agents[name]; {
		case strings.TrimSpace(name) == "":
			return &OptionError{field, "has no name"}
		case agent.Description == "":
			return &OptionError{field, "has no description: Claude chooses agents by it"}
		case agent.Prompt == "":
			return &OptionError{field, "has no prompt"}
		}
	}
	if o.AllSkills && o.Skills != nil {
		return &OptionError{"AllSkills", "both AllSkills and Skills are set"}
	}
	for _, name := range o.Tools {
		if right := otherCase(name); right != "" {
			return &OptionError{"Tools", fmt.Sprintf("%q is not a tool: it is %s", name, right)}
		}
		if strings.ContainsAny(name, "()") {
			return &OptionError{"Tools", fmt.Sprintf("%q is a rule: Tools names tools; rules go into AllowedTools", name)}
		}
	}
	for _, name := range o.Skills {
		if problem := checkSkill(name); problem != "" {
			return &OptionError{"Skills", fmt.Sprintf("%q %s", name, problem)}
		}
	}
	for i, p := range o.Plugins {
		field := fmt.Sprintf("Plugins[%d]", i)
		switch {
		case p.Type != "" && p.Type != "local":
			return &OptionError{field, fmt.Sprintf("has type %q: only local plugins can be loaded", p.Type)}
		case p.Path == "" || strings.ContainsRune(p.Path, 0):
			return &OptionError{field, "has no usable path"}
		}
	}
	for from, to := range o.ToolAliases {
		if from == "" || to == "" {
			return &OptionError{"ToolAliases", "has an empty name"}
		}
	}
	if o.ProjectConfigRoot != "" && !filepath.IsAbs(o.ProjectConfigRoot) {
		return &OptionError{"ProjectConfigRoot", "is not an absolute path"}
	}
	return nil
}

// checkSkill refuses names that would become another permission rule than that
// of the skill.
func checkSkill(name string) string {
	switch {
	case name == "" || strings.TrimSpace(name) != name:
		return "is empty or padded"
	case strings.ContainsAny(name, "(),"), strings.ContainsFunc(name, unicode.IsControl), strings.ContainsRune(name, '\ufeff'):
		return "contains a character that no skill has"
	case name == "*", strings.HasSuffix(name, ":*"), strings.HasSuffix(name, " *"):
		return "is a wildcard: set AllSkills"
	case strings.HasPrefix(name, "/"):
		return "begins with a slash"
	case strings.Contains(name, `\\`), strings.HasSuffix(name, `\`):
		return "has a backslash that would escape"
	}
	return ""
}

// Decisions taken before a callback is asked. Where two options can never work
// together, the start fails. Where a mode leaves next to nothing for the
// callback to decide, the log has a warning; where rules leave less, a line at
// debug level.

// checkAsking refuses two options where one would silently replace the other.
func checkAsking(o *Options) *OptionError {
	switch {
	case o.PermissionPromptTool != "" && o.CanUseTool != nil:
		return &OptionError{"PermissionPromptTool", "would be asked instead of CanUseTool: set one of them"}
	case o.PermissionPromptTool == "stdio":
		return &OptionError{"PermissionPromptTool", "stdio is this process: set CanUseTool"}
	case o.CanUseTool != nil && o.hasExtra("--permission-prompt-tool"):
		return &OptionError{"ExtraArgs", "--permission-prompt-tool would be asked instead of CanUseTool"}
	case o.PermissionPrompts == PermissionPromptsNone && (o.CanUseTool != nil || o.PermissionPromptTool != ""):
		return &OptionError{"PermissionPrompts", "none keeps CanUseTool and PermissionPromptTool from being asked"}
	case len(o.DialogKinds) > 0 && o.OnUserDialog == nil:
		return &OptionError{"DialogKinds", "needs OnUserDialog"}
	case o.OnUserDialog != nil && len(o.DialogKinds) == 0:
		return &OptionError{"OnUserDialog", "needs DialogKinds: the CLI shows only dialogs of the kinds it is given"}
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

// checkRules refuses rules that the CLI would misread. The CLI reads them as
// one list: a missing parenthesis swallows the rules that follow.
func checkRules(o *Options) *OptionError {
	for _, list := range []struct {
		field string
		rules []string
	}{{"AllowedTools", o.AllowedTools}, {"DisallowedTools", o.DisallowedTools}} {
		for _, rule := range list.rules {
			parsed, err := permission.ParseRule(rule)
			if err != nil {
				return &OptionError{list.field, err.Error()}
			}
			if right := otherCase(parsed.ToolName); right != "" {
				return &OptionError{list.field, fmt.Sprintf("the CLI never applies %q: the tool is %s", rule, right)}
			}
			if why := neverApplies(parsed); why != "" {
				return &OptionError{list.field, fmt.Sprintf("the CLI never applies %q: %s", rule, why)}
			}
			if meant := meantFromRoot(o, parsed); meant != "" {
				return &OptionError{list.field, fmt.Sprintf("%q is about a file of the working directory: write %s for %s",
					rule, permission.Rule{ToolName: parsed.ToolName, RuleContent: "/" + meant}, meant)}
			}
			if cut(rule) {
				return &OptionError{list.field, fmt.Sprintf("the CLI would cut %q in two: use a pattern in place of the parentheses", rule)}
			}
		}
	}
	for _, name := range o.Skills {
		if _, err := permission.ParseRule("Skill(" + name + ")"); err != nil || strings.ContainsAny(name, "()") {
			return &OptionError{"Skills", fmt.Sprintf("%q is not the name of a skill", name)}
		}
	}
	return nil
}

// meantFromRoot returns the path of a rule such as Read(/etc/passwd), which the
// CLI resolves against its working directory, if its first name exists at the
// root of the file system and not in the working directory. It returns "" for
// any other rule.
func meantFromRoot(o *Options, r permission.Rule) string {
	path, ok := strings.CutPrefix(r.RuleContent, "/")
	first, _, _ := strings.Cut(path, "/")
	if !ok || first == "" || strings.ContainsAny(first, "*?[") || r.ToolName != "Read" && r.ToolName != "Edit" {
		return ""
	}
	if _, err := os.Lstat(filepath.Join(o.Cwd, first)); err == nil {
		return ""
	}
	if _, err := os.Lstat("/" + first); err != nil {
		return ""
	}
	return r.RuleContent
}

// neverApplies explains why the CLI accepts a rule and never applies it; "" if
// it does apply it. The forms were tried on CLI 2.1.325.
func neverApplies(r permission.Rule) string {
	content := r.RuleContent
	if content == "" || content == "*" || content == "**" {
		return ""
	}
	switch r.ToolName {
	case "Bash":
		switch {
		case strings.TrimSpace(content) == "" || content == ":*":
			return "write Bash for all commands"
		case strings.HasSuffix(content, ":") || strings.Contains(strings.TrimSuffix(content, ":*"), ":* "):
			return "a prefix ends with :*"
		case len(content) > 1 && content[0] == '"' && content[len(content)-1] == '"':
			return "a command stands there without quotes"
		}
	case "Read", "Edit":
		switch {
		case strings.HasSuffix(content, ":*"):
			return "a path has no :*"
		case strings.HasPrefix(content, "!"):
			return "a pattern cannot be an exception"
		}
	case "Write", "MultiEdit", "NotebookEdit":
		return "paths go into Edit(…), for all tools that write"
	case "Agent", "Task":
		if strings.Contains(content, "*") {
			return "an agent has no pattern"
		}
	case "WebFetch":
		if !strings.HasPrefix(content, "domain:") {
			return "want WebFetch(domain:host)"
		}
	}
	return ""
}

// cut reports whether the CLI splits a rule of its command line: at a comma or
// a blank that follows a closing parenthesis, even one behind a backslash, with
// no opening one in between.
func cut(rule string) bool {
	inside := false
	for _, c := range strings.TrimSpace(rule) {
		switch c {
		case '(':
			inside = true
		case ')':
			inside = false
		case ',', ' ', '\t', '\n':
			if !inside {
				return true
			}
		}
	}
	return false
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

// extra returns the values that ExtraArgs gives to a flag, in both forms.
func (o *Options) extra(flag string) []string {
	var values []string
	for i, arg := range o.ExtraArgs {
		name, value, joined := strings.Cut(arg, "=")
		switch {
		case name != flag:
		case joined:
			values = append(values, value)
		case i+1 < len(o.ExtraArgs):
			values = append(values, o.ExtraArgs[i+1])
		}
	}
	return values
}

// warn logs, in one line, what keeps the permission callback from being asked.
func (o *Options) warn() {
	if o.CanUseTool == nil {
		return
	}
	modes := append(o.extra("--permission-mode"), string(o.PermissionMode))
	switch {
	case slices.Contains(modes, string(permission.ModeBypassPermissions)), o.hasExtra("--dangerously-skip-permissions"):
		o.Logger.Warn("in permission mode bypassPermissions CanUseTool is called only for questions to the user and for safety checks")
	case slices.Contains(modes, string(permission.ModeDontAsk)):
		o.Logger.Warn("CanUseTool is never called in permission mode dontAsk: what no rule allows is denied")
	}
	rules := slices.Clone(o.AllowedTools)
	for _, list := range append(o.extra("--allowedTools"), o.extra("--allowed-tools")...) {
		rules = append(rules, strings.FieldsFunc(list, func(c rune) bool { return c == ',' || c == ' ' })...)
	}
	rules = slices.DeleteFunc(rules, func(rule string) bool { return !coversTool(rule) })
	if len(rules) > 0 { // rules beside a callback are the common set-up: no warning
		o.Logger.Debug("CanUseTool is not called for tools that are allowed as a whole", "rules", rules)
	}
}

// coversTool reports whether a rule allows every call of a tool: "Bash",
// "Bash()" and "Bash(*)" are the same. The CLI never applies "Bash(:*)".
func coversTool(rule string) bool {
	parsed, err := permission.ParseRule(rule)
	return err == nil && parsed.RuleContent == ""
}

// A matcher or a rule for a tool that does not exist is silent for ever, so the
// session compares the names with the tools that the CLI lists at the beginning
// of a turn. Unknown names are not an error: tools come and go with versions.

// toolNames returns the tools that the options mention: names, and matchers
// that are regular expressions. Patterns of rules, such as mcp__*, are left
// out.
func toolNames(o *Options) (names []string, patterns []*regexp.Regexp) {
	add := func(name string) {
		if name != "" && !strings.Contains(name, "*") && !slices.Contains(names, name) && !builtIn(name) {
			names = append(names, name)
		}
	}
	for _, h := range o.Hooks {
		switch {
		case !matchesTools(h.Event) || matcher.All(h.Matcher):
		case matcher.Plain(h.Matcher):
			for _, name := range matcher.Names(h.Matcher) {
				add(name)
			}
		default:
			if pattern, err := regexp.Compile(h.Matcher); err == nil {
				patterns = append(patterns, pattern)
			}
		}
	}
	for _, name := range o.Tools {
		if name != "default" { // all of them
			add(name)
		}
	}
	for _, rule := range slices.Concat(o.AllowedTools, o.DisallowedTools) {
		if parsed, err := permission.ParseRule(rule); err == nil {
			add(parsed.ToolName)
		}
	}
	return names, patterns
}

// checkTools compares the names in the options with the tools that the CLI
// lists, and logs once which of them are missing. While a server of MCP tools
// is not connected, it waits for the next list.
func checkTools(o *Options, line []byte) (done bool) {
	names, patterns := toolNames(o)
	var init message.Init
	if len(names)+len(patterns) > 0 && jsonx.Unmarshal(line, &init) != nil {
		return false
	}
	if slices.ContainsFunc(init.MCPServers, func(m message.InitMCPServer) bool { return m.Status == "pending" }) {
		return false
	}
	known := slices.Concat(init.Tools, permission.BuiltInTools())
	var unknown, nearest []string
	for _, name := range names {
		// A rule for a server, or for tools that a server may bring later.
		fits := func(tool string) bool { return tool == name || strings.HasPrefix(tool, name+"__") }
		if !slices.ContainsFunc(known, fits) {
			unknown, nearest = append(unknown, name), append(nearest, nearestName(name, known))
		}
	}
	for _, pattern := range patterns {
		if !slices.ContainsFunc(known, pattern.MatchString) {
			unknown, nearest = append(unknown, pattern.String()), append(nearest, nearestName(pattern.String(), known))
		}
	}
	if len(unknown) > 0 {
		o.Logger.Warn("options name tools that the CLI does not have", "names", unknown, "nearest", nearest)
	}
	return true
}

// problemOf returns the text of an error, "" for nil.
func problemOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// The CLI takes any matcher, and never calls a hook whose matcher fits nothing.
// Names are compared exactly; a character that names do not have makes the
// matcher a regular expression, and one that cannot be compiled fits nothing.

// matchesTools reports whether the matcher of an event is about tools.
func matchesTools(e hook.Event) bool {
	info, _ := e.Info()
	return info.Subject == hook.SubjectTool
}

// checkMatcher refuses a matcher with which a hook would never be called, or be
// called for everything. It returns the problem, "" if there is none.
func checkMatcher(h hook.Hook) string {
	if matcher.All(h.Matcher) {
		return ""
	}
	if info, known := h.Event.Info(); known && info.Subject == "" {
		return fmt.Sprintf("the matcher %q is ignored by the CLI: %s has none", h.Matcher, h.Event)
	}
	if matcher.Plain(h.Matcher) {
		if !matchesTools(h.Event) {
			return ""
		}
		for _, name := range matcher.Names(h.Matcher) {
			if right := otherCase(name); right != "" {
				return fmt.Sprintf("the matcher %q never fits: the tool is %s", h.Matcher, right)
			}
		}
		return ""
	}
	if name, rest, ok := strings.Cut(h.Matcher, "("); ok && strings.HasSuffix(rest, ")") && matchesTools(h.Event) && builtIn(name) {
		return fmt.Sprintf("the matcher %q is a rule: a matcher names tools, as in %q; what they do is for the hook to look at", h.Matcher, name)
	}
	// Syntax that only the CLI's regular expressions have, such as lookahead,
	// is left to it.
	_, err := regexp.Compile(h.Matcher)
	if bad, ok := errors.AsType[*syntax.Error](err); ok && bad.Code != syntax.ErrInvalidPerlOp && bad.Code != syntax.ErrInvalidEscape {
		return fmt.Sprintf("the matcher %q is not a regular expression: %s", h.Matcher, bad.Code)
	}
	return ""
}

func builtIn(name string) bool { return slices.Contains(permission.BuiltInTools(), name) }
