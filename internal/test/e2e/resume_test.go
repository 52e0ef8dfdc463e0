package e2e

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// gate is a PreToolUse hook for everything, with a decision that may change.
type gate struct {
	decide func(*hook.PreToolUseInput) *hook.PreToolUseOutput
	asked  chan string // ids of tool uses
}

func newGate(decide func(*hook.PreToolUseInput) *hook.PreToolUseOutput) *gate {
	return &gate{decide, make(chan string, 10)}
}

func (g *gate) hook() hook.Hook {
	return hook.PreToolUse("", func(_ context.Context, in *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
		g.asked <- in.ToolUseID
		return g.decide(in), nil
	}).FailClosed()
}

// deferOne runs a turn in which a hook defers its tool call, and makes the
// options those that resume the session. It returns the id of the call.
func (r *real) deferOne(t *testing.T) string {
	t.Helper()
	realcli.Needs(t, "2.1.325", "a deferred call that is made again")
	g := newGate(func(*hook.PreToolUseInput) *hook.PreToolUseOutput { return hook.DeferTool() })
	r.opts.PermissionMode = permission.ModeBypassPermissions
	r.opts.Hooks = []hook.Hook{g.hook()}
	res, err := claude.Ask(t.Context(), "work", r.opts)
	if err != nil || res.DeferredToolUse == nil {
		t.Fatalf("the call was not deferred: %+v, %v", res, err)
	}
	r.opts.Resume = res.SessionID
	return <-g.asked
}

// nextResult reads to the next result of a session.
func nextResult(t *testing.T, s *claude.Session) *message.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for msg, err := range s.Messages(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if res, ok := msg.(*message.Result); ok {
			return res
		}
	}
	t.Fatal("no result came")
	return nil
}

// lateHandshake delays writes to the CLI until something forbidden happens, or
// for a while.
type lateHandshake struct {
	until <-chan struct{}
}

type lateConn struct {
	claude.Conn
	late func()
	done atomic.Bool
}

func (l lateHandshake) Start(ctx context.Context, launch *claude.Launch) (claude.Conn, error) {
	conn, err := claude.ChildProcess().Start(ctx, launch)
	if err != nil {
		return nil, err
	}
	return &lateConn{Conn: conn, late: func() {
		select {
		case <-l.until:
		case <-time.After(3 * time.Second): // long enough for a CLI that would not wait
		}
	}}, nil
}

func (c *lateConn) Write(p []byte) (int, error) {
	if !c.done.Swap(true) {
		c.late()
	}
	return c.Conn.Write(p)
}

// A call that was deferred waits for the handshake, however late that comes: the
// hook is asked before the tool runs.
func TestRealResumeAwaitsHandshake(t *testing.T) {
	again := make(chan struct{}, 10) // the model is called after the tool has run
	model := claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
		if len(c.ToolResults) > 0 {
			again <- struct{}{}
			return claudetest.Say("done")
		}
		return claudetest.UseTool("Bash", map[string]string{"command": "touch ran", "description": "touch"})
	})
	r := startReal(t, model)
	id := r.deferOne(t)
	g := newGate(func(*hook.PreToolUseInput) *hook.PreToolUseOutput { return hook.DenyTool("not today") })
	r.opts.Hooks = []hook.Hook{g.hook()}
	r.opts.Transport = lateHandshake{again}
	s := r.connect(t)
	if res := nextResult(t, s); res.Text != "done" || len(res.PermissionDenials) != 1 {
		t.Errorf("the result is %+v, want one denial", res)
	}
	if len(g.asked) != 1 || <-g.asked != id {
		t.Errorf("the hook was not asked once for %s", id)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "ran")); err == nil {
		t.Error("the tool ran although the hook denied it")
	}
}

