package claude_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/control"
)

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
			if got := launched(t, tt.opts).settings; !reflect.DeepEqual(got, want) {
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
				c.t.Errorf("got %s", r.Body)
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
			c.t.Errorf("got %s", f.Line)
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
		return claude.Options{Agents: map[string]claude.AgentDefinition{"a": a}}
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
		"settings that are not JSON":  {"Settings", claude.Options{Settings: map[string]any{"f": func() {}}}},
		"managed that are not JSON":   {"ManagedSettings", claude.Options{ManagedSettings: map[string]any{"f": func() {}}}},
		"sandbox that is not JSON":    {"Sandbox", claude.Options{Sandbox: &claude.Sandbox{Extra: map[string]any{"f": func() {}}}}},
		"nobody to ask":               {"PermissionPrompts", claude.Options{PermissionPrompts: claude.PermissionPromptsNone, CanUseTool: allowAll}},
		"unknown prompts":             {"PermissionPrompts", claude.Options{PermissionPrompts: "cloud"}},
		"retries below none":          {"MaxRetries", claude.Options{MaxRetries: -2}},
		"negative API timeout":        {"Timeouts.API", claude.Options{Timeouts: claude.Timeouts{API: claude.NoTimeout}}},
		"API timeout without end":     {"Timeouts.API", claude.Options{Timeouts: claude.Timeouts{API: 1000 * time.Hour}}},
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
