package claude

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/claude-agent-go/claude/internal/uuid"
)

// validate reports the first option that cannot be used, before anything is
// started.
func (o *Options) validate() error {
	for _, check := range []func() *OptionError{
		o.checkNumbers, o.checkChoices, o.checkConflicts, o.checkRules, o.checkAsking, o.checkSession, o.checkTexts, o.checkHooks,
		o.MCPServers.check, o.checkOutput, o.checkAgents, o.checkSettings,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (o *Options) checkNumbers() *OptionError {
	for _, n := range []struct {
		field string
		value float64
	}{
		{"MaxTurns", float64(o.MaxTurns)},
		{"MaxBudgetUSD", o.MaxBudgetUSD},
		{"Thinking.Budget", float64(o.Thinking.Budget)},
		{"TaskBudget", float64(o.TaskBudget)},
		{"Limits.Line", float64(o.Limits.Line)},
		{"Limits.Unread", float64(o.Limits.Unread)},
		{"Limits.Queued", float64(o.Limits.Queued)},
		{"Limits.Pending", float64(o.Limits.Pending)},
		{"Limits.Callbacks", float64(o.Limits.Callbacks)},
	} {
		if !(n.value >= 0) { // also refuses NaN
			return &OptionError{n.field, fmt.Sprintf("%v is negative or no number", n.value)}
		}
	}
	if o.MaxRetries < NoRetries {
		return &OptionError{"MaxRetries", fmt.Sprintf("%d is negative (NoRetries is none)", o.MaxRetries)}
	}
	if o.Timeouts.API < 0 || o.Timeouts.API > maxAPITimeout {
		return &OptionError{"Timeouts.API", fmt.Sprintf("%v is not between 0 and %v", o.Timeouts.API, maxAPITimeout)}
	}
	for _, d := range []struct {
		field string
		value time.Duration
	}{
		{"Timeouts.Initialize", o.Timeouts.Initialize},
		{"Timeouts.Control", o.Timeouts.Control},
		{"Timeouts.Rewind", o.Timeouts.Rewind},
		{"Timeouts.MCP", o.Timeouts.MCP},
		{"Timeouts.Callback", o.Timeouts.Callback},
		{"Timeouts.Close", o.Timeouts.Close},
	} {
		if d.value < 0 && d.value != NoTimeout {
			return &OptionError{d.field, fmt.Sprintf("%v is negative (NoTimeout takes the bound away)", d.value)}
		}
	}
	return nil
}

// maxAPITimeout is the longest that the CLI's timers can do: with more they
// fire at once.
const maxAPITimeout = math.MaxInt32 * time.Millisecond

func (o *Options) checkChoices() *OptionError {
	if o.PermissionMode != "" && !o.PermissionMode.Valid() {
		return &OptionError{"PermissionMode", fmt.Sprintf("unknown mode %q", o.PermissionMode)}
	}
	for _, c := range []struct {
		field, value string
		choices      []string
	}{
		{"Effort", string(o.Effort), words(EffortLow, EffortMedium, EffortHigh, EffortXHigh, EffortMax)},
		{"Thinking.Mode", string(o.Thinking.Mode), words(ThinkingAdaptive, ThinkingEnabled, ThinkingDisabled)},
		{"Thinking.Display", string(o.Thinking.Display), words(ThinkingSummarized, ThinkingOmitted)},
		{"PermissionPrompts", string(o.PermissionPrompts), words(PermissionPromptsHost, PermissionPromptsNone)},
		{"QuestionPreview", string(o.QuestionPreview), words(QuestionPreviewMarkdown, QuestionPreviewHTML)},
	} {
		if c.value != "" && !slices.Contains(c.choices, c.value) {
			return &OptionError{c.field, fmt.Sprintf("%q is not one of %s", c.value, strings.Join(c.choices, ", "))}
		}
	}
	sources := words(SettingSourceUser, SettingSourceProject, SettingSourceLocal)
	for _, s := range o.SettingSources {
		if !slices.Contains(sources, string(s)) {
			return &OptionError{"SettingSources", fmt.Sprintf("%q is not one of %s", s, strings.Join(sources, ", "))}
		}
	}
	return nil
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
		return &OptionError{"SessionID", fmt.Sprintf("%q is no UUID", o.SessionID)}
	case o.Resume != "" && !uuid.Valid(o.Resume):
		// The CLI also takes titles and paths of files here. An id that came
		// from a request must not become one.
		return &OptionError{"Resume", fmt.Sprintf("%q is no UUID", o.Resume)}
	case o.SessionID != "" && resumes && !o.ForkSession:
		return &OptionError{"SessionID", "a resumed session keeps its id unless ForkSession is set"}
	}
	return nil
}

// checkTexts refuses what cannot be passed to a process.
func (o *Options) checkTexts() *OptionError {
	texts := map[string][]string{
		"Model": {o.Model}, "FallbackModel": {o.FallbackModel}, "Resume": {o.Resume}, "ResumeAt": {o.ResumeAt},
		"Cwd": {o.Cwd}, "CLIPath": {o.CLIPath}, "AddDirs": o.AddDirs, "Env": o.Env, "ExtraArgs": o.ExtraArgs,
		"Agent": {o.Agent}, "Betas": o.Betas, "SettingsFile": {o.SettingsFile}, "ProjectConfigRoot": {o.ProjectConfigRoot},
		"DebugFile": {o.DebugFile}, "ResumeDropsTurn": {o.ResumeDropsTurn}, "Skills": o.Skills,
		"PermissionPromptTool": {o.PermissionPromptTool}, "DialogKinds": o.DialogKinds,
		"Tools": o.Tools, "AllowedTools": o.AllowedTools, "DisallowedTools": o.DisallowedTools,
	}
	for field, values := range texts {
		for _, v := range values {
			if strings.ContainsRune(v, 0) {
				return &OptionError{field, "contains a NUL byte"}
			}
		}
	}
	if err := o.checkNames(); err != nil {
		return err
	}
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

// checkNames refuses names that are no names: control characters have no place
// in one, and a comma in a list would make two of one.
func (o *Options) checkNames() *OptionError {
	for _, list := range []struct {
		field  string
		values []string
		joined bool
	}{
		{"Model", []string{o.Model}, false},
		{"FallbackModel", []string{o.FallbackModel}, false},
		{"Agent", []string{o.Agent}, false},
		{"PermissionPromptTool", []string{o.PermissionPromptTool}, false},
		{"ResumeAt", []string{o.ResumeAt}, false},
		{"ResumeDropsTurn", []string{o.ResumeDropsTurn}, false},
		{"Tools", o.Tools, true},
		{"Betas", o.Betas, true},
	} {
		for _, v := range list.values {
			switch {
			case strings.ContainsFunc(v, unicode.IsControl):
				return &OptionError{list.field, fmt.Sprintf("%q contains a control character", v)}
			case list.joined && (v == "" || strings.Contains(v, ",")):
				return &OptionError{list.field, fmt.Sprintf("%q is empty or contains a comma", v)}
			}
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
