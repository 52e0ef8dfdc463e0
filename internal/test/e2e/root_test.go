package e2e

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/internal/test/need"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/sandbox"
	"github.com/claude-agent-go/claude/store"
)

// inEachRoot runs a test on this machine, and with the CLI in a root directory of its own.
// The test calls move with each CLI that it prepares. Elsewhere the CLI finds the folders
// of the test under the same paths, but not the one that the SDK writes its files to.
func inEachRoot(t *testing.T, test func(t *testing.T, move func(*real))) {
	t.Run("here", func(t *testing.T) {
		t.Parallel()
		test(t, func(*real) {})
	})
	t.Run("elsewhere", func(t *testing.T) {
		t.Parallel()
		need.Namespaces.Test(t)
		var moved atomic.Bool
		t.Cleanup(func() {
			if long.Enabled() && !moved.Load() && !t.Skipped() && !t.Failed() { // on the quick level there is no CLI
				t.Error("the test has not moved its CLI, and shows the same as here")
			}
		})
		test(t, func(r *real) {
			t.Helper()
			moved.Store(true)
			helper, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			folders := filepath.Dir(r.dir) // all that t.TempDir makes
			r.opts.Transport = &sandbox.Bubblewrap{Helper: helper, Mounts: []sandbox.Mount{{Source: folders, Writable: true}}}
			r.opts.Env = append(r.opts.Env, "CLAUDE_CONFIG_DIR="+filepath.Join(r.home, ".claude"))
		})
	})
}

// A session is restored from a store and forked, answers by a schema, and repeats no
// request, wherever the CLI is.
func TestRealForkInEachRoot(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "a store")
	inEachRoot(t, func(t *testing.T, move func(*real)) {
		r := realCLI(t, claudetest.UseTool("Bash", map[string]string{"command": "touch made"}), claudetest.Say("made"))
		move(r)
		o := r.opts
		o.AllowedTools = []string{"Bash(touch:*)"}
		o.Store = &claude.StoreOptions{Store: store.Memory(), Project: "p", Private: true, Journal: t.TempDir()}
		first, err := claude.Ask(t.Context(), "the first", o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(r.dir, "made")); err != nil {
			t.Errorf("an allowed command: %v", err)
		}
		if call := r.calls()[0]; !strings.Contains(string(call.Raw), `"name":"Write"`) {
			t.Error("the model may not write: the test sees nothing")
		}
		o.Resume, o.ForkSession = first.SessionID, true
		o.ExtraArgs = []string{"--disallowedTools", "Write"}
		o.OutputSchema = json.RawMessage(`{"type":"object","properties":{"sheep":{"type":"integer"}},"required":["sheep"]}`)
		r.model.Add(claudetest.Answer(map[string]any{"sheep": 7}))
		fork, err := claude.Ask(t.Context(), "the second", o)
		if err != nil {
			t.Fatal(err)
		}
		if fork.SessionID == first.SessionID || !strings.Contains(string(fork.StructuredOutput), "7") {
			t.Errorf("the fork is %+v", fork)
		}
		calls := r.calls()
		if raw := string(calls[len(calls)-1].Raw); !strings.Contains(raw, "the first") || strings.Contains(raw, `"name":"Write"`) {
			t.Error("the model does not read the session, or may write")
		}
		o.MaxRetries = claude.NoRetries
		r.model.Add(claudetest.Fail(529, "overloaded_error", "Overloaded").Forever())
		if _, err := claude.Ask(t.Context(), "the third", o); !errors.As(err, new(*claude.ResultError)) || len(r.calls()) != len(calls)+1 {
			t.Errorf("%v, after %d requests", err, len(r.calls())-len(calls))
		}
	})
}
