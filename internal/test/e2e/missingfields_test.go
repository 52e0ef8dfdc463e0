package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/permission"
)

// A request that loses a field on its way is refused, and the CLI takes the
// error reply for a no: it denies the tool, and blocks where a hook that fails
// closed was meant to be asked. The rest of the line stays as the CLI wrote it,
// so that it is recognised by how it begins.
func TestRealMissingFields(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "hooks that fail closed")
	for name, tt := range map[string]struct{ subtype, field string }{
		"tool name":  {"can_use_tool", "tool_name"},
		"tool input": {"can_use_tool", "input"},
		"hook id":    {"hook_callback", "callback_id"},
		"hook input": {"hook_callback", "input"},
		"its type":   {"can_use_tool", "type"},
	} {
		t.Run(name, func(t *testing.T) {
			r := realCLI(t)
			file := filepath.Join(r.dir, "a.txt")
			r.model.Add(write(file, "x"), claudetest.Say("done"))
			var lost, asked atomic.Int32
			r.opts.Transport = &tamperingTransport{edit: func(line []byte) [][]byte {
				text := string(line)
				if strings.Contains(text, `"subtype":"`+tt.subtype+`"`) && strings.Contains(text, `"control_request"`) {
					lost.Add(1)
					text = strings.Replace(text, `"`+tt.field+`":`, `"lost":`, 1)
				}
				return [][]byte{[]byte(text)}
			}}
			r.opts.CanUseTool = func(context.Context, *permission.Request) (permission.Decision, error) {
				if tt.subtype == "can_use_tool" {
					asked.Add(1)
				}
				return permission.Allow(), nil
			}
			if tt.subtype == "hook_callback" {
				r.opts.Hooks = []hook.Hook{hook.Guard("Write", func(context.Context, *permission.Request) (permission.Decision, error) {
					asked.Add(1)
					return permission.Allow(), nil
				})}
			}
			s := r.connect(t)
			if res, err := s.Ask(t.Context(), "write"); err != nil || res.Text != "done" {
				t.Errorf("Ask = %+v, %v", res, err)
			}
			if lost.Load() != 1 || asked.Load() != 0 {
				t.Errorf("%d requests lost a field, user code was asked %d times", lost.Load(), asked.Load())
			}
			if _, err := os.Stat(file); err == nil {
				t.Error("the tool ran")
			}
			if got := r.lastResult(t); !got.IsError {
				t.Errorf("the model saw %+v", got)
			}
		})
	}
}
