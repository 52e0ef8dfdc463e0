package claude_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/permission"
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
		"negative turns":         {"MaxTurns", claude.Options{MaxTurns: -1}},
		"negative budget":        {"MaxBudgetUSD", claude.Options{MaxBudgetUSD: -0.5}},
		"budget that is no sum":  {"MaxBudgetUSD", claude.Options{MaxBudgetUSD: math.NaN()}},
		"negative thinking":      {"Thinking.Budget", claude.Options{Thinking: claude.Thinking{Mode: "enabled", Budget: -1}}},
		"negative limit":         {"Limits.Pending", claude.Options{Limits: claude.Limits{Pending: -1}}},
		"negative timeout":       {"Timeouts.Control", claude.Options{Timeouts: claude.Timeouts{Control: -time.Second}}},
		"unknown mode":           {"PermissionMode", claude.Options{PermissionMode: "yolo"}},
		"unknown effort":         {"Effort", claude.Options{Effort: "extreme"}},
		"unknown thinking":       {"Thinking.Mode", claude.Options{Thinking: claude.Thinking{Mode: "deep"}}},
		"unknown source":         {"SettingSources", claude.Options{SettingSources: []string{"cloud"}}},
		"preset and text":        {"SystemPrompt", claude.Options{SystemPrompt: claude.SystemPrompt{Preset: true, Text: "x"}}},
		"budget without mode":    {"Thinking.Budget", claude.Options{Thinking: claude.Thinking{Budget: 100}}},
		"fallback is the model":  {"FallbackModel", claude.Options{Model: "opus", FallbackModel: "opus"}},
		"unclosed rule":          {"DisallowedTools", claude.Options{DisallowedTools: []string{"Bash(rm:*", "Write"}}},
		"two rules in one":       {"DisallowedTools", claude.Options{DisallowedTools: []string{"Read, Write"}}},
		"two narrow rules":       {"AllowedTools", claude.Options{AllowedTools: []string{"Bash(ls),Edit(/a)"}}},
		"two rules with a blank": {"AllowedTools", claude.Options{AllowedTools: []string{"Read Bash"}}},
		"rule with parentheses":  {"DisallowedTools", claude.Options{DisallowedTools: []string{"Bash(touch (a) b)", "Write"}}},
		"escaped parentheses":    {"DisallowedTools", claude.Options{DisallowedTools: []string{`Bash(touch \(a\),b)`}}},
		"empty rule":             {"AllowedTools", claude.Options{AllowedTools: []string{""}}},
		"rule in a skill":        {"Skills", claude.Options{Skills: []string{"a),Bash(ls"}}},
		"allowed and disallowed": {"AllowedTools", claude.Options{AllowedTools: []string{"Read", "Bash"}, DisallowedTools: []string{"Bash"}}},
		"resume and continue":    {"Continue", claude.Options{Resume: uuid, Continue: true}},
		"fork of nothing":        {"ForkSession", claude.Options{ForkSession: true}},
		"resume at nothing":      {"ResumeAt", claude.Options{ResumeAt: "x"}},
		"id that is no UUID":     {"SessionID", claude.Options{SessionID: "../../evil"}},
		"id for a resumed one":   {"SessionID", claude.Options{SessionID: uuid, Resume: uuid}},
		"resume of a file":       {"Resume", claude.Options{Resume: "../../secret.jsonl"}},
		"resume of a title":      {"Resume", claude.Options{Resume: "-p"}},
		"resume behind an id":    {"Resume", claude.Options{Resume: uuid + "\n--x"}},
		"id with a line feed":    {"SessionID", claude.Options{SessionID: uuid + "\n"}},
		"id in other digits":     {"SessionID", claude.Options{SessionID: "0000000\u0660-0000-4000-8000-000000000001"}},
		"two lines of a model":   {"Model", claude.Options{Model: "a\n--dangerously-skip-permissions"}},
		"two tools in one":       {"Tools", claude.Options{Tools: []string{"Read,Bash"}}},
		"empty tool":             {"Tools", claude.Options{Tools: []string{""}}},
		"two betas in one":       {"Betas", claude.Options{Betas: []string{"a,b"}}},
		"header behind a beta":   {"Betas", claude.Options{Betas: []string{"a\r\nx-api-key: k"}}},
		"NUL in an argument":     {"ExtraArgs", claude.Options{ExtraArgs: []string{"a\x00b"}}},
		"NUL in a path":          {"Cwd", claude.Options{Cwd: "a\x00b"}},
		"empty directory":        {"AddDirs", claude.Options{AddDirs: []string{""}}},
		"entry without a name":   {"Env", claude.Options{Env: []string{"A=1", "B"}}},
		"hook without event":     {"Hooks[0]", claude.Options{Hooks: []hook.Hook{{}}}},
		"hook without function":  {"Hooks[0]", claude.Options{Hooks: []hook.Hook{{Event: "Stop"}}}},
		"hook with odd timeout":  {"Hooks[0]", claude.Options{Hooks: []hook.Hook{noHook().WithTimeout(-time.Second)}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.opts.Transport = unstarted{t}
			for how, err := range map[string]error{
				"Connect": second(claude.Connect(t.Context(), &tt.opts)),
				"Ask":     second(claude.Ask(t.Context(), "x", &tt.opts)),
				"Query":   lastError(claude.Query(t.Context(), "x", &tt.opts)),
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

// launched starts a session with options and returns what was started and the
// handshake that was sent.
func launched(t *testing.T, o claude.Options) (launch *claude.Launch, init map[string]any) {
	t.Helper()
	bubble(t, func(c *cli) {
		r := c.request("initialize")
		if err := json.Unmarshal(r.Body, &init); err != nil {
			c.t.Error(err)
		}
		c.succeed(r, `{"claude_code_version":"2.1.325","hook_on_failure_supported":true}`)
		c.idle()
	}, func(t *testing.T, base *claude.Options) {
		o.Transport, o.Logger = base.Transport, base.Logger
		if o.SessionID == "" && o.Resume == "" && !o.Continue {
			o.SessionID = base.SessionID
		}
		finish(t, connect(t, &o))
		launch = base.Transport.(*double).launch
	})
	return launch, init
}

func TestCommandLine(t *testing.T) {
	always := []string{"--output-format=stream-json", "--verbose", "--input-format=stream-json"}
	id := "--session-id=00000000-0000-4000-8000-000000000001"
	tests := map[string]struct {
		opts claude.Options
		want []string
	}{
		"nothing": {claude.Options{}, []string{id}},
		"model": {claude.Options{Model: "opus", FallbackModel: "sonnet", Effort: "high"},
			[]string{"--model=opus", "--fallback-model=sonnet", "--effort=high", id}},
		"thinking":         {claude.Options{Thinking: claude.Thinking{Mode: "enabled", Budget: 1024, Display: "omitted"}}, []string{"--max-thinking-tokens=1024", "--thinking-display=omitted", id}},
		"thinking enabled": {claude.Options{Thinking: claude.Thinking{Mode: "enabled"}}, []string{"--thinking=adaptive", id}},
		"thinking off":     {claude.Options{Thinking: claude.Thinking{Mode: "disabled"}}, []string{"--thinking=disabled", id}},
		"tools": {claude.Options{Tools: []string{"Read", "Bash"}, AllowedTools: []string{"Read", "Bash(git:*)"}, DisallowedTools: []string{"Write"}},
			[]string{"--tools=Read,Bash", "--allowedTools=Read,Bash(git:*)", "--disallowedTools=Write", id}},
		"no tools": {claude.Options{Tools: []string{}, AllowedTools: []string{}}, []string{"--tools=", id}},
		"permissions": {claude.Options{PermissionMode: permission.ModePlan, AllowBypassPermissions: true, CanUseTool: allowAll},
			[]string{"--permission-mode=plan", "--allow-dangerously-skip-permissions", "--permission-prompt-tool=stdio", id}},
		"resume": {claude.Options{Resume: "00000000-0000-4000-8000-000000000002", ResumeAt: "-m", ForkSession: true, NoPersistence: true},
			[]string{"--resume=00000000-0000-4000-8000-000000000002", "--resume-session-at=-m", "--fork-session", "--no-session-persistence"}},
		"continue":  {claude.Options{Continue: true}, []string{"--continue"}},
		"isolation": {claude.Options{SettingSources: []string{}}, []string{id, "--setting-sources="}},
		"sources":   {claude.Options{SettingSources: []string{"user", "local"}, AddDirs: []string{"/a", "/b"}}, []string{id, "--setting-sources=user,local", "--add-dir=/a", "--add-dir=/b"}},
		"bounds":    {claude.Options{MaxTurns: 3, MaxBudgetUSD: 0.25}, []string{id, "--max-turns=3", "--max-budget-usd=0.25"}},
		"messages":  {claude.Options{PartialMessages: true, ReplayUserMessages: true}, []string{id, "--include-partial-messages", "--replay-user-messages"}},
		"extra":     {claude.Options{ExtraArgs: []string{"--debug"}}, []string{id, "--debug"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			launch, _ := launched(t, tt.opts)
			if want := append(slices.Clone(always), tt.want...); !slices.Equal(launch.Args, want) {
				t.Errorf("got  %q\nwant %q", launch.Args, want)
			}
		})
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("OF_THIS_PROCESS", "1")
	t.Setenv("LD_PRELOAD", "/of/this/process.so")
	t.Setenv("BUN_INSPECT", "ws://127.0.0.1/")
	t.Setenv("VSCODE_INSPECTOR_OPTIONS", "{}")
	t.Setenv("ANTHROPIC_LOG", "debug")
	t.Setenv("CLAUDE_CODE_SSE_PORT", "1")
	t.Setenv("NODE_OPTIONS", "--inspect-brk")
	tests := map[string]struct {
		opts       claude.Options
		has, lacks []string
	}{
		"inherited": {claude.Options{}, []string{"OF_THIS_PROCESS=1", "CLAUDE_CODE_ENTRYPOINT=sdk-go"}, nil},
		"not inherited": {claude.Options{}, nil, []string{"LD_PRELOAD=/of/this/process.so", "BUN_INSPECT=ws://127.0.0.1/",
			"VSCODE_INSPECTOR_OPTIONS={}", "ANTHROPIC_LOG=debug", "CLAUDE_CODE_SSE_PORT=1", "NODE_OPTIONS=--inspect-brk"}},
		"asked for": {claude.Options{Env: []string{"LD_PRELOAD=/mine.so", "ANTHROPIC_LOG=debug"}}, []string{"LD_PRELOAD=/mine.so", "ANTHROPIC_LOG=debug"}, nil},
		"replaced":  {claude.Options{Env: []string{"A=1"}}, []string{"A=1", "CLAUDE_CODE_ENTRYPOINT=sdk-go"}, []string{"OF_THIS_PROCESS=1"}},
		"entry point kept": {claude.Options{Env: []string{"CLAUDE_CODE_ENTRYPOINT=mine"}},
			[]string{"CLAUDE_CODE_ENTRYPOINT=mine"}, []string{"CLAUDE_CODE_ENTRYPOINT=sdk-go"}},
		"version": {claude.Options{}, []string{"CLAUDE_AGENT_SDK_VERSION=" + claude.Version}, nil},
		"version kept": {claude.Options{Env: []string{"CLAUDE_AGENT_SDK_VERSION=9.9.9"}},
			[]string{"CLAUDE_AGENT_SDK_VERSION=9.9.9"}, []string{"CLAUDE_AGENT_SDK_VERSION=" + claude.Version}},
		"harmful ones": {claude.Options{Env: []string{"NODE_OPTIONS=--inspect-brk", "CLAUDECODE=1"}}, nil, []string{"NODE_OPTIONS=--inspect-brk", "CLAUDECODE=1"}},
		"checkpoints":  {claude.Options{FileCheckpointing: true}, []string{"CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING=true"}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			launch, _ := launched(t, tt.opts)
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

func TestInitializePayload(t *testing.T) {
	tests := map[string]struct {
		opts claude.Options
		want string
	}{
		"empty prompt":  {claude.Options{}, `{"subtype":"initialize","systemPrompt":[""]}`},
		"own prompt":    {claude.Options{SystemPrompt: claude.SystemPrompt{Text: "Be brief.", Append: "Please."}}, `{"subtype":"initialize","appendSystemPrompt":"Please.","systemPrompt":"Be brief."}`},
		"preset prompt": {claude.Options{SystemPrompt: claude.SystemPrompt{Preset: true}}, `{"subtype":"initialize"}`},
		"hooks": {claude.Options{Hooks: []hook.Hook{
			hook.PreToolUse("Bash|Write", func(context.Context, *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) { return nil, nil }).WithTimeout(10 * time.Second),
			hook.PreToolUse("", func(context.Context, *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) { return nil, nil }).FailClosed(),
			noHook(),
		}}, `{"hooks":{"PreToolUse":[{"hookCallbackIds":["hook_0"],"matcher":"Bash|Write","timeout":15},{"hookCallbackIds":["hook_1"],"matcher":null,"onFailure":"block"}],"Stop":[{"hookCallbackIds":["hook_2"],"matcher":null}]},"subtype":"initialize","systemPrompt":[""]}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, init := launched(t, tt.opts)
			var want map[string]any
			if err := json.Unmarshal([]byte(tt.want), &want); err != nil {
				t.Fatal(err)
			}
			got, _ := json.Marshal(init)
			expected, _ := json.Marshal(want)
			if string(got) != string(expected) {
				t.Errorf("got  %s\nwant %s", got, expected)
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
