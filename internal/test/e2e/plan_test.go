package e2e

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// planFile finds the file that the CLI names for the plan in its instructions.
var planFile = regexp.MustCompile(`/[^"\\ ]+/plans/[a-z0-9-]+\.md`)

// planner is the real CLI with a model that writes a plan, presents it, and then
// repeats what it has read about it.
func planner(t *testing.T, plan string) (r *real, results func() []string) {
	t.Helper()
	realcli.Needs(t, "2.1.325", "sessions in a store")
	var mu sync.Mutex
	var read []string
	r = startReal(t, claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
		path := planFile.FindString(string(c.Raw))
		switch n := len(c.ToolResults); {
		case c.Side:
			return claudetest.Say("ok")
		case n == 0 && path == "":
			return claudetest.Say("no plan file is named")
		case n == 0:
			return claudetest.UseTool("Write", map[string]string{"file_path": path, "content": plan})
		case strings.Contains(c.ToolResults[n-1].Text, "plan") && strings.Contains(c.ToolResults[n-1].Text, "created"):
			return claudetest.UseTool("ExitPlanMode", map[string]any{})
		default:
			mu.Lock()
			defer mu.Unlock()
			read = append(read, c.ToolResults[n-1].Text)
			return claudetest.Say("It says: " + c.ToolResults[n-1].Text)
		}
	}))
	return r, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return read
	}
}

// A plan that is not decided in time is approved on another machine, where its file
// never was. The model reads the text of the plan anyway, and the mode that was chosen
// with the approval follows it.
func TestRealFleetPlan(t *testing.T) {
	t.Parallel()
	const plan = "# Paint the shed\n\nFirst the doors, in teal.\n"
	dir := t.TempDir()
	first, _ := planner(t, plan)
	first.opts.PermissionMode = permission.ModePlan
	gate := &approval.Options{Patience: 100 * time.Millisecond, Needs: func(_ context.Context, in *hook.PreToolUseInput) (string, bool) {
		return "it is a plan", in.ToolName == "ExitPlanMode"
	}}
	f := first.fleet(t, store.Files(dir), fleet.Options{Gate: gate})
	_, err := lastText(f.Run(t.Context(), "ada", "plan it"))
	waits, ok := errors.AsType[*fleet.DeferredError](err)
	if !ok {
		t.Fatalf("not deferred: %v", err)
	}
	q, err := f.Approvals().Get(t.Context(), waits.Question)
	if err != nil || q.Plan != plan || q.Tool != "ExitPlanMode" {
		t.Fatalf("the question: %+v, %v", q, err)
	}
	closeFleet(t, f)

	second, results := planner(t, plan)
	second.opts.PermissionMode = permission.ModePlan
	f = second.fleet(t, store.Files(dir), fleet.Options{Gate: gate})
	defer closeFleet(t, f)
	accept := permission.Allow(permission.SetMode(permission.ModeAcceptEdits, permission.ToSession))
	if _, err := f.Approvals().Decide(t.Context(), q.ID, approval.Answer{Decision: accept, By: "ada", Digest: q.Digest}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the prompt is not answered", func() bool {
		o, err := f.Prompt(t.Context(), "ada", waits.Prompt)
		return err == nil && o.Status == fleet.PromptAnswered
	})
	if read := results(); len(read) == 0 || !strings.Contains(read[0], "approved") || !strings.Contains(read[0], "First the doors, in teal.") {
		t.Errorf("the model read %q", read)
	}
	if now, err := f.Get(t.Context(), "ada"); err != nil || now.Mode != permission.ModeAcceptEdits {
		t.Errorf("after the plan the mode is %q, %v, want the one that was chosen with it", now.Mode, err)
	}
}
