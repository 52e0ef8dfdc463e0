package e2e

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/permission"
)

// Close while a question is open ends the turn then and there: the model is not
// called again, and the Run that was cut off does not end well.
func TestRealCloseWhileAsked(t *testing.T) {
	t.Parallel()
	for _, question := range []string{"permission", "hook"} {
		t.Run(question, func(t *testing.T) {
			if question == "hook" {
				realcli.Needs(t, "1.0.85", "hooks")
			}
			r := realCLI(t, claudetest.UseTool("Bash", map[string]any{"command": "mkfifo pipe"}), claudetest.Say("done"))
			asked := make(chan struct{}, 1)
			wait := func(ctx context.Context) {
				asked <- struct{}{}
				<-ctx.Done()
			}
			if question == "permission" {
				r.opts.CanUseTool = func(ctx context.Context, _ *permission.Request) (permission.Decision, error) {
					wait(ctx)
					return permission.Allow(), nil
				}
			} else {
				r.opts.PermissionMode = permission.ModeBypassPermissions
				r.opts.Hooks = []hook.Hook{hook.PreToolUse("Bash", func(ctx context.Context, _ *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
					wait(ctx)
					return nil, nil
				})}
			}
			s := r.connect(t)
			done := make(chan error, 1)
			go func() { done <- harness.LastError(s.Run(t.Context(), "work")) }()
			<-asked
			begin := time.Now()
			if err := s.Close(); err != nil {
				t.Errorf("Close = %v", err)
			}
			t.Log("Close took", time.Since(begin))
			if err := <-done; !errors.Is(err, claude.ErrClosed) {
				t.Errorf("Run ended with %v, want ErrClosed", err)
			}
			if n := len(r.calls()); n != 1 {
				t.Errorf("the model was called %d times, want once", n)
			}
			if text := r.transcript(t, s.ID()); strings.Contains(text, `"tool_result"`) {
				t.Errorf("the transcript has an answer that nobody gave:\n%s", text)
			}
		})
	}
}
