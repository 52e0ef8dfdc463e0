package acp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/acp"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/internal/acp/drive"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

const (
	cutSession = "00000000-0000-4000-8000-00000000ac90"
	cutCall    = "toolu_1"
)

// cutOff leaves a session in a configuration directory as an adapter does that was
// killed while its editor was asked about a call; more lines may follow.
func cutOff(t *testing.T, more ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	line := func(kind, content string, n int) string {
		parent := "null"
		if n > 1 {
			parent = fmt.Sprintf(`"00000000-0000-4000-8000-00000000000%d"`, n-1)
		}
		return fmt.Sprintf(`{"type":%q,"uuid":"00000000-0000-4000-8000-00000000000%d","parentUuid":%s,"sessionId":%q,"cwd":"/","version":"2.1.325","timestamp":"2026-11-17T10:00:0%d.000Z","message":{"id":"m%d","role":%q,"content":%s}}`,
			kind, n, parent, cutSession, n, n, kind, content)
	}
	lines := []string{line("user", `"build it"`, 1), line("assistant", `[{"type":"tool_use","id":"`+cutCall+`","name":"Bash","input":{"command":"make"}}]`, 2)}
	for i, m := range more {
		kind, content, _ := strings.Cut(m, " ")
		lines = append(lines, line(kind, content, i+3))
	}
	project := filepath.Join(dir, "projects", "-")
	if err := os.MkdirAll(project, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(project, cutSession+".jsonl"), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestAskedAgain opens a session that was killed around a question. What is open is
// asked again, whatever was decided counts, and no call runs twice.
func TestAskedAgain(t *testing.T) {
	decide := func(d permission.Decision) func(*testing.T, *approval.Questions, approval.Question) {
		return func(t *testing.T, in *approval.Questions, q approval.Question) {
			if _, err := in.Decide(t.Context(), q.ID, approval.Answer{Decision: d, By: "ada", Digest: q.Digest}); err != nil {
				t.Fatal(err)
			}
		}
	}
	released := func(t *testing.T, in *approval.Questions, q approval.Question) {
		decide(permission.Allow())(t, in, q)
		if _, err := in.Release(t.Context(), q.ID, store.Fence{}); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		more       []string
		before     func(*testing.T, *approval.Questions, approval.Question)
		deferred   bool // the transcript has the mark already
		agent      string
		asked, ran int
		state      approval.State
	}{
		"open":            {asked: 1, ran: 1, state: approval.StateSettled},
		"allowed":         {before: decide(permission.Allow()), ran: 1, state: approval.StateSettled},
		"denied":          {before: decide(permission.Deny("no")), state: approval.StateSettled},
		"released":        {before: released, state: approval.StateReleased},
		"released, again": {before: released, deferred: true, state: approval.StateSettled},
		"moved on":        {more: []string{`user [{"type":"tool_result","tool_use_id":"toolu_1","content":"x"}]`, `assistant [{"type":"text","text":"done"}]`}, state: approval.StateGone},
		"two calls":       {more: []string{`assistant [{"type":"tool_use","id":"toolu_2","name":"Bash","input":{}}]`}, state: approval.StateGone},
		"of a subagent":   {agent: "a1", state: approval.StateGone},
	} {
		t.Run(name, func(t *testing.T) {
			dir := cutOff(t, c.more...)
			if name == "two calls" { // of one answer
				file := filepath.Join(dir, "projects", "-", cutSession+".jsonl")
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(data), `"id":"m3"`, `"id":"m2"`)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			in := acp.QuestionsIn(dir)
			q, err := in.Ask(t.Context(), approval.Question{Conversation: cutSession, Tool: "Bash", ToolUseID: cutCall, Input: []byte(`{"command":"make"}`), Agent: c.agent, HoldsProcess: c.agent != ""}, store.Fence{})
			if err != nil {
				t.Fatal(err)
			}
			if c.before != nil {
				c.before(t, in, q)
			}
			if c.deferred {
				if err := history.Disk(dir).Defer(t.Context(), cutSession, cutCall); err != nil {
					t.Fatal(err)
				}
			}
			var ran atomic.Int32
			cli := claudetest.NewCLI(&claudetest.Script{Replies: []claudetest.Reply{claudetest.Say("built")}, Tools: map[string]host.RunFunc{"Bash": func(context.Context, json.RawMessage) (host.ToolOutput, error) {
				ran.Add(1)
				return host.ToolOutput{}, nil
			}}})
			asked := make(chan *schema.RequestPermissionRequest, 10)
			said := make(chan string, 100)
			d := drive.Start(t, &acp.Local{Options: &claude.Options{Transport: cli, Env: []string{"CLAUDE_CONFIG_DIR=" + dir}}}, drive.Setup{
				Permission: func(_ context.Context, req *schema.RequestPermissionRequest) schema.PermissionOptionID {
					asked <- req
					return "allow-once"
				},
				OnUpdate: func(_ schema.SessionID, up schema.SessionUpdate) {
					if m := up.AgentMessageChunk; m != nil {
						said <- m.Content.Text.Text
					}
				},
			})
			if err := d.Call(t.Context(), schema.MethodAgentSessionLoad, schema.LoadSessionRequest{SessionID: cutSession, Cwd: "/"}, nil); err != nil {
				t.Fatal(err)
			}
			if c.ran > 0 || c.deferred || name == "denied" { // the CLI makes the call again
				for text := ""; !strings.HasSuffix(text, "built"); text += <-said {
				}
			}
			if _, err := d.Prompt(t.Context(), cutSession, "And?"); err != nil && c.ran == 0 && !c.deferred {
				t.Error(err)
			}
			if len(asked) != c.asked {
				t.Errorf("asked %d times, want %d", len(asked), c.asked)
			}
			if int(ran.Load()) != c.ran {
				t.Errorf("ran %d times, want %d", ran.Load(), c.ran)
			}
			if q, err = in.Get(t.Context(), q.ID); err != nil || q.State != c.state {
				t.Errorf("the question is %s (%s), %v, want %s", q.State, q.Outcome, err, c.state)
			}
		})
	}
}

// live is a session whose editor is asked about a call.
type live struct {
	*drive.Driver
	in        *approval.Questions
	id        schema.SessionID
	asked     chan struct{}
	withdrawn chan struct{}
	answer    chan schema.PermissionOptionID
	ended     chan schema.StopReason
	cli       *claudetest.CLI
}

func newLive(t *testing.T, change ...func(*claude.Options)) *live {
	l := &live{
		in: approval.NewQuestions(store.Memory(), "p"), asked: make(chan struct{}), withdrawn: make(chan struct{}),
		answer: make(chan schema.PermissionOptionID, 1), ended: make(chan schema.StopReason, 1),
		cli: claudetest.New(claudetest.UseTool("Bash", map[string]string{"command": "make"}), claudetest.Say("built")),
	}
	local := &acp.Local{Options: &claude.Options{Transport: l.cli, Env: []string{"HOME=" + t.TempDir()}}, Questions: l.in}
	for _, c := range change {
		c(local.Options)
	}
	l.Driver = drive.Start(t, local, drive.Setup{Permission: func(ctx context.Context, _ *schema.RequestPermissionRequest) schema.PermissionOptionID {
		close(l.asked)
		select {
		case a := <-l.answer:
			return a
		case <-ctx.Done():
			close(l.withdrawn)
			return ""
		}
	}})
	l.id = l.New(t, "/")
	go func() {
		resp, err := l.Prompt(context.Background(), l.id, "Build.")
		if err != nil {
			l.ended <- schema.StopReason(err.Error())
			return
		}
		l.ended <- resp.StopReason
	}()
	<-l.asked
	return l
}

func (l *live) question(t *testing.T) (q approval.Question) {
	t.Helper()
	n := 0
	for found, err := range l.in.List(context.Background(), approval.Filter{Conversation: string(l.id)}) {
		if err != nil {
			t.Fatal(err)
		}
		q = found
		n++
	}
	if n != 1 {
		t.Fatalf("%d questions, want one", n)
	}
	return q
}

// TestDecidedElsewhere decides a question beside the editor, whose own is withdrawn.
func TestDecidedElsewhere(t *testing.T) {
	l := newLive(t)
	q := l.question(t)
	if _, err := l.in.Decide(t.Context(), q.ID, approval.Answer{Decision: permission.Allow(), By: "ada", Digest: q.Digest}); err != nil {
		t.Fatal(err)
	}
	<-l.withdrawn
	if got := <-l.ended; got != schema.StopReasonEndTurn {
		t.Errorf("ended %s", got)
	}
	l.cli.Recording().WantRan(t, "Bash")
	if q = l.question(t); q.Answer.By != "ada" || q.Outcome != approval.OutcomeAllowed {
		t.Errorf("decided by %s, %s", q.Answer.By, q.Outcome)
	}
}

// TestEditorDecides signs the editor's answer, and refuses one that comes later.
func TestEditorDecides(t *testing.T) {
	l := newLive(t)
	l.answer <- "reject"
	<-l.ended
	q := l.question(t)
	if q.State != approval.StateSettled || q.Outcome != approval.OutcomeDenied || q.Answer.By != "editor" {
		t.Errorf("the question is %+v", q)
	}
	if _, err := l.in.Decide(t.Context(), q.ID, approval.Answer{Decision: permission.Allow(), By: "ada", Digest: q.Digest}); err == nil {
		t.Error("a later answer counted")
	}
}

// TestEditorGone leaves the question of an editor that is gone open, and answers
// nothing in its place.
func TestEditorGone(t *testing.T) {
	l := newLive(t)
	l.Close()
	<-l.ended
	if q := l.question(t); q.State != approval.StateOpen {
		t.Errorf("the question is %s (%s), want it open", q.State, q.Outcome)
	}
	for _, e := range l.cli.Recording().Entries() {
		if e.Dir == claudetest.DirIn && bytes.Contains(e.Msg, []byte(`"behavior"`)) {
			t.Errorf("the CLI was told %s", e.Msg)
		}
	}
}

// TestCancelWithdraws ends a question with its turn.
func TestCancelWithdraws(t *testing.T) {
	l := newLive(t)
	if err := l.Cancel(t.Context(), l.id); err != nil {
		t.Fatal(err)
	}
	<-l.withdrawn
	if got := <-l.ended; got != schema.StopReasonCancelled {
		t.Errorf("ended %s, want cancelled", got)
	}
	again := time.NewTicker(10 * time.Millisecond) // the turn does not wait for the store
	defer again.Stop()
	for over := time.After(time.Minute); ; {
		q := l.question(t)
		if q.State == approval.StateGone && q.Outcome == approval.OutcomeWithdrawn {
			return
		}
		select {
		case <-again.C:
		case <-over:
			t.Fatalf("the question is %s (%s), want it withdrawn", q.State, q.Outcome)
		}
	}
}
