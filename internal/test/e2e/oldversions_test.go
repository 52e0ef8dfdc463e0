//go:build versions

package e2e

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// Each version is a download, so these tests are not part of the gate:
//
//	LONG_TESTS=1 go test -tags versions -run TestRealOld .

// oldVersions are the pinned versions besides the newest, which all other tests
// use.
func oldVersions() []string {
	return []string{"1.0.63", "1.0.85", "1.0.128", "2.0.0", "2.0.77", "2.1.0"}
}

// oldCLI returns options for an old CLI.
func oldCLI(t *testing.T, version string, replies ...claudetest.Reply) *claude.Options {
	t.Helper()
	return oldCLIWith(t, version, claudetest.NewModel(replies...))
}

func oldCLIWith(t *testing.T, version string, model *claudetest.Model) *claude.Options {
	t.Helper()
	path := realcli.Need(t, version)
	leak.Check(t)
	url, err := model.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	env, _ := realcli.Env(t, url)
	return &claude.Options{CLIPath: path, Env: append(env, leak.Mark()), Cwd: t.TempDir(), Logger: harness.Logger(t)}
}

// TestRealOldVersions runs the heart of the SDK on every pinned version.
func TestRealOldVersions(t *testing.T) {
	for _, version := range oldVersions() {
		t.Run(version, func(t *testing.T) {
			opts := oldCLI(t, version, claudetest.Say("one"), claudetest.Say("two"), claudetest.Say("three"),
				claudetest.UseTool("Bash", map[string]string{"command": "touch made", "description": "touch"}), claudetest.Say("four"))
			if res, err := claude.Ask(t.Context(), "hello", opts); err != nil || res.Text != "one" {
				t.Errorf("Ask = %+v, %v", res, err)
			}
			asked := 0
			opts.CanUseTool = func(context.Context, *permission.Request) (permission.Decision, error) {
				asked++
				return permission.Allow(), nil
			}
			s, err := claude.Connect(t.Context(), opts)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for _, want := range []string{"two", "three", "four"} {
				if res, err := s.Ask(t.Context(), "continue"); err != nil || res.Text != want {
					t.Errorf("Session.Ask = %+v, %v, want %s", res, err, want)
				}
			}
			if asked != 1 {
				t.Errorf("CanUseTool was asked %d times", asked)
			}
			begin := time.Now()
			_, err = s.ContextUsage(t.Context())
			if !errors.Is(err, claude.ErrUnsupportedVersion) || !strings.Contains(err.Error(), "2.1.325") || time.Since(begin) > 30*time.Second {
				t.Errorf("an operation it lacks: %v after %v", err, time.Since(begin))
			}
			if _, err := s.Interrupt(t.Context()); err != nil {
				t.Errorf("Interrupt: %v", err)
			}
		})
	}
}

var oldRounds = flag.Int("rounds", 35, "rounds of TestRealOldOrder with each version")

// TestRealOldOrder is TestRealOrder with versions that do not say which prompts
// a result answers.
func TestRealOldOrder(t *testing.T) {
	for _, version := range oldVersions() {
		t.Run(version, func(t *testing.T) {
			opts := oldCLIWith(t, version, echoModel())
			opts.AllowedTools = []string{"Bash"}
			s, err := claude.Connect(t.Context(), opts)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if wrong := misuseAtRandom(t, s, rand.New(rand.NewPCG(3, 4)), *oldRounds); wrong > 0 {
				t.Errorf("%d of %d answers are wrong", wrong, *oldRounds)
			}
		})
	}
}

// A CLI that reveals its version nowhere, and does not know the flag for echoes,
// is started without it.
func TestRealOldWithoutEchoes(t *testing.T) {
	opts := oldCLI(t, "1.0.85", claudetest.Say("one"), claudetest.Say("two"))
	wrapper := filepath.Join(t.TempDir(), "claude")
	script := fmt.Sprintf("#!/bin/sh\nexec node '%s' \"$@\"\n", opts.CLIPath)
	if err := os.WriteFile(wrapper, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	opts.CLIPath = wrapper
	s, err := claude.Connect(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, want := range []string{"one", "two"} {
		if res, err := s.Ask(t.Context(), "go"); err != nil || res.Text != want {
			t.Errorf("Ask = %+v, %v, want %q", res, err, want)
		}
	}
}

// TestRealOldVersionRefused asks old CLIs for what they lack.
func TestRealOldVersionRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		version string
		set     func(*claude.Options)
		want    string
	}{
		"no handshake": {"1.0.59", func(*claude.Options) {}, "1.0.63"},
		"no hooks":     {"1.0.63", func(o *claude.Options) { o.Hooks = []hook.Hook{noHook()} }, "1.0.85"},
		"no title":     {"2.1.0", func(o *claude.Options) { o.Title = "t" }, "2.1.325"},
		"no flag":      {"2.0.0", func(o *claude.Options) { o.TaskBudget = 5000 }, "--task-budget"},
	} {
		t.Run(name, func(t *testing.T) {
			opts := oldCLI(t, tt.version)
			tt.set(opts)
			_, err := claude.Connect(t.Context(), opts)
			if !errors.Is(err, claude.ErrUnsupportedVersion) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want one that names %s", err, tt.want)
			}
		})
	}
}