// A deferred call of a tool in this process is made when the session is resumed.
func TestRealResumeRunsToolOfThisProcess(t *testing.T) {
	r := realCLI(t, claudetest.UseTool("mcp__clock__now", nil), claudetest.Say("it is noon"))
	r.opts.MCPServers = claude.MCPServers{"clock": harness.Clock()}
	r.opts.StrictMCPConfig = true
	id := r.deferOne(t)
	g := newGate(func(*hook.PreToolUseInput) *hook.PreToolUseOutput { return hook.AllowTool("") })
	r.opts.Hooks = []hook.Hook{g.hook()}
	r.opts.MCPServers = claude.MCPServers{"clock": harness.Clock()}
	s := r.connect(t)
	if res := nextResult(t, s); res.Text != "it is noon" {
		t.Errorf("the result is %+v", res)
	}
	if len(g.asked) != 1 || <-g.asked != id {
		t.Errorf("the hook was not asked once for %s", id)
	}
	calls := r.calls()
	if got := calls[len(calls)-1].ToolResults; len(got) != 1 || got[0].Text != "noon" || got[0].IsError {
		t.Errorf("tool results %+v", got)
	}
}

// A prompt that the session has answered before ends with an error of its own,
// and one that it has not is answered.
func TestRealAnsweredBefore(t *testing.T) {
	realcli.Needs(t, "2.1.325", "ids of prompts that outlive the process")
	r := realCLI(t, claudetest.Say("one"), claudetest.Say("two"))
	m := message.NewUser(message.Text("hello"))
	m.UUID = "00000000-0000-4000-8000-0000000000aa"
	s := r.connect(t)
	if err := harness.LastError(s.RunMessage(t.Context(), m)); err != nil {
		t.Fatal(err)
	}
	s.Close()
	r.opts.Resume = s.ID()
	s = r.connect(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := harness.LastError(s.RunMessage(ctx, m)); !errors.Is(err, claude.ErrAnswered) {
		t.Errorf("sent again: %v, want ErrAnswered", err)
	}
	if err := s.WaitIdle(ctx); err != nil {
		t.Errorf("Idle = %v", err)
	}
	if res, err := s.Ask(ctx, "another"); err != nil || res.Text != "two" {
		t.Errorf("another prompt: %+v, %v", res, err)
	}
}

// The id of a session is right or unknown, even while it is reset.
func TestRealIDAfterClear(t *testing.T) {
	realcli.Needs(t, "2.1.325", "reports of a reset")
	r := realCLI(t, claudetest.Say("one"), claudetest.Say("two"))
	s := r.connect(t)
	if _, err := s.Ask(t.Context(), "hello"); err != nil {
		t.Fatal(err)
	}
	before, reset := s.ID(), false
	for msg, err := range s.Run(t.Context(), "/clear") {
		if err != nil {
			t.Fatal(err)
		}
		if m, ok := msg.(*message.ConversationReset); ok {
			reset = true
			if id := s.ID(); id == before || id == m.NewConversationID {
				t.Errorf("after the reset the id is %q", id)
			}
		}
	}
	if !reset || s.ID() == before {
		t.Fatalf("reset %v, the id is %q", reset, s.ID())
	}
	if res, err := s.Ask(t.Context(), "again"); err != nil || res.SessionID != s.ID() {
		t.Errorf("the result is of session %q, want %q: %v", res.SessionID, s.ID(), err)
	}
	r.transcript(t, s.ID())
}

// Activity follows a turn, with its callbacks and what it leaves in the
// background.
func TestRealActivity(t *testing.T) {
	realcli.Needs(t, "2.1.325", "lists of background tasks")
	release := filepath.Join(t.TempDir(), "release")
	command := map[string]any{"command": "touch begun; until test -e " + release + "; do sleep 0.1; done", "description": "wait", "run_in_background": true}
	r := realCLI(t, claudetest.UseTool("Bash", command), claudetest.Say("it runs"), claudetest.Say("it is done"))
	var s *claude.Session
	during := make(chan claude.Activity, 1)
	r.opts.CanUseTool = func(context.Context, *permission.Request) (permission.Decision, error) {
		during <- s.Activity()
		return permission.Allow(), nil
	}
	s = r.connect(t)
	if err := s.WaitIdle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := harness.LastError(s.Run(t.Context(), "work")); err != nil {
		t.Fatal(err)
	}
	if len(during) == 0 {
		t.Fatal("nobody was asked")
	}
	if a := <-during; !a.Turn || a.Callbacks != 1 {
		t.Errorf("while the callback ran: %+v", a)
	}
	if a := s.Activity(); a.Idle() || a.Shells != 1 {
		t.Errorf("with a command in the background: %+v", a)
	}
	if err := os.WriteFile(release, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := s.WaitIdle(ctx); err != nil {
		t.Errorf("Idle = %v, %+v", err, s.Activity())
	}
}
