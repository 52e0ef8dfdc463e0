package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/permission"
)

// TestRealRuleForms shows forms of rules that the CLI takes and never applies,
// and beside them those that mean the same and hold. The first are refused here.
func TestRealRuleForms(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "its rules")
	never := []string{"Bash( )", `Bash("touch x")`, "Bash(:*)", "Bash(touch:)", "Bash(touch:* x)", "Read(:*)", "Read(f:*)", "Read(!f)", "Write(f)", "MultiEdit(f)", "NotebookEdit(f)", "Agent(general*)"}
	holds := []string{"Bash(touch x)", "Read(f)", "Edit(new)", "Agent(general-purpose)"}
	for _, rule := range append(never, "WebFetch(localhost)") {
		if _, err := claude.Connect(t.Context(), &claude.Options{DisallowedTools: []string{rule}, CLIPath: "/nonexistent"}); err == nil || !strings.Contains(err.Error(), "never applies") {
			t.Errorf("%s: %v", rule, err)
		}
	}
	for _, rules := range [][]string{never, holds} {
		r := realCLI(t)
		if err := os.WriteFile(filepath.Join(r.dir, "f"), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		r.model.Add(claudetest.UseTools(
			claudetest.ScriptedCall{ID: "toolu_1", Name: "Bash", Input: map[string]string{"command": "touch x"}},
			claudetest.ScriptedCall{ID: "toolu_2", Name: "Read", Input: map[string]string{"file_path": filepath.Join(r.dir, "f")}},
			claudetest.ScriptedCall{ID: "toolu_3", Name: "Write", Input: map[string]string{"file_path": filepath.Join(r.dir, "new"), "content": "x"}},
			claudetest.ScriptedCall{ID: "toolu_4", Name: "Agent", Input: map[string]string{"description": "x", "prompt": "y", "subagent_type": "general-purpose"}},
		))
		r.opts.PermissionMode = permission.ModeBypassPermissions
		r.opts.ExtraArgs = append([]string{"--disallowedTools"}, rules...)
		if _, err := r.connect(t).Ask(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
		denied := 0
		for _, c := range r.calls() {
			for _, result := range c.ToolResults {
				if result.IsError && strings.HasPrefix(result.ToolUseID, "toolu_") {
					denied++
				}
			}
			if denied > 0 {
				break
			}
		}
		want := 0
		if rules[0] == holds[0] {
			want = 4
		}
		if denied != want {
			t.Errorf("%q deny %d calls, want %d", rules, denied, want)
		}
	}
}
