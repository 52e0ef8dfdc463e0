//go:build unix

package claude_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// script writes an executable, of which nobody can tell the version, under a
// name.
func script(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// A CLI is asked for echoes unless its version says that it need not, or cannot.
// One that refuses is started again without.
func TestEchoesOfUnknownVersions(t *testing.T) {
	checkLeaks(t)
	const reply = `read line
id=${line#*'"request_id":'}; id=${id%%,*}
echo '{"type":"control_response","response":{"subtype":"success","request_id":'"$id"',"response":{"commands":[]}}}'
cat >/dev/null
`
	const refuse = `case "$*" in *--replay-user-messages*) echo "error: unknown option '--replay-user-messages'" >&2; exit 1;; esac
`
	for name, tt := range map[string]struct {
		name, text string
		starts     string // one mark for each start: e with the flag, n without
	}{
		"unknown":              {"claude", reply, "e"},
		"unknown, and too old": {"claude", refuse + reply, "en"},
		"too old by its name":  {"1.0.85", refuse + reply, "n"},
		"old by its name":      {"2.1.0", reply, "e"},
		"new by its name":      {"2.1.325", reply, "n"},
	} {
		t.Run(name, func(t *testing.T) {
			starts := filepath.Join(t.TempDir(), "starts")
			note := fmt.Sprintf("case \"$*\" in --version) exit;; *--replay-user-messages*) printf e >>%[1]s;; *) printf n >>%[1]s;; esac\n", starts)
			s, err := claude.Connect(t.Context(), &claude.Options{CLIPath: script(t, tt.name, note+tt.text), Env: append(os.Environ(), testMark), Logger: testLogger(t)})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if got, _ := os.ReadFile(starts); string(got) != tt.starts {
				t.Errorf("started %q, want %q", got, tt.starts)
			}
		})
	}
}

// A new CLI that is asked for echoes although it need not be does no harm.
func TestRealEchoesAreHidden(t *testing.T) {
	realcli.Needs(t, "2.1.325", "a native executable")
	file := filepath.Join(t.TempDir(), "out.txt")
	r := realCLI(t, claudetest.UseTool("Write", map[string]any{"file_path": file, "content": "x"}), claudetest.Say("one"), claudetest.Say("two"))
	var log lockedBuffer
	r.opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
	r.opts.CLIPath = script(t, "claude", fmt.Sprintf("exec '%s' \"$@\"\n", r.opts.CLIPath))
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
