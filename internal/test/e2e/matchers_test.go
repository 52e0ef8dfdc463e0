package e2e

import (
	"context"
	"encoding/json"
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
