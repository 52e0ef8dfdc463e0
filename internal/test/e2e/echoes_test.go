//go:build unix

package e2e

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// A new CLI that is asked for echoes although it need not be does no harm.
func TestRealEchoesAreHidden(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "a native executable")
	file := filepath.Join(t.TempDir(), "out.txt")
	r := realCLI(t, claudetest.UseTool("Write", map[string]any{"file_path": file, "content": "x"}), claudetest.Say("one"), claudetest.Say("two"))
	var log lockedBuffer
	r.opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
	r.opts.CLIPath = harness.Script(t, "claude", fmt.Sprintf("exec '%s' \"$@\"\n", r.opts.CLIPath))
	r.opts.CanUseTool = func(context.Context, *permission.Request) (permission.Decision, error) {
		return permission.Allow(), nil
	}
	echoed := 0
	r.opts.Trace = &claude.Trace{FrameRead: func(line []byte) {
		if strings.Contains(string(line), `"isReplay":true`) {
			echoed++
		}
	}}
	s, err := claude.Connect(t.Context(), r.opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"one", "two"} {
		last := ""
		for msg, err := range s.Run(t.Context(), "go") {
			if err != nil {
				t.Fatal(err)
			}
			switch m := msg.(type) {
			case *message.User:
				if m.IsReplay {
					t.Errorf("an echo is shown: %s", m.Raw)
				}
			case *message.Result:
				last = m.Text
			}
		}
		if last != want {
			t.Errorf("answer %q, want %q", last, want)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Wait(); err != nil {
		t.Error(err)
	}
	if echoed != 2 || strings.Contains(log.String(), "level=WARN") {
		t.Errorf("%d echoes, log:\n%s", echoed, log.String())
	}
}
