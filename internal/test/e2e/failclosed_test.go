package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// closedRun is a session in which one hook at a time fails, and fails closed.
type closedRun struct {
	*real
	session *claude.Session
	failing atomic.Value            // hook.Event
	failed  chan hook.Event         // which did
	asked   chan string             // tools that permission was asked for
	last    *message.Result         // of the last turn
	seen    []*claudetest.ModelCall // in the last turn
}

// broken is the error of the hooks; it is part of the reason that the model or
// the user reads.
const broken = "the hook is out of order"

func newClosedRun(t *testing.T) *closedRun {
	t.Helper()
	c := &closedRun{failed: make(chan hook.Event, 10), asked: make(chan string, 10)}
	c.failing.Store(hook.Event(""))
	c.real = startReal(t, claudetest.NewModelFunc(c.reply))
	c.withMCP(t)
	c.opts.Env = append(c.opts.Env, "CLAUDE_CODE_ENABLE_TASKS=1", "CLAUDE_CODE_ENABLE_TODO_TOOLS=1")
	c.put(t, filepath.Join(c.dir, ".claude", "commands", "hello.md"), "Say hello to $ARGUMENTS")
	c.put(t, filepath.Join(c.home, ".claude", "settings.json"), "{}")
	c.opts.HookFailure = hook.FailClosed
	for _, event := range []hook.Event{
		hook.EventPreModelSwitch, hook.EventUserPromptExpansion, hook.EventPostToolUse, hook.EventPostToolBatch,
		hook.EventStop, hook.EventSubagentStop, hook.EventPreCompact, hook.EventTaskCreated, hook.EventTaskCompleted,
		hook.EventElicitation, hook.EventElicitationResult, hook.EventConfigChange,
	} {
		c.opts.Hooks = append(c.opts.Hooks, hook.Raw(event, "", func(context.Context, json.RawMessage, string) (json.RawMessage, error) {
			if !c.failing.CompareAndSwap(event, hook.Event("")) {
				return nil, nil
			}
			c.failed <- event
			return nil, errors.New(broken)
		}))
	}
	c.opts.CanUseTool = func(_ context.Context, req *permission.Request) (permission.Decision, error) {
		c.asked <- req.ToolName
		return permission.Allow(), nil
	}
	c.opts.OnElicitation = func(context.Context, *control.Elicitation) (control.ElicitationAnswer, error) {
		return control.Accept(map[string]string{"name": "Ada"}), nil
	}
	c.session = c.connect(t)
	return c
}

func (c *closedRun) put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// reply is the model: one tool call for a prompt that names one, then talk.
func (c *closedRun) reply(call *claudetest.ModelCall) claudetest.Reply {
	if len(call.ToolResults) > 0 {
		return claudetest.Say("done")
	}
	lines := strings.Split(call.Prompt, "\n") // what a command said may stand before it
	switch lines[len(lines)-1] {
	case "write":
		return write(filepath.Join(c.dir, "a"), "x")
	case "ask":
		return claudetest.UseTool("mcp__eli__ask", map[string]any{})
	case "delegate":
		return claudetest.UseTool("Task", map[string]any{"description": "d", "prompt": "subwork", "subagent_type": "general-purpose", "run_in_background": false})
	case "plan":
		return claudetest.UseTool("TaskCreate", map[string]any{"subject": "s", "description": "d"})
	case "finish":
		return claudetest.UseTool("TaskUpdate", map[string]any{"taskId": "2", "status": "completed"})
	case "list":
		return claudetest.UseTool("TaskList", map[string]any{})
	case "fifo":
		return claudetest.UseTool("Bash", map[string]any{"command": "mkfifo pipe"})
	}
	return claudetest.Say("heard: " + call.Prompt)
}

// turn runs a prompt while the hook of an event fails.
func (c *closedRun) turn(t *testing.T, event hook.Event, prompt string) {
	t.Helper()
	c.failing.Store(event)
	before := len(c.calls())
	var err error
	if c.last, err = c.session.Ask(t.Context(), prompt); err != nil {
		t.Fatalf("%s: %v", prompt, err)
	}
	c.seen = c.calls()[before:]
	if event == "" {
		return
	}
	select {
	case got := <-c.failed:
		if got != event {
			t.Errorf("%s failed, want %s", got, event)
		}
	default:
		t.Errorf("the %s hook was not called", event)
	}
	c.failing.Store(hook.Event(""))
}

// modelWasTold reports whether the model has read a text in the last turn.
func (c *closedRun) modelWasTold(text string) bool {
	return slices.ContainsFunc(c.seen, func(call *claudetest.ModelCall) bool { return strings.Contains(string(call.Raw), text) })
}

