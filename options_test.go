package claude_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/test/harness"
)

// unstarted is a Transport that must not be used.
type unstarted struct{ t *testing.T }

func (u unstarted) Start(context.Context, *claude.Launch) (claude.Conn, error) {
	u.t.Error("started in spite of bad options")
	return nil, errors.New("started")
}

func TestBadOptions(t *testing.T) {
	const uuid = "00000000-0000-4000-8000-000000000001"
	tests := map[string]struct {
		field string
		opts  claude.Options
	}{
		"negative turns":              {"MaxTurns", claude.Options{MaxTurns: -1}},
		"negative budget":             {"MaxBudgetUSD", claude.Options{MaxBudgetUSD: -0.5}},
		"budget that is not a number": {"MaxBudgetUSD", claude.Options{MaxBudgetUSD: math.NaN()}},
		"negative thinking":           {"Thinking.Budget", claude.Options{Thinking: claude.Thinking{Mode: claude.ThinkingEnabled, Budget: -1}}},
		"negative limit":              {"Limits.Pending", claude.Options{Limits: claude.Limits{Pending: -1}}},
		"negative timeout":            {"Timeouts.Control", claude.Options{Timeouts: claude.Timeouts{Control: -time.Second}}},
		"unknown mode":                {"PermissionMode", claude.Options{PermissionMode: "yolo"}},
		"unknown effort":              {"Effort", claude.Options{Effort: "extreme"}},
		"unknown thinking":            {"Thinking.Mode", claude.Options{Thinking: claude.Thinking{Mode: "deep"}}},
		"unknown source":              {"SettingSources", claude.Options{SettingSources: []claude.SettingSource{"cloud"}}},
		"preset and text":             {"SystemPrompt", claude.Options{SystemPrompt: claude.SystemPrompt{Preset: true, Text: "x"}}},
		"budget without mode":         {"Thinking.Budget", claude.Options{Thinking: claude.Thinking{Budget: 100}}},
		"fallback is the model":       {"FallbackModel", claude.Options{Model: "opus", FallbackModel: "opus"}},
		"unclosed rule":               {"DisallowedTools", claude.Options{DisallowedTools: []string{"Bash(rm:*", "Write"}}},
		"two rules in one":            {"DisallowedTools", claude.Options{DisallowedTools: []string{"Read, Write"}}},
		"two narrow rules":            {"AllowedTools", claude.Options{AllowedTools: []string{"Bash(ls),Edit(/a)"}}},
		"two rules with a blank":      {"AllowedTools", claude.Options{AllowedTools: []string{"Read Bash"}}},
		"rule with parentheses":       {"DisallowedTools", claude.Options{DisallowedTools: []string{"Bash(touch (a) b)", "Write"}}},
		"escaped parentheses":         {"DisallowedTools", claude.Options{DisallowedTools: []string{`Bash(touch \(a\),b)`}}},
		"empty rule":                  {"AllowedTools", claude.Options{AllowedTools: []string{""}}},
		"rule in a skill":             {"Skills", claude.Options{Skills: []string{"a),Bash(ls"}}},
		"allowed and disallowed":      {"AllowedTools", claude.Options{AllowedTools: []string{"Read", "Bash"}, DisallowedTools: []string{"Bash"}}},
		"resume and continue":         {"Continue", claude.Options{Resume: uuid, Continue: true}},
		"fork of nothing":             {"ForkSession", claude.Options{ForkSession: true}},
		"resume at nothing":           {"ResumeAt", claude.Options{ResumeAt: "x"}},
		"id that is not a UUID":       {"SessionID", claude.Options{SessionID: "../../evil"}},
		"id for a resumed one":        {"SessionID", claude.Options{SessionID: uuid, Resume: uuid}},
		"resume of a file":            {"Resume", claude.Options{Resume: "../../secret.jsonl"}},
		"resume of a title":           {"Resume", claude.Options{Resume: "-p"}},
		"resume behind an id":         {"Resume", claude.Options{Resume: uuid + "\n--x"}},
		"id with a line feed":         {"SessionID", claude.Options{SessionID: uuid + "\n"}},
		"id in other digits":          {"SessionID", claude.Options{SessionID: "0000000\u0660-0000-4000-8000-000000000001"}},
		"two lines of a model":        {"Model", claude.Options{Model: "a\n--dangerously-skip-permissions"}},
		"two tools in one":            {"Tools", claude.Options{Tools: []string{"Read,Bash"}}},
		"empty tool":                  {"Tools", claude.Options{Tools: []string{""}}},
		"two betas in one":            {"Betas", claude.Options{Betas: []string{"a,b"}}},
		"header behind a beta":        {"Betas", claude.Options{Betas: []string{"a\r\nx-api-key: k"}}},
		"NUL in an argument":          {"ExtraArgs", claude.Options{ExtraArgs: []string{"a\x00b"}}},
		"NUL in a path":               {"Cwd", claude.Options{Cwd: "a\x00b"}},
		"empty directory":             {"AddDirs", claude.Options{AddDirs: []string{""}}},
		"entry without a name":        {"Env", claude.Options{Env: []string{"A=1", "B"}}},
		"hook without event":          {"Hooks[0]", claude.Options{Hooks: []hook.Hook{{}}}},
		"hook without function":       {"Hooks[0]", claude.Options{Hooks: []hook.Hook{{Event: "Stop"}}}},
		"hook with odd timeout":       {"Hooks[0]", claude.Options{Hooks: []hook.Hook{noHook().WithTimeout(-time.Second)}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.opts.Transport = unstarted{t}
			for how, err := range map[string]error{
				"Connect": second(claude.Connect(t.Context(), &tt.opts)),
				"Ask":     second(claude.Ask(t.Context(), "x", &tt.opts)),
				"Query":   harness.LastError(claude.Query(t.Context(), "x", &tt.opts)),
			} {
				bad, ok := errors.AsType[*claude.OptionError](err)
				if !ok || bad.Field != tt.field || !strings.Contains(err.Error(), tt.field) {
					t.Errorf("%s: error = %v, want one about %s", how, err, tt.field)
				}
			}
		})
	}
}

