package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// approvals is the real CLI behind gates that share an inbox, as processes that
// follow one another do.
type approvals struct {
	*real
	inbox *approval.Questions
}

// newApprovals makes a model that makes one call, and reports its outcome.
func newApprovals(t *testing.T, call claudetest.Reply) *approvals {
	t.Helper()
	realcli.Needs(t, "2.1.325", "approvals that outlive a process")
	model := claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
		if n := len(c.ToolResults); n > 0 {
			return claudetest.Say("It says: " + c.ToolResults[n-1].Text)
		}
		return call
	})
	return &approvals{real: startReal(t, model), inbox: approval.NewQuestions(store.Files(t.TempDir()), "p")}
}

// connect starts a session behind a gate that hardly waits.
func (a *approvals) connect(t *testing.T) (*claude.Session, *approval.Gate) {
	t.Helper()
	return a.behind(t, approval.Options{Patience: 100 * time.Millisecond})
}

func (a *approvals) behind(t *testing.T, o approval.Options) (*claude.Session, *approval.Gate) {
	t.Helper()
	g := approval.NewGate(a.inbox, "user-42", store.Fence{}, o)
	opts := *a.opts
	if err := g.Install(&opts); err != nil {
		t.Fatal(err)
	}
	s, err := claude.Connect(t.Context(), &opts)
	if err != nil {
		t.Fatal(err)
	}
	g.Attach(s)
	return s, g
}

// script gives the model replies of its own.
func (a *approvals) script(t *testing.T, replies ...claudetest.Reply) {
	t.Helper()
	a.real = realCLI(t, replies...)
}

// deferCall runs a prompt whose call is not decided in time, and returns the
// question. The next session resumes this one.
func (a *approvals) deferCall(t *testing.T) approval.Question {
	t.Helper()
	s, g := a.connect(t)
	defer s.Close()
	res, err := s.Ask(t.Context(), "work")
	id, deferred := g.Deferred()
	if err != nil || res.DeferredToolUse == nil || !deferred {
		t.Fatalf("not deferred: %+v, %v", res, err)
	}
	a.opts.Resume = res.SessionID
	return a.question(t, id)
}

func (a *approvals) question(t *testing.T, id string) approval.Question {
	t.Helper()
	q, err := a.inbox.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func (a *approvals) decide(t *testing.T, q approval.Question, d permission.Decision) {
	t.Helper()
	if _, err := a.inbox.Decide(t.Context(), q.ID, approval.Answer{Decision: d, By: "ada", Digest: q.Digest}); err != nil {
		t.Fatal(err)
	}
}

// resume resumes the session and reads to its result.
func (a *approvals) resume(t *testing.T) *message.Result {
	t.Helper()
	s, _ := a.connect(t)
	defer s.Close()
	return nextResult(t, s)
}

// log returns what the tool has written.
func (a *approvals) log(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(a.dir, "log"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(text)
}

func bash(command string) claudetest.Reply {
	return claudetest.UseTool("Bash", map[string]string{"command": command, "description": "note it"})
}

// An undecided call waits without a process. Once it is decided, it runs once,
// with the decided input, or not at all.
func TestRealApprovalOutlivesProcess(t *testing.T) {
	for name, c := range map[string]struct {
		decision permission.Decision
		log      string
		says     string
		outcome  approval.Outcome
	}{
		"allowed": {permission.Allow(), "one\n", "", approval.OutcomeRan},
		"changed": {permission.AllowWith(json.RawMessage(`{"command":"echo two >> log"}`)), "two\n", "", approval.OutcomeRan},
		"denied":  {permission.Deny("not today"), "", "not today", approval.OutcomeDenied},
	} {
		t.Run(name, func(t *testing.T) {
			a := newApprovals(t, bash("echo one >> log"))
			q := a.deferCall(t)
			if log := a.log(t); log != "" || q.State != approval.StateOpen || !q.Deferred {
				t.Fatalf("before the decision: %q, %+v", log, q)
			}
			a.decide(t, q, c.decision)
			res := a.resume(t)
			if log := a.log(t); log != c.log || !strings.Contains(res.Text, "It says:") || !strings.Contains(res.Text, c.says) {
				t.Errorf("after the decision: %q, and the model read %q", log, res.Text)
			}
			if got := a.question(t, q.ID); got.State != approval.StateSettled || got.Outcome != c.outcome {
				t.Errorf("the question is %s %s", got.State, got.Outcome)
			}
		})
	}
}

// Deferred again, because it is still undecided, the call waits on.
func TestRealApprovalDeferredAgain(t *testing.T) {
	a := newApprovals(t, bash("echo one >> log"))
	q := a.deferCall(t)
	if res := a.resume(t); res.DeferredToolUse == nil || res.DeferredToolUse.ID != q.ToolUseID {
		t.Fatalf("not deferred again: %+v", res)
	}
	a.decide(t, q, permission.Allow())
	a.resume(t)
	if log := a.log(t); log != "one\n" {
		t.Errorf("the tool wrote %q", log)
	}
}

// A process that is killed while an allowed call runs leaves a call with an
// unknown outcome. It does not run a second time.
func TestRealApprovalKilledWhileItRuns(t *testing.T) {
	a := newApprovals(t, bash("echo one >> log; sleep 30"))
	q := a.deferCall(t)
	a.decide(t, q, permission.Allow())
	s, _ := a.connect(t)
	defer s.Close()
	for a.log(t) == "" {
		select {
		case <-s.Done():
			t.Fatal("the session ended before the tool ran")
		case <-time.After(20 * time.Millisecond):
		}
	}
	s.Abort(errors.New("killed by the test"))
	s.Wait()
	if got := a.question(t, q.ID); got.State != approval.StateReleased {
		t.Errorf("while it runs the question is %s", got.State)
	}
	res := a.resume(t)
	if log := a.log(t); log != "one\n" || !strings.Contains(res.Text, "not known whether it ran") {
		t.Errorf("the tool wrote %q, and the model read %q", log, res.Text)
	}
	if got := a.question(t, q.ID); got.Outcome != approval.OutcomeUnknown {
		t.Errorf("the outcome is %s", got.Outcome)
	}
}

// A structured answer is not put before a person: it is an answer, although the CLI has a
// tool for it.
func TestRealApprovalStructuredAnswer(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]approval.Options{"every call": {}, "rules": {Needs: onlyBash}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newApprovals(t, claudetest.UseTool(structured, map[string]any{"name": "Oslo"}))
			a.opts.OutputSchema = json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)
			s, _ := a.patient(t, o)
			defer s.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			res, err := s.Ask(ctx, "Where?")
			if err != nil || string(res.StructuredOutput) != `{"name":"Oslo"}` {
				t.Errorf("%+v, %v", res, err)
			}
			for q, err := range a.inbox.List(t.Context(), approval.Filter{}) {
				t.Errorf("a person was asked about %s, %v", q.Tool, err)
			}
		})
	}
}
