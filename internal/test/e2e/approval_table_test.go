package e2e

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/internal/test/need"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// patient starts a session behind a gate that waits for as long as it takes.
func (a *approvals) patient(t *testing.T, o approval.Options) (*claude.Session, *approval.Gate) {
	t.Helper()
	o.Patience = time.Hour
	return a.behind(t, o)
}

// onlyBash puts the shell before people, and nothing else.
func onlyBash(_ context.Context, in *hook.PreToolUseInput) (string, bool) {
	return "it runs a command", in.ToolName == "Bash"
}

// asked waits for an open question.
func (a *approvals) asked(t *testing.T) approval.Question {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for q, err := range a.inbox.Watch(ctx, approval.Filter{States: []approval.State{approval.StateOpen}}) {
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	return approval.Question{}
}

// begin runs a prompt in the background.
func begin(t *testing.T, s *claude.Session, prompt string) <-chan *message.Result {
	t.Helper()
	results := make(chan *message.Result, 1)
	go func() {
		res, _ := s.Ask(t.Context(), prompt) // how it ended is in the result
		results <- res
	}()
	return results
}

// Of two calls in one answer one is deferred. The other does not run, and the
// model learns that it must be repeated.
func TestRealApprovalTwoInOneAnswer(t *testing.T) {
	t.Parallel()
	input := func(text string) map[string]string {
		return map[string]string{"command": "echo " + text + " >> log", "description": "note it"}
	}
	a := newApprovals(t, claudetest.UseTools(
		claudetest.ScriptedCall{Name: "Bash", Input: input("one")}, claudetest.ScriptedCall{Name: "Bash", Input: input("two")}))
	q := a.deferCall(t)
	a.decide(t, q, permission.Allow())
	a.resume(t)
	calls := a.calls()
	if log := a.log(t); log != "one\n" || !strings.Contains(string(calls[len(calls)-1].Raw), "Repeat this call") {
		t.Errorf("the tools wrote %q, and the model read %s", log, calls[len(calls)-1].Raw)
	}
}

// A deferral beside a prompt that is queued, or a background agent, would be
// lost: the call is denied instead, and everything is answered.
func TestRealApprovalBesideOtherWork(t *testing.T) {
	t.Parallel()
	t.Run("prompt", func(t *testing.T) {
		t.Parallel()
		a := newApprovals(t, bash("echo one >> log"))
		s, g := a.patient(t, approval.Options{})
		defer s.Close()
		results := begin(t, s, "work")
		a.asked(t)
		if _, err := s.Send(t.Context(), "and that"); err != nil {
			t.Fatal(err)
		}
		if err := g.Park(t.Context()); err != nil {
			t.Fatal(err)
		}
		if res := <-results; res == nil || res.DeferredToolUse != nil || !strings.Contains(res.Text, "was not refused") {
			t.Errorf("the result is %+v", res)
		}
		if log := a.log(t); log != "" {
			t.Errorf("the tool wrote %q", log)
		}
	})
	t.Run("background agent", func(t *testing.T) {
		t.Parallel()
		a := newApprovals(t, bash("echo one >> log"))
		hold := make(chan struct{})
		a.script(t, claudetest.Delegate("general-purpose", "look around", claudetest.Say("nothing there").Hold(hold)),
			bash("echo one >> log"), claudetest.Say("denied"), claudetest.Say("the agent is back"))
		s, g := a.patient(t, approval.Options{Needs: onlyBash})
		defer s.Close()
		results := begin(t, s, "work")
		a.asked(t)
		if err := g.Park(t.Context()); err != nil {
			t.Fatal(err)
		}
		close(hold)
		if res := <-results; res == nil || res.DeferredToolUse != nil {
			t.Errorf("the result is %+v", res)
		}
		if log := a.log(t); log != "" {
			t.Errorf("the tool wrote %q", log)
		}
	})
}

// The call of a subagent is not deferred: its process waits, the inbox shows
// that, and the call runs once it is allowed.
func TestRealApprovalInSubagent(t *testing.T) {
	t.Parallel()
	a := newApprovals(t, bash(""))
	a.script(t, claudetest.DelegateAndWait("general-purpose", "note it", bash("echo one >> log"), claudetest.Say("noted")), claudetest.Say("done"))
	s, _ := a.patient(t, approval.Options{Needs: onlyBash})
	defer s.Close()
	results := begin(t, s, "work")
	q := a.asked(t)
	if q.Agent == "" || !q.HoldsProcess || q.Deadline.IsZero() {
		t.Errorf("the question is %+v", q)
	}
	a.decide(t, q, permission.Allow())
	if res := <-results; res == nil || res.Text != "done" {
		t.Errorf("the result is %+v", res)
	}
	if log := a.log(t); log != "one\n" {
		t.Errorf("the tool wrote %q", log)
	}
}

// An interrupt and a Close during the wait run nothing. The interrupt withdraws
// the question; a Close after Park leaves it to be decided.
func TestRealApprovalInterruptAndClose(t *testing.T) {
	t.Parallel()
	a := newApprovals(t, bash("echo one >> log"))
	s, _ := a.patient(t, approval.Options{})
	results := begin(t, s, "work")
	q := a.asked(t)
	if _, err := s.Interrupt(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-results
	s.Close()
	if err := s.Wait(); err != nil {
		t.Error(err)
	}
	if got := a.question(t, q.ID); got.Outcome != approval.OutcomeWithdrawn {
		t.Errorf("after the interrupt the question is %s %s", got.State, got.Outcome)
	}

	s, g := a.patient(t, approval.Options{})
	results = begin(t, s, "work")
	q = a.asked(t)
	if err := g.Park(t.Context()); err != nil {
		t.Fatal(err)
	}
	res := <-results
	s.Close()
	if res == nil || res.DeferredToolUse == nil || a.log(t) != "" {
		t.Fatalf("after Park: %+v, %q", res, a.log(t))
	}
	a.opts.Resume = res.SessionID
	a.decide(t, q, permission.Allow())
	a.resume(t)
	if log := a.log(t); log != "one\n" {
		t.Errorf("the tool wrote %q", log)
	}
}

// A tool of this process, a question to the user and a plan are decided after a
// restart as any other call.
func TestRealApprovalOfOtherTools(t *testing.T) {
	t.Parallel()
	questions := `[{"question":"Which one?","header":"Which","multiSelect":false,"options":[{"label":"A","description":"a"},{"label":"B","description":"b"}]}]`
	for name, c := range map[string]struct {
		tool     string
		input    json.RawMessage
		mode     permission.Mode
		decision permission.Decision
		says     string
	}{
		"tool of this process": {"mcp__clock__now", json.RawMessage(`{}`), "", permission.Allow(), "noon"},
		"question":             {"AskUserQuestion", json.RawMessage(`{"questions":` + questions + `}`), "", permission.AllowWith(json.RawMessage(`{"questions":` + questions + `,"answers":{"Which one?":"B"}}`)), `"B"`},
		"question denied":      {"AskUserQuestion", json.RawMessage(`{"questions":` + questions + `}`), "", permission.Deny("decide yourself"), "decide yourself"},
		"plan":                 {"ExitPlanMode", json.RawMessage(`{}`), permission.ModePlan, permission.Allow(), "approved"},
		"plan denied":          {"ExitPlanMode", json.RawMessage(`{}`), permission.ModePlan, permission.Deny("too long"), "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newApprovals(t, claudetest.UseTool(c.tool, c.input))
			a.opts.StrictMCPConfig, a.opts.PermissionMode = true, c.mode
			a.opts.MCPServers = claude.MCPServers{"clock": harness.Clock()}
			q := a.deferCall(t)
			a.decide(t, q, c.decision)
			a.opts.MCPServers = claude.MCPServers{"clock": harness.Clock()}
			if res := a.resume(t); !strings.Contains(res.Text, c.says) {
				t.Errorf("the model read %q", res.Text)
			}
			if got := a.question(t, q.ID); got.State != approval.StateSettled {
				t.Errorf("the question is %s %s", got.State, got.Outcome)
			}
		})
	}
}

// A Close without Park runs nothing, and leaves the question open. The model does
// not learn about a refusal that was never given.
func TestRealApprovalClosedWithoutPark(t *testing.T) {
	t.Parallel()
	a := newApprovals(t, bash("echo one >> log"))
	s, _ := a.patient(t, approval.Options{})
	results := begin(t, s, "work")
	q := a.asked(t)
	s.Close()
	<-results
	if got := a.question(t, q.ID); got.State != approval.StateOpen {
		t.Errorf("the question is %s %s", got.State, got.Outcome)
	}
	if n := len(a.calls()); n != 1 || a.log(t) != "" {
		t.Errorf("the model was called %d times, and the tool wrote %q", n, a.log(t))
	}
}

// The question of an MCP server comes to the inbox, which shows that a process
// waits, and the answer reaches the server.
func TestRealApprovalOfElicitation(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		decision permission.Decision
		says     string
		outcome  approval.Outcome
	}{
		"accepted": {permission.AllowWith(json.RawMessage(`{"name":"Ada"}`)), `"content":{"name":"Ada"}`, approval.OutcomeAllowed},
		"declined": {permission.Deny("none of its business"), `"action":"decline"`, approval.OutcomeDenied},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newApprovals(t, claudetest.UseTool("mcp__eli__ask", map[string]any{}))
			a.withMCP(t)
			s, _ := a.patient(t, approval.Options{Needs: onlyBash})
			defer s.Close()
			results := begin(t, s, "work")
			q := a.asked(t)
			if q.Tool != approval.ElicitationTool || q.Reason != "Your name?" || !q.HoldsProcess {
				t.Errorf("the question is %+v", q)
			}
			a.decide(t, q, c.decision)
			if res := <-results; res == nil || !strings.Contains(res.Text, c.says) {
				t.Errorf("the result is %+v", res)
			}
			if got := a.question(t, q.ID); got.State != approval.StateSettled || got.Outcome != c.outcome {
				t.Errorf("the question is %s %s", got.State, got.Outcome)
			}
		})
	}
}