func noHook() hook.Hook {
	return hook.Stop(func(context.Context, *hook.StopInput) (*hook.StopOutput, error) { return nil, nil })
}

func second[T any](_ T, err error) error { return err }

func TestEnvironment(t *testing.T) {
	t.Setenv("OF_THIS_PROCESS", "1")
	var keptBack []string
	for _, name := range harness.KeptBack() {
		t.Setenv(name, "/of/this/process")
		keptBack = append(keptBack, name+"=/of/this/process")
	}
	tests := map[string]struct {
		opts       claude.Options
		has, lacks []string
	}{
		"inherited":     {claude.Options{}, []string{"OF_THIS_PROCESS=1", "CLAUDE_CODE_ENTRYPOINT=sdk-go"}, nil},
		"not inherited": {claude.Options{}, nil, keptBack},
		"asked for":     {claude.Options{Env: []string{"LD_PRELOAD=/mine.so", "LD_LIBRARY_PATH=/mine", "ANTHROPIC_LOG=debug"}}, []string{"LD_PRELOAD=/mine.so", "LD_LIBRARY_PATH=/mine", "ANTHROPIC_LOG=debug"}, nil},
		"replaced":      {claude.Options{Env: []string{"A=1"}}, []string{"A=1", "CLAUDE_CODE_ENTRYPOINT=sdk-go"}, []string{"OF_THIS_PROCESS=1"}},
		"entry point kept": {claude.Options{Env: []string{"CLAUDE_CODE_ENTRYPOINT=mine"}},
			[]string{"CLAUDE_CODE_ENTRYPOINT=mine"}, []string{"CLAUDE_CODE_ENTRYPOINT=sdk-go"}},
		"version": {claude.Options{}, []string{"CLAUDE_AGENT_SDK_VERSION=" + claude.Version}, nil},
		"version kept": {claude.Options{Env: []string{"CLAUDE_AGENT_SDK_VERSION=9.9.9"}},
			[]string{"CLAUDE_AGENT_SDK_VERSION=9.9.9"}, []string{"CLAUDE_AGENT_SDK_VERSION=" + claude.Version}},
		"harmful ones": {claude.Options{Env: []string{"NODE_OPTIONS=--inspect-brk", "CLAUDECODE=1"}}, nil, []string{"NODE_OPTIONS=--inspect-brk", "CLAUDECODE=1"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			launch := launched(t, tt.opts).launch
			for _, entry := range tt.has {
				if !slices.Contains(launch.Env, entry) {
					t.Errorf("lacks %q", entry)
				}
			}
			for _, entry := range tt.lacks {
				if slices.Contains(launch.Env, entry) {
					t.Errorf("has %q", entry)
				}
			}
		})
	}
}

