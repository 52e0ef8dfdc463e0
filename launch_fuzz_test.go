package claude_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/permission"
)

// caught is a Transport that only records the launch, and how its command line
// would be read.
type caught struct {
	launch *claude.Launch
	seen   *host.Options
	err    error
}

func (c *caught) Start(_ context.Context, launch *claude.Launch) (claude.Conn, error) {
	c.launch = launch
	c.seen, c.err = host.ParseArgs(launch.Args, launch.Env)
	return nil, errors.New("caught")
}

// reparse reads a command line as the CLI does, which is not how it is made: a
// token that begins with a dash is a flag, up to its first equals sign; two flags
// take the next token if they have no such sign; all others are a prompt. It
// returns the values of each flag.
func reparse(t *testing.T, args []string) map[string][]string {
	t.Helper()
	flags := make(map[string][]string)
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(args[i], "=")
		if !strings.HasPrefix(name, "--") {
			t.Errorf("%q is not a flag: it would be read as a prompt", args[i])
		}
		if !joined && (name == "--settings" || name == "--setting-sources") && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
			i++
			value = args[i]
		}
		flags[name] = append(flags[name], value)
	}
	return flags
}

// FuzzArgs turns options into command lines and reads them back. No value may
// become a flag or vanish, and nothing confidential may appear.
func FuzzArgs(f *testing.F) {
	f.Add("sonnet", "Read", "/repo", "m1", true, false)
	f.Add("--dangerously-skip-permissions", "Bash(git:*)", "-rf", "--", false, true)
	f.Add("a=b", "mcp__s__t", "/a b/c=d", "=", true, true)
	f.Add("a\nb", "Read,Bash", "/a\nb", "\x00", false, false)
	f.Add("", "", "", "", false, false)
	f.Add("'\"$(x)`", "Bash(a) Bash(b)", "C:\\x\\", "%PATH%", true, false)
	f.Fuzz(func(t *testing.T, name, rule, path, text string, a, b bool) {
		if strings.Contains(name+rule+path+text, canary) {
			return
		}
		caught := new(caught)
		o := &claude.Options{
			Transport: caught, SessionID: "00000000-0000-4000-8000-000000000001",
			Model: name, Agent: name, PermissionPromptTool: name, Tools: []string{rule}, AllowedTools: []string{rule, "Grep"},
			AddDirs: []string{path, path}, DebugFile: path, ProjectConfigRoot: "/" + path, Plugins: []control.PluginConfig{{Path: path}},
			Betas: []string{text}, PartialMessages: a, StrictMCPConfig: b, AllowBypassPermissions: a,
			// Confidential, so never there, whatever it is.
			Env:          []string{"X_TOKEN=" + canary + text, "Y=" + canary},
			SystemPrompt: claude.SystemPrompt{Text: canary + text, Append: canary},
			Agents:       map[string]claude.AgentDefinition{"a": {Description: canary, Prompt: canary + text}},
			Settings:     map[string]any{text: canary}, ManagedSettings: map[string]any{text: canary},
			Title: canary, PlanModeInstructions: canary + text,
			MCPServers: claude.MCPServers{"m": claude.HTTPServer{URL: "https://" + canary, Headers: map[string]string{text: canary}}},
		}
		if b {
			o.DisallowedTools = []string{"Write"}
			o.PermissionMode = permission.ModePlan
		}
		_, err := claude.Connect(t.Context(), o)
		if _, refused := errors.AsType[*claude.OptionError](err); refused {
			if caught.launch != nil {
				t.Error("started in spite of bad options")
			}
			return
		}
		caught.check(t, o)
		// A query without a handshake takes another way to the same end.
		o.SystemPrompt, o.Agents, o.Title, o.PlanModeInstructions, o.ManagedSettings = claude.SystemPrompt{}, nil, "", "", nil
		caught.launch = nil
		if _, err := claude.Ask(t.Context(), canary+text, o); caught.launch == nil {
			t.Fatalf("not started: %v", err)
		}
		caught.check(t, o)
	})
}

// check holds a command line against its options.
func (c *caught) check(t *testing.T, o *claude.Options) {
	t.Helper()
	args := c.launch.Args
	flags := reparse(t, args)
	for flag, want := range map[string][]string{
		"--model": {o.Model}, "--agent": {o.Agent}, "--permission-prompt-tool": {o.PermissionPromptTool},
		"--tools": {o.Tools[0]}, "--allowedTools": {o.AllowedTools[0] + ",Grep"}, "--add-dir": o.AddDirs,
		"--debug-file": {o.DebugFile}, "--project-config-root": {o.ProjectConfigRoot}, "--plugin-dir": {o.Plugins[0].Path},
		"--betas": {o.Betas[0]}, "--session-id": {o.SessionID}, "--permission-mode": {string(o.PermissionMode)},
		"--disallowedTools": {strings.Join(o.DisallowedTools, ",")},
	} {
		if want[0] == "" {
			want = nil // not given
		}
		if !slices.Equal(flags[flag], want) {
			t.Errorf("%s = %q, want %q", flag, flags[flag], want)
		}
	}
	for flag, want := range map[string]bool{
		"--include-partial-messages": o.PartialMessages, "--strict-mcp-config": o.StrictMCPConfig,
		"--allow-dangerously-skip-permissions": o.AllowBypassPermissions, "--dangerously-skip-permissions": false,
	} {
		if got := flags[flag] != nil; got != want {
			t.Errorf("%s is given: %v, want %v", flag, got, want)
		}
	}
	for _, arg := range args {
		if strings.Contains(arg, canary) || strings.Contains(arg, "\x00") {
			t.Errorf("%q on the command line", arg)
		}
	}
	if c.err != nil {
		t.Fatalf("%q cannot be read: %v", args, c.err)
	}
	if c.seen.Model != o.Model || c.seen.Mode != o.PermissionMode || c.seen.SessionID != o.SessionID ||
		c.seen.AllowBypass != o.AllowBypassPermissions || c.seen.PartialMessages != o.PartialMessages {
		t.Errorf("%q is read as %+v", args, c.seen)
	}
}