var bypassRuns = flag.Int("bypass-runs", 5, "runs of TestRealApprovalBypass")

// In bypass mode nothing but the gate guards a call. However late the handshake
// of a resumed session comes, the call does not run before the gate was asked.
func TestRealApprovalBypass(t *testing.T) {
	t.Parallel()
	a := newApprovals(t, bash("echo one >> log"))
	a.opts.PermissionMode = permission.ModeBypassPermissions
	q := a.deferCall(t)
	for i := range *bypassRuns {
		a.opts.Transport = lateBy(time.Duration(i%8) * 100 * time.Millisecond)
		if res := a.resume(t); res.DeferredToolUse == nil || res.DeferredToolUse.ID != q.ToolUseID || a.log(t) != "" {
			t.Fatalf("run %d: %+v, and the tool wrote %q", i, res, a.log(t))
		}
	}
	a.decide(t, q, permission.Allow())
	a.resume(t)
	if log := a.log(t); log != "one\n" {
		t.Errorf("the tool wrote %q", log)
	}
}

// lateBy delays writes to the CLI.
type lateBy time.Duration

func (l lateBy) Start(ctx context.Context, launch *claude.Launch) (claude.Conn, error) {
	conn, err := claude.ChildProcess().Start(ctx, launch)
	if err != nil {
		return nil, err
	}
	return &lateConn{Conn: conn, late: func() { <-time.After(time.Duration(l)) }}, nil
}

