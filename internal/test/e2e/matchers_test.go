package e2e

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/permission"
)

// TestRealMatchers shows which matchers the CLI calls a hook for.
func TestRealMatchers(t *testing.T) {
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
