//go:build unix

package claude_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/test/long"
)

// A wrapper that hangs when it is asked for the version does not make its CLI
// newer: a hook is not left out, and no tool runs with an input that a hook has
// replaced.
func TestChildRewriteWithSlowVersion(t *testing.T) {
	long.Test(t, "waits five seconds for a version")
	slow := func(role string) *claude.Options {
		o := childCLI(t, role)
		o.CLIPath = harness.Script(t, "wrapper", fmt.Sprintf("case \"$*\" in *--version*) exec sleep 600;; esac\nexec %q \"$@\"\n", o.CLIPath))
		o.Hooks = []hook.Hook{hook.PreToolUse("", func(context.Context, *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
			out := hook.RewriteInput(map[string]int{"a": 1})
			out.Decision = hook.PermissionAllow
			return out, nil
		})}
		return o
	}
	mayLackHooks, mayLackChanges := slow("modest"), slow("unnamed")
	var both sync.WaitGroup // together: most of it is waiting
	both.Go(func() {
		s, err := claude.Connect(t.Context(), mayLackHooks)
		if !errors.Is(err, claude.ErrUnsupportedVersion) || !strings.Contains(err.Error(), "version unknown") {
			t.Errorf("a CLI that may not know hooks: error = %v", err)
		}
		if err == nil {
			_ = s.Close()
		}
	})
	both.Go(func() {
		answer, err := hookAnswer(t.Context(), mayLackChanges)
		if err != nil || !strings.Contains(answer, `\"permissionDecision\":\"deny\"`) || strings.Contains(answer, "updatedInput") {
			t.Errorf("a CLI that may not know changed inputs was told %q, %v", answer, err)
		}
	})
	both.Wait()
}

// hookAnswer returns what a CLI in the role "unnamed" was told by a hook.
func hookAnswer(ctx context.Context, o *claude.Options) (string, error) {
	s, err := claude.Connect(ctx, o)
	if err != nil {
		return "", err
	}
	defer s.Close()
	if _, err := s.Send(ctx, "go"); err != nil {
		return "", err
	}
	for m, err := range s.Messages(ctx) {
		if err != nil {
			return "", err
		}
		if text := string(m.Head().Raw); strings.Contains(text, `"subtype":"answer"`) {
			return text, nil
		}
	}
	return "", nil
}
