package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// TestRealMatchers shows which matchers the CLI calls a hook for.
func TestRealMatchers(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "lists of names with commas")
	r := realCLI(t, write(filepath.Join(t.TempDir(), "f"), "x"), claudetest.Say("done"))
	want := map[string]bool{"": true, "*": true, "Write": true, "Write|Edit": true, "Edit, Write": true, ".ri": true, "^(Read|Write)$": true, "Wri": false, "Writes": false, "^(?!Write)": false}
	got := make(chan string, len(want))
	for matcher := range want {
		r.opts.Hooks = append(r.opts.Hooks, hook.PreToolUse(matcher, func(context.Context, *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
			got <- matcher
			return nil, nil
		}))
	}
	r.opts.PermissionMode = permission.ModeAcceptEdits
	if _, err := r.connect(t).Ask(t.Context(), "write"); err != nil {
		t.Fatal(err)
	}
	close(got)
	called := make(map[string]bool)
	for matcher := range got {
		called[matcher] = true
	}
	for matcher, fits := range want {
		if called[matcher] != fits {
			t.Errorf("%q: the hook was called: %v", matcher, called[matcher])
		}
	}
}

// TestRealMatcherOfNothing shows that the CLI ignores the matcher of an event
// that has nothing to compare it with. Options refuse it; settings do not.
func TestRealMatcherOfNothing(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "1.0.128", "hooks in settings")
	mark := filepath.Join(t.TempDir(), "called")
	r := realCLI(t, claudetest.Say("done"))
	r.opts.Settings = map[string]any{"hooks": map[string]any{"UserPromptSubmit": []any{
		map[string]any{"matcher": "never", "hooks": []any{map[string]any{"type": "command", "command": "touch " + mark}}},
	}}}
	if _, err := claude.Ask(t.Context(), "hello", r.opts); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(mark); err != nil {
		t.Errorf("the hook was not called: %v", err)
	}
}

// TestRealPathsOfRules shows where the CLI counts the path of a rule from: the
// working directory, unless it begins with two slashes.
func TestRealPathsOfRules(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	first, _, _ := strings.Cut(strings.TrimPrefix(filepath.ToSlash(dir), "/"), "/")
	for rule, denied := range map[string]bool{
		"Read(" + secret + ")":  false,
		"Read(/" + secret + ")": true,
		"Read(/inside)":         true,
	} {
		t.Run(rule, func(t *testing.T) {
			path := secret
			r := realCLI(t)
			if rule == "Read(/inside)" {
				path = filepath.Join(r.opts.Cwd, "inside")
			}
			r.model.Add(claudetest.UseTool("Read", map[string]string{"file_path": path}), claudetest.Say("done"))
			// With such a folder in the working directory the options take the rule.
			if err := errors.Join(os.WriteFile(path, []byte("42"), 0o600), os.Mkdir(filepath.Join(r.opts.Cwd, first), 0o700)); err != nil {
				t.Fatal(err)
			}
			r.opts.AddDirs, r.opts.DisallowedTools = []string{dir}, []string{rule}
			if _, err := claude.Ask(t.Context(), "read", r.opts); err != nil {
				t.Fatal(err)
			}
			calls := r.calls()
			result := calls[len(calls)-1].ToolResults[0]
			if result.IsError != denied || strings.Contains(result.Text, "42") == denied {
				t.Errorf("error: %v, result %q; want denied: %v", result.IsError, result.Text, denied)
			}
		})
	}
}

// TestRealBuiltInTools compares the table of tools with what the CLI lists in
// several kinds of sessions.
func TestRealBuiltInTools(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*real){
		"default": func(*real) {},
		"plan":    func(r *real) { r.opts.PermissionMode = permission.ModePlan },
		"output":  func(r *real) { r.opts.OutputSchema = json.RawMessage(`{"type":"object"}`) },
		"mcp":     func(r *real) { r.opts.MCPServers = claude.MCPServers{"clock": harness.Clock()} },
		"asking":  func(r *real) { r.opts.CanUseTool = allowAll },
	} {
		t.Run(name, func(t *testing.T) {
			r := realCLI(t, claudetest.Say("done"))
			change(r)
			for msg, err := range claude.Query(t.Context(), "hello", r.opts) {
				if err != nil {
					break // an answer that is not JSON
				}
				init, ok := msg.(*message.Init)
				if !ok {
					continue
				}
				if len(init.Tools) < 10 {
					t.Errorf("the CLI lists %q", init.Tools)
				}
				for _, tool := range init.Tools {
					if !strings.HasPrefix(tool, "mcp__") && !slices.Contains(permission.BuiltInTools(), tool) {
						t.Errorf("the table lacks %s", tool)
					}
				}
			}
		})
	}
}
