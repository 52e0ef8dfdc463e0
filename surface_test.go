package claude_test

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/permission"
)

// TestCommandLineOfSurface has the flags of what TestCommandLine leaves out.
func TestCommandLineOfSurface(t *testing.T) {
	always := []string{"--output-format=stream-json", "--verbose", "--input-format=stream-json"}
	id := "--session-id=00000000-0000-4000-8000-000000000001"
	tests := map[string]struct {
		opts claude.Options
		want []string
	}{
		"betas":       {claude.Options{Betas: []string{"a-1", "b-2"}}, []string{"--betas=a-1,b-2", id}},
		"no prompts":  {claude.Options{PermissionPrompts: "none"}, []string{"--permission-prompts=none", id}},
		"agent":       {claude.Options{Agent: "reviewer"}, []string{"--agent=reviewer", id}},
		"all skills":  {claude.Options{AllSkills: true, AllowedTools: []string{"Read"}}, []string{"--allowedTools=Read,Skill", id}},
		"two skills":  {claude.Options{Skills: []string{"pdf", "box:doc"}, AllowedTools: []string{"Skill(pdf)"}}, []string{"--allowedTools=Skill(pdf),Skill(box:doc)", id}},
		"no skills":   {claude.Options{Skills: []string{}}, []string{id}},
		"plugins":     {claude.Options{Plugins: []control.PluginConfig{{Path: "/p"}, {Type: "local", Path: "/q", SkipMCPDiscovery: true}}}, []string{"--plugin-dir=/p", "--plugin-dir-no-mcp=/q", id}},
		"drop a turn": {claude.Options{Resume: "00000000-0000-4000-8000-000000000002", ResumeAt: "m", ResumeDropsTurn: "u"}, []string{"--resume=00000000-0000-4000-8000-000000000002", "--resume-session-at=m", "--resume-drops-turn=u"}},
		"own file":    {claude.Options{SettingsFile: "/s.json"}, []string{id, "--settings=/s.json"}},
		"config root": {claude.Options{ProjectConfigRoot: "/repo"}, []string{id, "--project-config-root=/repo"}},
		"task budget": {claude.Options{TaskBudget: 5000}, []string{id, "--task-budget=5000"}},
		"hook events": {claude.Options{HookEvents: true}, []string{id, "--include-hook-events"}},
		"debug":       {claude.Options{Debug: true}, []string{id, "--debug"}},
		"debug file":  {claude.Options{Debug: true, DebugFile: "/d.log"}, []string{id, "--debug-file=/d.log"}},
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

func TestEnvironmentOfSurface(t *testing.T) {
	launch, _ := launched(t, claude.Options{Env: []string{"A=1"}, SessionStates: true, QuestionPreview: "html"})
	want := []string{"A=1", "CLAUDE_CODE_ENTRYPOINT=sdk-go", "CLAUDE_AGENT_SDK_VERSION=" + claude.Version, "CLAUDE_CODE_SDK_READS_SESSION_STATE=1", "CLAUDE_CODE_QUESTION_PREVIEW_FORMAT=html"}
	if !slices.Equal(launch.Env, want) {
		t.Errorf("got %q, want %q", launch.Env, want)
	}
}

func TestInitializePayloadOfSurface(t *testing.T) {
	preset := claude.SystemPrompt{Preset: true}
	tests := map[string]struct {
		opts claude.Options
		want string
	}{
		"sections": {claude.Options{SystemPrompt: claude.SystemPrompt{Sections: []string{"a", "b"}, Fresh: true}}, `{"systemPrompt":["a","b"],"systemPromptSnapshot":false}`},
		"static":   {claude.Options{SystemPrompt: claude.SystemPrompt{Preset: true, Static: true}}, `{"excludeDynamicSections":true}`},
		"plan":     {claude.Options{SystemPrompt: preset, PlanModeInstructions: "p"}, `{"planModeInstructions":"p"}`},
		"aliases":  {claude.Options{SystemPrompt: preset, ToolAliases: map[string]string{"Bash": "mcp__b__bash"}}, `{"toolAliases":{"Bash":"mcp__b__bash"}}`},
		"agents": {claude.Options{SystemPrompt: preset, Agents: map[string]control.AgentDefinition{"a": {Description: "d", Prompt: "p", Tools: []string{"Read"}, Effort: "high"}}},
			`{"agents":{"a":{"description":"d","prompt":"p","tools":["Read"],"effort":"high"}}}`},
		"skills":    {claude.Options{SystemPrompt: preset, Skills: []string{"pdf"}}, `{"skills":["pdf"]}`},
		"no skills": {claude.Options{SystemPrompt: preset, Skills: []string{}}, `{"skills":[]}`},
		"title":     {claude.Options{SystemPrompt: preset, Title: "t"}, `{"title":"t"}`},
		"messages": {claude.Options{SystemPrompt: preset, PromptSuggestions: true, AgentProgressSummaries: true, ForwardSubagentText: true, PerTaskStop: true},
			`{"promptSuggestions":true,"agentProgressSummaries":true,"forwardSubagentText":true,"perTaskStopAffordance":true}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, init := launched(t, tt.opts)
			var want map[string]any
			if err := json.Unmarshal([]byte(tt.want), &want); err != nil {
				t.Fatal(err)
			}
			want["subtype"] = "initialize"
			if !reflect.DeepEqual(init, want) {
				t.Errorf("got  %v\nwant %v", init, want)
			}
		})
	}
}

// readSettings is what a played CLI finds in its settings file.
func readSettings(t *testing.T, o claude.Options) (settings map[string]any) {
	t.Helper()
	var path string
	bubble(t, func(c *cli) { c.greet(); c.idle() }, func(t *testing.T, base *claude.Options) {
		o.Transport, o.Logger, o.SessionID = base.Transport, base.Logger, base.SessionID
		s := connect(t, &o)
		path = strings.TrimPrefix(base.Transport.(*double).launch.Args[0], "--settings=")
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode of the file: %v, %v", info.Mode(), err)
		}
		if err := json.Unmarshal(data, &settings); err != nil {
			t.Errorf("%s: %v", data, err)
		}
		finish(t, s)
	})
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the file is still there: %v", err)
	}
	return settings
}

func TestSettings(t *testing.T) {
	type m = map[string]any
	tests := map[string]struct {
		opts claude.Options
		want string
	}{
		"settings": {claude.Options{Settings: m{"env": m{"TOKEN": "secret"}}}, `{"env":{"TOKEN":"secret"}}`},
		"sandbox":  {claude.Options{Sandbox: &claude.Sandbox{Enabled: true}}, `{"sandbox":{"enabled":true,"failIfUnavailable":true}}`},
		"lenient sandbox": {claude.Options{Sandbox: &claude.Sandbox{Enabled: true, FailIfUnavailable: new(false), AutoAllowBash: new(false), Extra: m{"ripgrep": m{"command": "rg"}, "enabled": false}}},
			`{"sandbox":{"enabled":true,"failIfUnavailable":false,"autoAllowBashIfSandboxed":false,"ripgrep":{"command":"rg"}}}`},
		"merged": {claude.Options{
			Settings: m{"model": "opus", "sandbox": m{
				"enabled": false, "excludedCommands": []string{"git"},
				"filesystem": m{"disabled": true, "denyRead": []string{"/a"}, "allowWrite": []string{"/x"}},
				"network":    m{"httpProxyPort": 1, "deniedDomains": []string{"bad"}, "tlsTerminate": m{"a": 1}},
			}},
			Sandbox: &claude.Sandbox{
				Enabled:    true,
				Filesystem: claude.SandboxFilesystem{DenyRead: []string{"/a", "/b"}, AllowWrite: []string{"/y"}},
				Network:    claude.SandboxNetwork{AllowedDomains: []string{"good"}},
				Extra:      m{"network": m{"tlsTerminate": m{"b": 2}}},
			},
		}, `{"model":"opus","sandbox":{"enabled":true,"failIfUnavailable":true,"excludedCommands":["git"],
			"filesystem":{"denyRead":["/a","/b"],"allowWrite":["/y"]},
			"network":{"allowedDomains":["good"],"deniedDomains":["bad"],"tlsTerminate":{"b":2}}}}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var want m
			if err := json.Unmarshal([]byte(tt.want), &want); err != nil {
				t.Fatal(err)
			}
			if got := readSettings(t, tt.opts); !reflect.DeepEqual(got, want) {
				t.Errorf("got  %v\nwant %v", got, want)
			}
		})
	}
}

func TestManagedSettingsMustApply(t *testing.T) {
	for reply, ok := range map[string]bool{`{"managed_settings_applied":true}`: true, `{"managed_settings_applied":false}`: false, `{}`: false} {
		bubble(t, func(c *cli) {
			r := c.request("initialize")
			if !strings.Contains(string(r.Body), `"managedSettings":{"disableAllHooks":true}`) {
				c.t.Errorf("heard %s", r.Body)
			}
			c.succeed(r, reply)
			c.idle()
		}, func(t *testing.T, o *claude.Options) {
			o.ManagedSettings = map[string]any{"disableAllHooks": true}
			s, err := claude.Connect(t.Context(), o)
			if ok != (err == nil) {
				t.Errorf("%s: error = %v", reply, err)
			}
			if err == nil {
				finish(t, s)
			}
		})
	}
}

func TestVerbatimPrompts(t *testing.T) {
	bubble(t, func(c *cli) {
		c.greet()
		f, _ := c.hear()
		if !strings.Contains(string(f.Line), `"client_composed":true`) {
			c.t.Errorf("heard %s", f.Line)
		}
		c.idle()
	}, func(t *testing.T, o *claude.Options) {
		o.VerbatimPrompts = true
		s := connect(t, o)
		if _, err := s.Send(t.Context(), "/compact"); err != nil {
			t.Error(err)
		}
		finish(t, s)
	})
}

func TestBadSurface(t *testing.T) {
	agent := func(a control.AgentDefinition) claude.Options {
		return claude.Options{Agents: map[string]control.AgentDefinition{"a": a}}
	}
	tests := map[string]struct {
		field string
		opts  claude.Options
	}{
		"agent without a description": {`Agents["a"]`, agent(control.AgentDefinition{Prompt: "p"})},
		"agent without a prompt":      {`Agents["a"]`, agent(control.AgentDefinition{Description: "d"})},
		"skills twice":                {"AllSkills", claude.Options{AllSkills: true, Skills: []string{"a"}}},
		"skill that is a rule":        {"Skills", claude.Options{Skills: []string{"a),Bash(*"}}},
		"skill with a comma":          {"Skills", claude.Options{Skills: []string{"a,Bash"}}},
		"any skill":                   {"Skills", claude.Options{Skills: []string{"*"}}},
		"skill with padding":          {"Skills", claude.Options{Skills: []string{" a"}}},
		"skill as a command":          {"Skills", claude.Options{Skills: []string{"/a"}}},
		"remote plugin":               {"Plugins[0]", claude.Options{Plugins: []control.PluginConfig{{Type: "npm", Path: "p"}}}},
		"plugin without a path":       {"Plugins[0]", claude.Options{Plugins: []control.PluginConfig{{}}}},
		"relative root":               {"ProjectConfigRoot", claude.Options{ProjectConfigRoot: "repo"}},
		"settings twice":              {"SettingsFile", claude.Options{SettingsFile: "f", Sandbox: &claude.Sandbox{}}},
		"settings as extra":           {"ExtraArgs", claude.Options{Settings: map[string]any{}, ExtraArgs: []string{"--settings", "f"}}},
		"settings that are no JSON":   {"Settings", claude.Options{Settings: map[string]any{"f": func() {}}}},
		"managed that are no JSON":    {"ManagedSettings", claude.Options{ManagedSettings: map[string]any{"f": func() {}}}},
		"sandbox that is no JSON":     {"Sandbox", claude.Options{Sandbox: &claude.Sandbox{Extra: map[string]any{"f": func() {}}}}},
		"nobody to ask":               {"PermissionPrompts", claude.Options{PermissionPrompts: "none", CanUseTool: allowAll}},
		"unknown prompts":             {"PermissionPrompts", claude.Options{PermissionPrompts: "cloud"}},
		"unknown preview":             {"QuestionPreview", claude.Options{QuestionPreview: "pdf"}},
		"negative tokens":             {"TaskBudget", claude.Options{TaskBudget: -1}},
		"drop without a place":        {"ResumeDropsTurn", claude.Options{Resume: "00000000-0000-4000-8000-000000000002", ResumeDropsTurn: "u"}},
		"prompt twice":                {"SystemPrompt", claude.Options{SystemPrompt: claude.SystemPrompt{Text: "a", Sections: []string{"b"}}}},
		"static without a preset":     {"SystemPrompt.Static", claude.Options{SystemPrompt: claude.SystemPrompt{Static: true}}},
		"alias of nothing":            {"ToolAliases", claude.Options{ToolAliases: map[string]string{"Bash": ""}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.opts.Transport = unstarted{t}
			_, err := claude.Connect(t.Context(), &tt.opts)
			if bad, ok := err.(*claude.OptionError); !ok || bad.Field != tt.field {
				t.Errorf("error = %v, want one about %s", err, tt.field)
			}
		})
	}
}

func TestHardened(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("ANTHROPIC_API_KEY", "sk-test")
	o := claude.Hardened()
	if o.SettingSources == nil || len(o.SettingSources) > 0 || !o.StrictMCPConfig || o.HookFailure != hook.FailClosed || o.PermissionMode != permission.ModeDefault {
		t.Errorf("got %+v", o)
	}
	names := make(map[string]bool)
	for _, entry := range o.Env {
		name, _, _ := strings.Cut(entry, "=")
		names[name] = true
	}
	if names["AWS_SECRET_ACCESS_KEY"] || !names["ANTHROPIC_API_KEY"] || !names["PATH"] {
		t.Errorf("environment has %v", slices.Sorted(maps.Keys(names)))
	}
}
