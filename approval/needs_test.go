package approval_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/internal/test/need"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/permission/policy"
	"github.com/claude-agent-go/claude/store"
)

func made(tool, input, cwd string) *hook.PreToolUseInput {
	in := new(hook.PreToolUseInput)
	in.ToolName, in.ToolInput, in.Cwd = tool, json.RawMessage(input), cwd
	return in
}

// A call that fits a rule, or may fit it, needs a person.
func TestNeedsRules(t *testing.T) {
	need.UnixPaths.Test(t)
	needs := approval.NeedsRules("Write", "Bash(git push:*)", "Edit(/src/**)")
	for _, c := range []struct {
		tool, input string
		want        string // a part of the reason; empty if no person is needed
	}{
		{"Write", `{"file_path":"/p/a"}`, "the rule Write asks"},
		{"Bash", `{"command":"git push origin"}`, "the rule Bash(git push:*) asks"},
		{"Bash", `{"command":"cd x && git push"}`, "Bash(git push:*)"},
		{"Bash", `{"command":"$cmd"}`, "Bash(git push:*)"}, // it cannot be known
		{"Bash", `{"command":"git status"}`, ""},
		{"Edit", `{"file_path":"/p/src/main.go","old_string":"a","new_string":"b"}`, "Edit(/src/**)"},
		{"Edit", `{"file_path":"/p/docs/a.md","old_string":"a","new_string":"b"}`, ""},
		{"Read", `{"file_path":"/p/src/main.go"}`, ""},
	} {
		reason, needed := needs(t.Context(), made(c.tool, c.input, "/p"))
		if needed != (c.want != "") || !strings.Contains(reason, c.want) {
			t.Errorf("%s %s: %q, %v, want %q", c.tool, c.input, reason, needed, c.want)
		}
	}
	if _, needed := approval.NeedsRules()(t.Context(), made("Write", `{}`, "/p")); needed {
		t.Error("without rules a call needs a person")
	}
	defer func() {
		if recover() == nil {
			t.Error("a rule that never applies is taken")
		}
	}()
	approval.NeedsRules("Bash(:*)")
}

// A call needs a person unless a policy allows just this call.
func TestNeedsUnless(t *testing.T) {
	rules := policy.MustRules("Bash(go test:*)").At("/p").Allow()
	for name, c := range map[string]struct {
		policy permission.Func
		want   string
	}{
		"allowed":        {rules, ""},
		"passed":         {policy.MustRules("Read").Allow(), "no rule allows it"},
		"denied":         {policy.Always(permission.Deny("not on Fridays")), "not on Fridays"},
		"denied, silent": {policy.Always(permission.Deny("")), "no rule allows it"},
		"changed":        {policy.Always(permission.AllowWith(map[string]string{"command": "true"})), "no rule allows it"},
		"failed": {func(context.Context, *permission.Request) (permission.Decision, error) {
			return permission.Allow(), errors.New("out of order")
		}, "it could not be checked: out of order"},
	} {
		reason, needed := approval.NeedsUnless(c.policy)(t.Context(), made("Bash", `{"command":"go test ./..."}`, "/p"))
		if needed != (c.want != "") || reason != c.want {
			t.Errorf("%s: %q, %v, want %q", name, reason, needed, c.want)
		}
	}
}

// Rules about files are about those of the session's own directory, wherever a command
// has moved the CLI to.
func TestNeedsRulesElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inbox := approval.NewQuestions(store.Memory(), "p")
		project := t.TempDir()
		needs := approval.NeedsRules("Edit(/src/**)")
		gate := approval.NewGate(inbox, "ada", store.Fence{}, approval.Options{Patience: time.Second, Needs: func(ctx context.Context, in *hook.PreToolUseInput) (string, bool) {
			in.Cwd = "/elsewhere"
			return needs(ctx, in)
		}})
		cli := claudetest.NewCLI(&claudetest.Script{
			Replies: []claudetest.Reply{claudetest.UseTool("Edit", map[string]string{"file_path": project + "/src/a.go", "old_string": "a", "new_string": "b"})},
			Tools: map[string]host.RunFunc{"Edit": func(context.Context, json.RawMessage) (host.ToolOutput, error) {
				t.Error("the tool runs")
				return host.TextOutput("done"), nil
			}},
		})
		opts := &claude.Options{Transport: cli, Cwd: project, PermissionMode: permission.ModeAcceptEdits}
		if err := gate.Install(opts); err != nil {
			t.Fatal(err)
		}
		s, err := claude.Connect(t.Context(), opts)
		if err != nil {
			t.Fatal(err)
		}
		gate.Attach(s)
		if _, err := s.Ask(t.Context(), "edit it"); err != nil {
			t.Error(err)
		}
		if _, deferred := gate.Deferred(); !deferred {
			t.Error("nobody was asked")
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