// TestRealOldAsk asks old CLIs, in a query without a handshake, for flags that
// they lack: the SDK reports it before it starts them, and is right, as the CLI
// shows when it is started anyway.
func TestRealOldAsk(t *testing.T) {
	for name, tt := range map[string]struct {
		version string
		set     func(*claude.Options)
		want    string
	}{
		"task budget": {"2.1.0", func(o *claude.Options) { o.TaskBudget = 5000 }, "version 2.1.0 does not know Options.TaskBudget, 2.1.325 does"},
		"effort":      {"2.1.0", func(o *claude.Options) { o.Effort = claude.EffortHigh }, "version 2.1.0 does not know Options.Effort, 2.1.325 does"},
		"budget":      {"2.0.0", func(o *claude.Options) { o.MaxBudgetUSD = 1 }, "version 2.0.0 does not know Options.MaxBudgetUSD, 2.0.77 does"},
		"tools":       {"2.0.0", func(o *claude.Options) { o.Tools = []string{"Read"} }, "version 2.0.0 does not know Options.Tools, 2.0.77 does"},
	} {
		t.Run(name, func(t *testing.T) {
			opts := oldCLI(t, tt.version, claudetest.Say("one"))
			tt.set(opts)
			if _, err := claude.Ask(t.Context(), "hello", opts); !errors.Is(err, claude.ErrUnsupportedVersion) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want %q", err, tt.want)
			}
			opts.Transport = claude.ChildProcess() // of which no version is known
			if _, err := claude.Ask(t.Context(), "hello", opts); !errors.Is(err, claude.ErrUnsupportedVersion) || !strings.Contains(err.Error(), "does not know --") {
				t.Errorf("the CLI itself: error = %v", err)
			}
		})
	}
}

// eventList is how the program of the CLI lists its events.
var eventList = regexp.MustCompile(`\["PreToolUse","PostToolUse"[A-Za-z",]*\]`)

// TestRealOldEvents looks for the events of package hook in the programs of the
// pinned versions: a version before the one that an event is said to be new in
// does not name it, and a later one does.
func TestRealOldEvents(t *testing.T) {
	versions := append(oldVersions(), "2.1.299", "2.1.325")
	for at, version := range versions {
		path, err := filepath.EvalSymlinks(realcli.Need(t, version))
		if err != nil {
			t.Fatal(err)
		}
		program, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lists := bytes.Join(eventList.FindAll(program, -1), nil)
		for _, info := range hook.Events() {
			since, before := slices.Index(versions, info.Since), slices.Index(versions, info.Before)
			if since < 0 || info.Before != "" && before < 0 {
				t.Errorf("%s: %s or %q is not a pinned version", info.Event, info.Since, info.Before)
			}
			has := bytes.Contains(lists, []byte(`"`+info.Event+`"`))
			if at >= since && !has || at <= before && has {
				t.Errorf("%s names %s: %v; it is said to be new in %s and missing in %q", version, info.Event, has, info.Since, info.Before)
			}
		}
	}
}

// An old CLI cannot run a fleet: it does not block when a hook fails, so a call
// could begin after the lease is lost. The fleet reports it before it accepts a
// prompt, and is right, as the CLI shows when it is started anyway.
func TestRealOldFleet(t *testing.T) {
	for _, version := range append(oldVersions(), "2.1.299") {
		t.Run(version, func(t *testing.T) {
			opts := oldCLI(t, version, claudetest.Say("one"))
			f, err := fleet.Open(t.Context(), fleet.Options{
				Store: store.Memory(), Project: "p", Journal: t.TempDir(), Logger: harness.Logger(t),
				Session: func(context.Context, string) (*claude.Options, error) { return opts, nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			defer closeFleet(t, f)
			if _, err := f.Send(t.Context(), "ada", fleet.Prompt{Text: "hello"}); !errors.Is(err, claude.ErrUnsupportedVersion) || !strings.Contains(err.Error(), version) {
				t.Errorf("Send: %v", err)
			}
			path, err := filepath.EvalSymlinks(opts.CLIPath)
			if err != nil {
				t.Fatal(err)
			}
			program, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for name, since := range map[string]string{"hook_deferred_tool": "2.1.299", "CLAUDE_CODE_RESUME_INTERRUPTED_TURN": "2.1.299", "CLAUDE_CODE_RESUME_SHOWS_CUT_OFF_CALLS": "2.1.325"} {
				if has := bytes.Contains(program, []byte(name)); has != (version == since) {
					t.Errorf("its program names %s: %v", name, has)
				}
			}
			opts.Hooks = []hook.Hook{noHook().FailClosed()}
			if s, err := claude.Connect(t.Context(), opts); !errors.Is(err, claude.ErrUnsupportedVersion) {
				t.Errorf("Connect: %v", err)
				if err == nil {
					s.Close()
				}
			}
		})
	}
}
