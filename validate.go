package claude

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/claude-agent-go/claude/internal/uuid"
)

// validate reports the first option that cannot be used, before anything is
// started: each by itself, then those that do not go together.
func (o *Options) validate() error {
	for r := range optionRows {
		if problem := r.problem(o); problem != "" {
			return &OptionError{r.field, problem}
		}
	}
	for _, check := range []func() *OptionError{
		o.checkConflicts, o.checkRules, o.checkAsking, o.checkSession, o.checkEntries, o.checkHooks,
		o.MCPServers.check, o.checkOutput, o.checkAgents, o.checkSettings, o.checkStore,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// maxAPITimeout is the longest that the CLI's timers can do: with more they
// fire at once.
const maxAPITimeout = math.MaxInt32 * time.Millisecond

// problem says what is wrong with the value of an option, by the row or by the
// type of the field; "" if nothing is.
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

// textProblem says what is wrong with a text; an empty one has no problem.
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

// entryProblem says what is wrong with a text that counts even if it is empty.
// Control characters have no place in a name, a comma would make two of one, and
// nothing with a NUL byte can be passed to a process.
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

// words are values as the CLI spells them.
func words[S ~string](values ...S) []string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = string(v)
	}
	return list
}

func (o *Options) checkConflicts() *OptionError {
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

func (o *Options) checkSession() *OptionError {
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
func (o *Options) checkEntries() *OptionError {
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

func (o *Options) checkHooks() *OptionError {
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
		if wrong := checkMatcher(h); wrong != "" {
			return &OptionError{field, wrong}
		}
	}
	return nil
}

// checkAgents reports agents, skills and plugins that the CLI would drop or
// read as something else.
func (o *Options) checkAgents() *OptionError {
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

// checkSkill refuses names that would become another permission rule than the
// one for that skill.
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