// A host that is suspended while it waits runs nothing, whatever was decided.
// Killed then, it leaves a question that becomes a deferral: decided on another
// machine, the call runs once.
func TestRealApprovalHostKilled(t *testing.T) {
	t.Parallel()
	need.Signals.Test(t)
	a := newApprovals(t, bash("echo one >> log"))
	dir := t.TempDir()
	db := store.Files(dir)
	a.inbox = approval.NewQuestions(db, "tenant-7")
	host := exec.Command(os.Args[0])
	host.Env = append(os.Environ(), "CLAUDE_TEST_ROLE=asker", "HOST_CLI="+a.opts.CLIPath, "HOST_DIR="+a.dir,
		"HOST_ENV="+strings.Join(a.opts.Env, "\x1f"), "HOST_STORE="+dir, "HOST_JOURNAL="+t.TempDir(), leak.Mark())
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	q := a.asked(t)
	key := stored(t, db, "tenant-7", q.ToolUseID)
	if err := suspend(host.Process); err != nil {
		t.Fatal(err)
	}
	a.decide(t, q, permission.Allow())
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = host.Wait() // it was killed
	if log := a.log(t); log != "" {
		t.Fatalf("the tool wrote %q", log)
	}
	free(t, db, key.Project, key.Session)
	if got, err := a.inbox.Recover(t.Context(), db, key, q.ID, store.Fence{}); err != nil || !got.Deferred {
		t.Fatalf("not recovered: %+v, %v", got, err)
	}
	a.moveHome(t)
	a.opts.Store = &claude.StoreOptions{Store: db, Project: key.Project, Journal: t.TempDir()}
	a.opts.Resume = key.Session
	a.resume(t)
	if log := a.log(t); log != "one\n" {
		t.Errorf("the tool wrote %q", log)
	}
	if got := a.question(t, q.ID); got.State != approval.StateSettled || got.Outcome != approval.OutcomeRan {
		t.Errorf("the question is %s %s", got.State, got.Outcome)
	}
}

// stored waits until the store has the call, and returns the key of its session.
func stored(t *testing.T, db *store.FileStore, project, call string) store.Key {
	t.Helper()
	for limit := time.Now().Add(30 * time.Second); time.Now().Before(limit); <-time.After(20 * time.Millisecond) {
		for s, err := range db.List(t.Context(), project) {
			if err != nil {
				t.Fatal(err)
			}
			key := store.Key{Project: project, Session: s.Session}
			for e, err := range store.Entries(t.Context(), db, key) {
				if err == nil && strings.Contains(string(e), call) {
					return key
				}
			}
		}
	}
	t.Fatal("the call was never stored")
	return store.Key{}
}

// playAsker runs a turn behind a gate until it is killed.
func playAsker() {
	ctx := context.Background()
	db := store.Files(os.Getenv("HOST_STORE"))
	opts := &claude.Options{
		CLIPath: os.Getenv("HOST_CLI"), Cwd: os.Getenv("HOST_DIR"), Env: strings.Split(os.Getenv("HOST_ENV"), "\x1f"),
		Store: &claude.StoreOptions{Store: db, Project: "tenant-7", Journal: os.Getenv("HOST_JOURNAL")},
	}
	g := approval.NewGate(approval.NewQuestions(db, "tenant-7"), "user-42", store.Fence{}, approval.Options{Patience: time.Hour})
	err := g.Install(opts)
	if err == nil {
		var s *claude.Session
		if s, err = claude.Connect(ctx, opts); err == nil {
			g.Attach(s)
			_, err = s.Ask(ctx, "work")
		}
	}
	fmt.Println("the turn ended:", err)
	os.Exit(1)
}
