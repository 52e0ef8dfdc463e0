package claudetest_test

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/permission"
)

var update = flag.Bool("update", false, "write golden files")

// complaints is a TB that takes note instead of failing.
type complaints []string

func (c *complaints) Helper() {}
func (c *complaints) Errorf(format string, args ...any) {
	*c = append(*c, fmt.Sprintf(format, args...))
}
func (c *complaints) Fatalf(format string, args ...any) { c.Errorf(format, args...) }

// play is a session with a tool that is allowed and one that is denied.
func play(t *testing.T, last string) *claudetest.Recording {
	t.Helper()
	cli := claudetest.New(
		claudetest.UseTool("Bash", map[string]string{"command": "ls"}),
		claudetest.UseTool("Write", map[string]string{"file_path": "/repo/a"}),
		claudetest.Say(last))
	s, err := claude.Connect(t.Context(), &claude.Options{Transport: cli,
		SessionID: "00000000-0000-4000-8000-000000000001", Cwd: "/",
		CanUseTool: func(_ context.Context, req *permission.Request) (permission.Decision, error) {
			if req.ToolName == "Write" {
				return permission.Deny("read-only"), nil
			}
			return permission.Allow(), nil
		},
		Hooks: []hook.Hook{hook.PostToolUse("Bash", func(context.Context, *hook.PostToolUseInput) (*hook.PostToolUseOutput, error) {
			return &hook.PostToolUseOutput{AdditionalContext: "noted"}, nil
		})},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, err := range s.Run(t.Context(), "go") {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.SetModel(t.Context(), "opus"); err != nil {
		t.Fatal(err)
	}
	s.Close()
	return cli.Recording()
}

func TestAssertions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := play(t, "done")
		tr.WantRan(t, "Bash")
		tr.WantDecision(t, "Bash", permission.BehaviorAllow)
		tr.WantDenied(t, "Write", "read-only")
		tr.WantDecision(t, "Write", permission.BehaviorDeny)
		tr.WantSent(t, "set_model", map[string]string{"model": "opus"})
		tr.WantSent(t, "initialize", nil)
		if hooks := tr.Hooks(); len(hooks) != 1 || hooks[0].Event != hook.EventPostToolUse || !strings.Contains(string(hooks[0].Reply), "noted") {
			t.Errorf("hooks %+v", hooks)
		}
		if got := fmt.Sprintf("%q %q", tr.Prompts(), tr.Results()[0].Text); got != `["go"] "done"` {
			t.Errorf("got %s", got)
		}
		for want, assert := range map[string]func(claudetest.TB){
			"was not called; called were: Bash, Write":                    func(tb claudetest.TB) { tr.WantRan(tb, "Edit") },
			"did not run: the client was asked and said deny, it was ref": func(tb claudetest.TB) { tr.WantRan(tb, "Write") },
			"was not denied with \"x\": the client was asked and said al": func(tb claudetest.TB) { tr.WantDenied(tb, "Bash", "x") },
			"decision on Bash is not \"deny\"":                            func(tb claudetest.TB) { tr.WantDecision(tb, "Bash", permission.BehaviorDeny) },
			"no request interrupt of that kind: none was sent":            func(tb claudetest.TB) { tr.WantSent(tb, "interrupt", nil) },
			"model is \"opus\", want \"haiku\"": func(tb claudetest.TB) {
				tr.WantSent(tb, "set_model", map[string]string{"model": "haiku"})
			},
		} {
			var c complaints
			assert(&c)
			if len(c) == 0 || !strings.Contains(c[0], want) {
				t.Errorf("complaints %q, want %q", c, want)
			}
		}
	})
}

// A golden recording is the same from run to run, and the first deviation of a
// session is reported.
func TestGolden(t *testing.T) {
	const file = "testdata/golden.ndjson"
	synctest.Test(t, func(t *testing.T) {
		claudetest.Golden(t, file, play(t, "done"), *update)
	})
	synctest.Test(t, func(t *testing.T) {
		var c complaints
		claudetest.Golden(&c, file, play(t, "finished"), false)
		if len(c) != 1 || !strings.Contains(c[0], `text is "finished", want "done"`) {
			t.Errorf("complaints %q", c)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		var c complaints
		path := filepath.Join(t.TempDir(), "new", "golden.ndjson")
		claudetest.Golden(&c, path, play(t, "done"), false)
		if len(c) != 1 || !strings.Contains(c[0], "golden recording: open "+path) {
			t.Errorf("complaints %q", c)
		}
		c = nil
		claudetest.Golden(&c, path, play(t, "done"), true)
		claudetest.Golden(&c, path, play(t, "done"), false)
		if len(c) != 0 {
			t.Errorf("complaints %q", c)
		}
	})
}