func TestOptionsAreCopied(t *testing.T) {
	bubble(t, func(c *cli) { c.greet(); c.idle() }, func(t *testing.T, o *claude.Options) {
		o.ExtraArgs = []string{"--debug"}
		s := connect(t, o)
		o.ExtraArgs[0] = "--changed"
		if args := o.Transport.(*double).launch.Args; !slices.Contains(args, "--debug") {
			t.Errorf("args %q", args)
		}
		finish(t, s)
	})
}

func TestNilOptions(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	if _, err := claude.Ask(t.Context(), "hello", nil); !errors.Is(err, claude.ErrNotFound) {
		t.Errorf("Ask = %v", err)
	}
	if _, err := claude.Connect(t.Context(), nil); !errors.Is(err, claude.ErrNotFound) {
		t.Errorf("Connect = %v", err)
	}
}

// Every constant is accepted, and the CLI gets the word that it knows.
func TestChoices(t *testing.T) {
	thinks := func(m claude.ThinkingMode) claude.Options {
		return claude.Options{Thinking: claude.Thinking{Mode: m}}
	}
	shows := func(d claude.ThinkingDisplay) claude.Options {
		return claude.Options{Thinking: claude.Thinking{Display: d}}
	}
	for want, opts := range map[string]claude.Options{
		"--effort=low":                  {Effort: claude.EffortLow},
		"--effort=medium":               {Effort: claude.EffortMedium},
		"--effort=high":                 {Effort: claude.EffortHigh},
		"--effort=xhigh":                {Effort: claude.EffortXHigh},
		"--effort=max":                  {Effort: claude.EffortMax},
		"--thinking=adaptive":           thinks(claude.ThinkingAdaptive),
		"--thinking=disabled":           thinks(claude.ThinkingDisabled),
		"--thinking-display=summarized": shows(claude.ThinkingSummarized),
		"--thinking-display=omitted":    shows(claude.ThinkingOmitted),
		"--permission-prompts=host":     {PermissionPrompts: claude.PermissionPromptsHost},
		"--permission-prompts=none":     {PermissionPrompts: claude.PermissionPromptsNone},
		"user,project,local": {SettingSources: []claude.SettingSource{
			claude.SettingSourceUser, claude.SettingSourceProject, claude.SettingSourceLocal,
		}},
		"CLAUDE_CODE_QUESTION_PREVIEW_FORMAT=markdown": {QuestionPreview: claude.QuestionPreviewMarkdown},
		"CLAUDE_CODE_QUESTION_PREVIEW_FORMAT=html":     {QuestionPreview: claude.QuestionPreviewHTML},
	} {
		t.Run(want, func(t *testing.T) {
			launch := launched(t, opts).launch
			if !slices.Contains(slices.Concat(launch.Args, launch.Env), want) {
				t.Errorf("the CLI was started with %q", launch.Args)
			}
		})
	}
}
