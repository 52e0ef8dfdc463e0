//go:build unix

package claude_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/test/leak"
)

// A CLI is asked for echoes unless its version shows that it need not or cannot
// send them. One that refuses is started again without the flag.
func TestEchoesOfUnknownVersions(t *testing.T) {
	leak.Check(t)
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
			s, err := claude.Connect(t.Context(), &claude.Options{CLIPath: harness.Script(t, tt.name, note+tt.text), Env: append(os.Environ(), leak.Mark()), Logger: harness.Logger(t)})
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

// A CLI that resumes a session waits for the handshake. A CLI that cannot is
// refused if it would bypass hooks, and is not even started if its version is
// known; without such hooks it is started without the flag.
func TestResumeAwaitsHandshake(t *testing.T) {
	leak.Check(t)
	const reply = `read line
id=${line#*'"request_id":'}; id=${id%%,*}
echo '{"type":"control_response","response":{"subtype":"success","request_id":'"$id"',"response":{"hook_on_failure_supported":true}}}'
cat >/dev/null
`
	const refuse = `case "$*" in *--await-initialize*) echo "error: unknown option '--await-initialize'" >&2; exit 1;; esac
`
	pre := hook.PreToolUse("", func(context.Context, *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) { return nil, nil })
	for name, tt := range map[string]struct {
		name, text string
		hooks      []hook.Hook
		starts     string // one mark for each start: a with the flag, n without
		refused    bool
	}{
		"new":                       {"2.1.325", reply, []hook.Hook{pre.FailClosed()}, "a", false},
		"new, no hooks":             {"2.1.265", reply, nil, "a", false},
		"old, no hooks":             {"2.1.260", refuse + reply, nil, "n", false},
		"old, open hook":            {"2.1.260", refuse + reply, []hook.Hook{pre.FailOpen()}, "n", false},
		"old, undecided gate":       {"2.1.260", refuse + reply, []hook.Hook{noHook(), pre}, "", true},
		"old, closed hook":          {"2.1.260", refuse + reply, []hook.Hook{noHook().FailClosed()}, "", true},
		"cannot defer, undecided":   {"2.1.0", refuse + reply, []hook.Hook{pre}, "n", false},
		"cannot defer, closed":      {"2.1.0", refuse + reply, []hook.Hook{pre.FailClosed()}, "", true},
		"unknown":                   {"claude", reply, []hook.Hook{pre.FailClosed()}, "a", false},
		"unknown and old":           {"claude", refuse + reply, nil, "an", false},
		"unknown and old, gate":     {"claude", refuse + reply, []hook.Hook{pre}, "a", true},
		"unknown and old, no gates": {"claude", refuse + reply, []hook.Hook{noHook()}, "an", false},
	} {
		for start, run := range map[string]func(o *claude.Options) error{
			"Connect": func(o *claude.Options) error {
				s, err := claude.Connect(t.Context(), o)
				if err == nil {
					err = s.Close()
				}
				return err
			},
			"Ask": func(o *claude.Options) error {
				o.SystemPrompt.Append = "so that there is a handshake"
				_, err := claude.Ask(t.Context(), "x", o)
				if errors.Is(err, claude.ErrNoResult) {
					err = nil
				}
				return err
			},
		} {
			t.Run(start+" "+name, func(t *testing.T) {
				starts := filepath.Join(t.TempDir(), "starts")
				note := fmt.Sprintf("case \"$*\" in --version) echo 2.1.260; exit;; *--await-initialize*) printf a >>%[1]s;; *) printf n >>%[1]s;; esac\n", starts)
				text := tt.text
				if start == "Ask" {
					text = strings.Replace(text, "cat >/dev/null", "read prompt", 1)
				}
				err := run(&claude.Options{
					CLIPath: harness.Script(t, tt.name, note+text), Env: append(os.Environ(), leak.Mark()), Logger: harness.Logger(t),
					Resume: "00000000-0000-4000-8000-000000000002", ReplayUserMessages: true, Hooks: tt.hooks,
				})
				bad, ok := errors.AsType[*claude.OptionError](err)
				if ok != tt.refused || ok && (bad.Field != "Resume" || !strings.Contains(bad.Problem, "2.1.265")) || err != nil && !ok {
					t.Errorf("error = %v, want a refusal: %v", err, tt.refused)
				}
				if got, _ := os.ReadFile(starts); string(got) != tt.starts {
					t.Errorf("started %q, want %q", got, tt.starts)
				}
			})
		}
	}
}
