package e2e

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/internal/test/need"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/sandbox"
	"github.com/claude-agent-go/claude/store"
)

// place is where the CLI of a test runs: on this machine, or in a root directory of its own.
type place struct {
	elsewhere bool
	moved     bool
	shown     map[string]bool // rows of the options table
}

// effects has the options that were at work, by their rows in the options table.
type effects map[string]bool

// inEachRoot runs a test on this machine, and with the CLI in a root directory of its own.
// The test calls at.move with each CLI that it prepares. Elsewhere the CLI finds the folders
// of the test under the same paths, but not the one that the SDK writes its files to.
func inEachRoot(t *testing.T, test func(t *testing.T, at *place)) {
	t.Run("here", func(t *testing.T) {
		t.Parallel()
		test(t, &place{})
	})
	inAnotherRoot(t, test)
}

// inAnotherRoot runs only the second half of inEachRoot, for what other tests show here.
func inAnotherRoot(t *testing.T, test func(t *testing.T, at *place)) {
	name := t.Name()
	t.Run("elsewhere", func(t *testing.T) {
		t.Parallel()
		need.Namespaces.Test(t)
		at := &place{elsewhere: true, shown: make(map[string]bool)}
		t.Cleanup(func() {
			if !long.Enabled() || t.Skipped() || t.Failed() { // on the quick level there is no CLI
				return
			}
			if !at.moved {
				t.Error("the test has not moved its CLI, and shows the same as here")
			}
			for row := range harness.ReadTests(t)[name].Shows {
				if !at.shown[row] {
					t.Errorf("the test has not come to what it shows of %s", row)
				}
			}
		})
		test(t, at)
	})
}

// move lets a CLI start there.
func (at *place) move(r *real) {
	if !at.elsewhere {
		return
	}
	at.moved = true
	program, err := os.Executable()
	if err != nil {
		panic(err) // it is what runs
	}
	r.opts.Transport = &sandbox.Bubblewrap{Helper: program, Mounts: []sandbox.Mount{
		{Source: filepath.Dir(r.dir), Writable: true}, // all that t.TempDir makes
		{Source: program}, // as an MCP server
	}}
	r.opts.Env = append(r.opts.Env, "CLAUDE_CONFIG_DIR="+filepath.Join(r.home, ".claude"))
}

// shows fails the test unless each of the options was at work. The names of the rows are
// literals: TestEveryOptionWorksElsewhere reads them.
func (at *place) shows(t *testing.T, seen effects, format string, args ...any) {
	t.Helper()
	for _, row := range slices.Sorted(maps.Keys(seen)) {
		if at.elsewhere {
			at.shown[row] = true
		}
		if !seen[row] {
			t.Errorf("no effect of %s: "+format, append([]any{row}, args...)...)
		}
	}
}

// has reports whether a text has all of the parts.
func has(text string, parts ...string) bool {
	return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(text, part) })
}

// A session is restored from a store and forked, answers by a schema, and repeats no
// request, wherever the CLI is.
func TestRealForkInEachRoot(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "a store")
	inEachRoot(t, func(t *testing.T, at *place) {
		r := realCLI(t, claudetest.UseTool("Bash", map[string]string{"command": "touch made"}), claudetest.Say("made"))
		at.move(r)
		o := r.opts
		o.AllowedTools = []string{"Bash(touch:*)"}
		o.Store = &claude.StoreOptions{Store: store.Memory(), Project: "p", Private: true, Journal: t.TempDir()}
		first, err := claude.Ask(t.Context(), "the first", o)
		if err != nil {
			t.Fatal(err)
		}
		_, made := os.Stat(filepath.Join(r.dir, "made"))
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
		calls := r.calls()
		raw := string(calls[len(calls)-1].Raw)
		at.shows(t, effects{
			"AllowedTools": made == nil,
			"Store":        has(raw, "the first"),
			"ForkSession":  fork.SessionID != first.SessionID,
			"ExtraArgs":    !has(raw, `"name":"Write"`),
			"OutputSchema": has(string(fork.StructuredOutput), "7"),
		}, "the fork is %+v, %v", fork, made)
		o.MaxRetries = claude.NoRetries
		r.model.Add(claudetest.Fail(529, "overloaded_error", "Overloaded").Forever())
		_, err = claude.Ask(t.Context(), "the third", o)
		more := len(r.calls()) - len(calls)
		at.shows(t, effects{"MaxRetries": errors.As(err, new(*claude.ResultError)) && more == 1}, "%v, after %d requests", err, more)
	})
}