// What a hook that fails closed comes to, for every event that can be blocked
// and that can be brought about here. The gates have a test of their own.
func TestRealFailClosedEvents(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "a hook that fails closed")
	c := newClosedRun(t)
	c.turn(t, hook.EventUserPromptExpansion, "/hello you")
	if len(c.seen) != 0 || !strings.Contains(c.last.Text, broken) {
		t.Errorf("UserPromptExpansion: %d calls of the model, result %q", len(c.seen), c.last.Text)
	}
	c.turn(t, hook.EventPostToolUse, "write")
	if !c.modelWasTold(broken) || c.last.Text != "done" {
		t.Errorf("PostToolUse: the model was not told; result %q", c.last.Text)
	}
	c.turn(t, hook.EventPostToolBatch, "write")
	if c.last.TerminalReason != message.EndHookStopped || len(c.seen) != 1 {
		t.Errorf("PostToolBatch: %d calls, ended by %s", len(c.seen), c.last.TerminalReason)
	}
	c.turn(t, hook.EventStop, "hello")
	if len(c.seen) != 2 || !c.modelWasTold(broken) {
		t.Errorf("Stop: %d calls of the model, want it to continue", len(c.seen))
	}
	c.turn(t, hook.EventSubagentStop, "delegate")
	if len(c.seen) != 4 || c.last.Text != "done" {
		t.Errorf("SubagentStop: %d calls of the model, want the subagent to continue; result %q", len(c.seen), c.last.Text)
	}
	c.turn(t, hook.EventPreCompact, "/compact")
	if len(c.seen) != 0 || !strings.Contains(c.last.Text, "blocked") {
		t.Errorf("PreCompact: %d calls of the model, result %q", len(c.seen), c.last.Text)
	}
	c.turn(t, hook.EventElicitation, "ask")
	if got := c.lastResult(t).Text; !strings.Contains(got, `"action":"decline"`) {
		t.Errorf("Elicitation: the server was told %q", got)
	}
	c.turn(t, hook.EventElicitationResult, "ask")
	if got := c.lastResult(t).Text; !strings.Contains(got, `"action":"decline"`) {
		t.Errorf("ElicitationResult: the server was told %q", got)
	}
	c.failing.Store(hook.EventPreModelSwitch)
	if err := c.session.SetModel(t.Context(), "sonnet"); err == nil || !strings.Contains(err.Error(), broken) {
		t.Errorf("PreModelSwitch: SetModel = %v", err)
	}
	<-c.failed
	c.turn(t, "", "hello")
	if model := c.seen[0].Model; strings.Contains(model, "sonnet") {
		t.Errorf("PreModelSwitch: the model is %s", model)
	}
}

func TestRealFailClosedTasks(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "a hook that fails closed")
	c := newClosedRun(t)
	c.turn(t, "", "list")
	if strings.Contains(c.lastResult(t).Text, "No such tool") {
		t.Fatal("there is no task list")
	}
	c.turn(t, hook.EventTaskCreated, "plan")
	if got := c.lastResult(t); !strings.Contains(got.Text, broken) {
		t.Errorf("TaskCreated: the model saw %+v", got)
	}
	c.turn(t, "", "plan")
	c.turn(t, hook.EventTaskCompleted, "finish")
	if got := c.lastResult(t); !strings.Contains(got.Text, broken) {
		t.Errorf("TaskCompleted: the model saw %+v", got)
	}
	c.turn(t, "", "list") // the refused task has used up a number
	if got := c.lastResult(t).Text; strings.Contains(got, "#1") || !strings.Contains(got, "#2 [pending]") {
		t.Errorf("the list is %q", got)
	}
}

// A settings file that changes while its hook fails closed is not taken over.
func TestRealFailClosedConfig(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "a hook that fails closed")
	c := newClosedRun(t)
	c.turn(t, "", "hello") // now the files are watched
	settings := filepath.Join(c.home, ".claude", "settings.json")
	change := func(event hook.Event) {
		c.failing.Store(event)
		c.put(t, settings, `{"permissions":{"allow":["Bash(mkfifo:*)"]}}`)
		if event == "" {
			return
		}
		select {
		case <-c.failed:
		case <-time.After(20 * time.Second):
			t.Fatal("the ConfigChange hook was not called")
		}
	}
	change(hook.EventConfigChange)
	c.turn(t, "", "fifo")
	select {
	case tool := <-c.asked:
		if tool != "Bash" {
			t.Errorf("asked for %s", tool)
		}
	default:
		t.Error("the new rule holds in spite of the hook")
	}
}
