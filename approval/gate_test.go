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
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// guarded is a session behind a gate.
type guarded struct {
	*claude.Session
	t     *testing.T
	gate  *approval.Gate
	inbox *approval.Questions
	cli   *claudetest.CLI
}

// guard starts a session behind a gate, on a CLI that plays the replies.
func guard(t *testing.T, r store.Records, o approval.Options, replies ...claudetest.Reply) *guarded {
	t.Helper()
	return guardWith(t, r, o, nil, replies...)
}

// guardWith is guard with other hooks in the options.
func guardWith(t *testing.T, r store.Records, o approval.Options, hooks []hook.Hook, replies ...claudetest.Reply) *guarded {
	t.Helper()
	g := &guarded{t: t, inbox: approval.NewQuestions(r, "p"), cli: claudetest.New(replies...)}
	g.gate = approval.NewGate(g.inbox, "user-42", store.Fence{}, o)
	opts := &claude.Options{Transport: g.cli, Hooks: hooks}
	if err := g.gate.Install(opts); err != nil {
		t.Fatal(err)
	}
	var err error
	if g.Session, err = claude.Connect(t.Context(), opts); err != nil {
		t.Fatal(err)
	}
	g.gate.Attach(g.Session)
	return g
}

// start runs a prompt in the background.
func (g *guarded) start() <-chan *message.Result {
	results := make(chan *message.Result, 1)
	go func() {
		r, err := g.Ask(g.t.Context(), "build it")
		if _, failed := errors.AsType[*claude.ResultError](err); err != nil && !failed {
			g.t.Error(err)
		}
		results <- r
	}()
	synctest.Wait()
	return results
}

// only returns the only question.
func (g *guarded) only() approval.Question {
	g.t.Helper()
	var all []approval.Question
	for q, err := range g.inbox.List(g.t.Context(), approval.Filter{}) {
		if err != nil {
			g.t.Fatal(err)
		}
		all = append(all, q)
	}
	if len(all) != 1 {
		g.t.Fatalf("%d questions", len(all))
	}
	return all[0]
}

func (g *guarded) want(state approval.State, o approval.Outcome) {
	g.t.Helper()
	if q := g.only(); q.State != state || q.Outcome != o {
		g.t.Errorf("the question is %s %s, want %s %s", q.State, q.Outcome, state, o)
	}
}

// call is a call with a fixed id, as a resumed session repeats it.
func call(id string) claudetest.ScriptedCall {
	return claudetest.ScriptedCall{ID: id, Name: "Bash", Input: json.RawMessage(`{"command":"make"}`), Output: "built"}
}

func TestGateDecidedInTime(t *testing.T) {
	for name, c := range map[string]struct {
		answer  func(approval.Question, string) approval.Answer
		ran     bool
		outcome approval.Outcome
	}{
		"allowed": {allow, true, approval.OutcomeRan},
		"denied":  {deny, false, approval.OutcomeDenied},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := guard(t, store.Memory(), approval.Options{}, claudetest.UseTools(call("toolu_1")), claudetest.Say("Done."))
				defer g.Close()
				results := g.start()
				g.want(approval.StateOpen, "")
				if len(results) > 0 {
					t.Fatal("the turn ended before anybody decided")
				}
				<-time.After(time.Minute)
				decide(c.answer)(t, g.inbox, g.only())
				if r := <-results; r.Text != "Done." || r.DeferredToolUse != nil {
					t.Errorf("result %q", r.Text)
				}
				if use := g.cli.Recording().Tool(t, "Bash"); use.Ran != c.ran {
					t.Errorf("ran: %v", use.Ran)
				}
				g.want(approval.StateSettled, c.outcome)
			})
		})
	}
}

// A structured answer needs no person by default: it has no effect. Calls beside it do, and
// a Needs of the program decides about it as about any other.
func TestGateStructuredAnswer(t *testing.T) {
	answer := claudetest.ScriptedCall{ID: "toolu_0", Name: "StructuredOutput", Input: json.RawMessage(`{"name":"Oslo"}`), Output: "given"}
	all := func(context.Context, *hook.PreToolUseInput) (string, bool) { return "all of them", true }
	for name, c := range map[string]struct {
		o    approval.Options
		tool string
	}{"by default": {approval.Options{}, "Bash"}, "by a Needs": {approval.Options{Needs: all}, "StructuredOutput"}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := guard(t, store.Memory(), c.o, claudetest.UseTools(answer), claudetest.UseTools(call("toolu_1")), claudetest.Say("Done."))
				defer g.Close()
				results := g.start()
				if q := g.only(); q.Tool != c.tool {
					t.Errorf("a person is asked about %s", q.Tool)
				}
				for done := false; !done; {
					for q, err := range g.inbox.List(t.Context(), approval.Filter{States: []approval.State{approval.StateOpen}}) {
						if err != nil {
							t.Fatal(err)
						}
						decide(allow)(t, g.inbox, q)
					}
					select {
					case <-results:
						done = true
					case <-time.After(time.Second):
					}
				}
			})
		})
	}
}

// The decided input is the input that runs.
func TestGateChangedInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := make(chan string, 1)
		g := guard(t, store.Memory(), approval.Options{}, claudetest.UseTools(call("toolu_1")), claudetest.Say("Done."))
		defer g.Close()
		results := g.start()
		q := g.only()
		a := approval.Answer{Decision: permission.AllowWith(json.RawMessage(`{"command":"make -n"}`)), By: "ada", Digest: q.Digest}
		if _, err := g.inbox.Decide(t.Context(), q.ID, a); err != nil {
			t.Fatal(err)
		}
		<-results
		for _, h := range g.cli.Recording().Hooks() {
			if h.Event == hook.EventPostToolUse {
				got <- string(h.Input)
			}
		}
		if in := <-got; !strings.Contains(in, `"command":"make -n"`) {
			t.Errorf("the tool ran with %s", in)
		}
	})
}

// deferCall runs a prompt until its call is deferred.
func (g *guarded) deferCall() *message.Result {
	g.t.Helper()
	r := <-g.start()
	if r == nil || r.DeferredToolUse == nil {
		g.t.Fatalf("not deferred: %+v", r)
	}
	return r
}

func TestGateDefers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		begin := time.Now()
		g := guard(t, db, approval.Options{Patience: time.Minute, Lifetime: 48 * time.Hour}, claudetest.UseTools(call("toolu_1")))
		r := g.deferCall()
		if waited := time.Since(begin); waited < time.Minute || waited > time.Minute+time.Second || r.DeferredToolUse.ID != "toolu_1" {
			t.Errorf("deferred %s after %v", r.DeferredToolUse.ID, waited)
		}
		q := g.only()
		if id, ok := g.gate.Deferred(); !ok || id != q.ID || !q.Deferred || q.State != approval.StateOpen {
			t.Errorf("deferred %q %v: %+v", id, ok, q)
		}
		if err := errors.Join(g.gate.Park(t.Context()), g.Close()); err != nil {
			t.Fatal(err)
		}

		// Tomorrow, in another process.
		<-time.After(24 * time.Hour)
		decide(allow)(t, approval.NewQuestions(db, "p"), q)
		g = guard(t, db, approval.Options{Patience: time.Minute}, claudetest.UseTools(call("toolu_1")), claudetest.Say("Done."))
		if r := <-g.start(); r.Text != "Done." {
			t.Errorf("result %q", r.Text)
		}
		g.cli.Recording().WantRan(t, "Bash")
		g.want(approval.StateSettled, approval.OutcomeRan)
		g.Close()

		// And if it is asked about once more, it does not run again.
		g = guard(t, db, approval.Options{}, claudetest.UseTools(call("toolu_1")), claudetest.Say("Done."))
		defer g.Close()
		<-g.start()
		g.cli.Recording().WantDenied(t, "Bash", "ran before")
	})
}

// A call whose process died while it ran is not run a second time.
func TestGateOutcomeUnknown(t *testing.T) {
	for _, repeatable := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			db := store.Memory()
			o := approval.Options{Repeatable: func(*hook.PreToolUseInput) bool { return repeatable }}
			in := approval.NewQuestions(db, "p")
			asked := question("toolu_1")
			asked.Repeatable = repeatable
			steps(decide(allow), release)(t, in, ask(t, in, asked))
			g := guard(t, db, o, claudetest.UseTools(call("toolu_1")), claudetest.Say("Done."))
			defer g.Close()
			<-g.start()
			if repeatable {
				g.cli.Recording().WantRan(t, "Bash")
				g.want(approval.StateSettled, approval.OutcomeRan)
			} else {
				g.cli.Recording().WantDenied(t, "Bash", "not known whether it ran")
				g.want(approval.StateSettled, approval.OutcomeUnknown)
			}
		})
	}
}

// After a deferral every other call of the answer is denied: the CLI would run
// it, and would keep only one of two deferrals.
func TestGateDefersOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := approval.Options{Needs: func(_ context.Context, in *hook.PreToolUseInput) (string, bool) { return "", in.ToolName == "Bash" }}
		read := claudetest.ScriptedCall{ID: "toolu_3", Name: "Read", Input: map[string]string{"file_path": "/repo/x"}, Output: "x"}
		g := guard(t, store.Memory(), o, claudetest.UseTools(call("toolu_1"), call("toolu_2"), read))
		defer g.Close()
		r := g.deferCall()
		ran := 0
		for _, use := range g.cli.Recording().Tools() {
			if use.Ran && use.Done {
				ran++
				t.Errorf("%s ran", use.ID)
			}
		}
		if ran > 0 || r.DeferredToolUse.ID != "toolu_1" {
			t.Errorf("%d ran, %s deferred", ran, r.DeferredToolUse.ID)
		}
	})
}

// A prompt in the CLI's queue would start a turn at once and the deferred call
// would be lost.
func TestGateDoesNotDeferBeforeAQueuedPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guard(t, store.Memory(), approval.Options{}, claudetest.UseTools(call("toolu_1")), claudetest.Say("Done."), claudetest.Say("And that."))
		defer g.Close()
		results := g.start()
		if _, err := g.Send(t.Context(), "and that"); err != nil {
			t.Fatal(err)
		}
		if r := <-results; r.DeferredToolUse != nil {
			t.Errorf("deferred before a queued prompt")
		}
		g.cli.Recording().WantDenied(t, "Bash", "not refused")
		g.want(approval.StateGone, approval.OutcomeExpired)
	})
}

// The call of a subagent would be lost if it were deferred: the gate waits for it,
// and then denies it. It cannot be decided after its process has stopped waiting,
// even if that dies.
func TestGateOfSubagents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := approval.Options{Patience: time.Minute, Lifetime: time.Hour, Needs: func(_ context.Context, in *hook.PreToolUseInput) (string, bool) { return "", in.ToolName == "Bash" }}
		g := guard(t, store.Memory(), o,
			claudetest.DelegateAndWait("general-purpose", "Build it.", claudetest.UseTools(call("toolu_1")), claudetest.Say("I could not.")),
			claudetest.Say("Done."))
		defer g.Close()
		results := g.start()
		if q := g.only(); q.Agent == "" || !q.HoldsProcess || q.Deadline.Sub(q.Asked) != time.Minute {
			t.Errorf("the question does not name the subagent, or can be decided for %v: %+v", q.Deadline.Sub(q.Asked), q)
		}
		if r := <-results; r.DeferredToolUse != nil || r.Text != "Done." {
			t.Errorf("result %q, deferred %v", r.Text, r.DeferredToolUse != nil)
		}
		g.want(approval.StateGone, approval.OutcomeExpired)
	})
}

func TestGateParked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		g := guard(t, store.Memory(), approval.Options{Patience: time.Hour}, claudetest.UseTools(call("toolu_1")))
		results := g.start()
		if err := g.gate.Park(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r := <-results; r.DeferredToolUse == nil || time.Since(begin) > time.Second {
			t.Errorf("parked after %v, deferred %v", time.Since(begin), r.DeferredToolUse != nil)
		}
		g.Close()
		if q := g.only(); q.State != approval.StateOpen || !q.Deferred {
			t.Errorf("parked: %+v", q)
		}
	})
}

// An interrupt withdraws the question, and a later decision gets an error.
func TestGateInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guard(t, store.Memory(), approval.Options{}, claudetest.UseTools(call("toolu_1")), claudetest.Say("Done."))
		defer g.Close()
		results := g.start()
		q := g.only()
		if _, err := g.Interrupt(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-results
		synctest.Wait()
		g.want(approval.StateGone, approval.OutcomeWithdrawn)
		if _, err := g.inbox.Decide(t.Context(), q.ID, allow(q, "ada")); !errors.Is(err, approval.ErrGone) {
			t.Errorf("decided after the interrupt: %v", err)
		}
	})
}

// A question whose process is closed without Park stays open: the call may be
// asked about again.
func TestGateClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guard(t, store.Memory(), approval.Options{}, claudetest.UseTools(call("toolu_1")), claudetest.Say("Done."))
		go func() {
			for range g.Run(t.Context(), "build it") {
			}
		}()
		synctest.Wait()
		g.Close()
		synctest.Wait()
		g.want(approval.StateOpen, "")
	})
}

// Calls that need no person are left to the CLI; if its rules ask, the question
// comes to the same inbox.
func TestGateNeeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := approval.Options{Needs: func(context.Context, *hook.PreToolUseInput) (string, bool) { return "", false }}
		read := claudetest.UseTool("Read", map[string]string{"file_path": "x"})
		g := guard(t, store.Memory(), o, read, claudetest.UseTools(call("toolu_1")), claudetest.Say("Done."))
		defer g.Close()
		results := g.start()
		q := g.only()
		if q.Tool != "Bash" {
			t.Errorf("asked about %s", q.Tool)
		}
		decide(allow)(t, g.inbox, q)
		<-results
		g.cli.Recording().WantRan(t, "Read")
		g.cli.Recording().WantRan(t, "Bash")
		g.want(approval.StateSettled, approval.OutcomeRan)
	})
}

// A gate whose store fails denies.
func TestGateFailsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guard(t, broken{store.Memory()}, approval.Options{}, claudetest.UseTools(call("toolu_1")), claudetest.Say("Done."))
		defer g.Close()
		<-g.start()
		g.cli.Recording().WantDenied(t, "Bash", "hook failed")
	})
}

// broken is a store that is down.
type broken struct{ store.Records }

func (broken) Now(context.Context) (time.Time, error) { return time.Time{}, errors.New("down") }

func TestGateInstall(t *testing.T) {
	g := approval.NewGate(approval.NewQuestions(store.Memory(), "p"), "c", store.Fence{}, approval.Options{Patience: 20 * time.Minute})
	_, ok := errors.AsType[*claude.OptionError](g.Install(&claude.Options{Settings: map[string]any{"disableAllHooks": true}}))
	if !ok {
		t.Error("installed where hooks are disabled")
	}
	own := hook.PreToolUse("Bash", func(context.Context, *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) { return nil, nil })
	o := &claude.Options{Hooks: []hook.Hook{own}}
	if err := g.Install(o); err != nil {
		t.Fatal(err)
	}
	before := o.Hooks[1]
	if before.Stage != hook.StageGate || before.Matcher != "" || before.OnFailure != hook.FailClosed || before.Timeout <= 20*time.Minute || len(o.Hooks) != 5 || o.CanUseTool == nil || o.Timeouts.Callback <= 20*time.Minute {
		t.Errorf("%+v, %d hooks, callbacks wait %v", before, len(o.Hooks), o.Timeouts.Callback)
	}
}

// Park gives up with its context, and may be called while calls come and go.
func TestGateParkIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		g := guard(t, slow{store.Memory(), release}, approval.Options{Patience: time.Hour}, claudetest.UseTools(call("toolu_1")), claudetest.Say("Done."))
		defer g.Close()
		if err := g.gate.Park(t.Context()); err != nil {
			t.Errorf("nobody waits: %v", err)
		}
		results := g.start()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := g.gate.Park(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the store does not answer: %v", err)
		}
		close(release)
		if err := g.gate.Park(t.Context()); err != nil {
			t.Error(err)
		}
		<-results
	})
}

// slow is a store that answers when it is released.
type slow struct {
	store.Records
	release <-chan struct{}
}

func (s slow) Now(ctx context.Context) (time.Time, error) {
	<-s.release
	return s.Records.Now(ctx)
}

// The CLI asks for permission again where a tool is itself a question. That is
// the same decision, not a second call.
func TestGateOfPlans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan := claudetest.ScriptedCall{ID: "toolu_1", Name: "ExitPlanMode", Input: json.RawMessage(`{}`)}
		g := guard(t, store.Memory(), approval.Options{}, claudetest.UseTools(plan), claudetest.Say("Done."))
		defer g.Close()
		results := g.start()
		decide(allow)(t, g.inbox, g.only())
		<-results
		g.cli.Recording().WantRan(t, "ExitPlanMode")
		g.want(approval.StateSettled, approval.OutcomeRan)
	})
}

// A plan is allowed with the mode that follows it. A hook cannot change permissions, so
// the mode goes with the answer to the CLI's own question.
func TestGateOfPlansSetsMode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan := claudetest.ScriptedCall{ID: "toolu_1", Name: "ExitPlanMode", Input: json.RawMessage(`{}`)}
		edit := claudetest.ScriptedCall{ID: "toolu_2", Name: "Write", Input: json.RawMessage(`{"file_path":"a"}`)}
		needs := func(_ context.Context, in *hook.PreToolUseInput) (string, bool) { return "", in.ToolUseID == "toolu_1" }
		g := guardWith(t, store.Memory(), approval.Options{Needs: needs}, nil, claudetest.UseTools(plan), claudetest.UseTools(edit), claudetest.Say("Done."))
		defer g.Close()
		results := g.start()
		q := g.only()
		accept := permission.Allow(permission.SetMode(permission.ModeAcceptEdits, permission.ToSession))
		if _, err := g.inbox.Decide(t.Context(), q.ID, approval.Answer{Decision: accept, By: "ada", Digest: q.Digest}); err != nil {
			t.Fatal(err)
		}
		if r := <-results; r.Text != "Done." {
			t.Errorf("the turn ended with %q", r.Text)
		}
		g.want(approval.StateSettled, approval.OutcomeRan) // of the plan, and nothing was asked about the edit
	})
}

// A call that a guard denies is not put before people, and the turn continues.
func TestGateBehindAGuard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		no := hook.Guard("", func(_ context.Context, r *permission.Request) (permission.Decision, error) {
			if r.ToolUseID == "toolu_1" {
				return permission.Deny("keep off"), nil
			}
			return permission.Pass(), nil
		})
		g := guardWith(t, store.Memory(), approval.Options{Patience: time.Minute}, []hook.Hook{no},
			claudetest.UseTools(call("toolu_1")), claudetest.UseTools(call("toolu_2")), claudetest.Say("Done."))
		defer g.Close()
		results := g.start()
		q := g.only() // the other call
		if q.ToolUseID != "toolu_2" {
			t.Errorf("asked about %s", q.ToolUseID)
		}
		if _, err := g.inbox.Decide(t.Context(), q.ID, approval.Answer{Decision: permission.Allow(), By: "ada", Digest: q.Digest}); err != nil {
			t.Fatal(err)
		}
		if r := <-results; r.Text != "Done." {
			t.Errorf("the turn ended with %q", r.Text)
		}
		g.cli.Recording().WantDenied(t, "Bash", "keep off")
		if q := g.only(); q.Outcome != approval.OutcomeRan {
			t.Errorf("the other call: %s", q.Outcome)
		}
	})
}

// A call that is denied after a person has allowed it did not run: its question ends
// within the turn, and other calls may run.
func TestGateOverruled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := make(map[string]int)
		last := hook.PreToolUse("", func(_ context.Context, in *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
			if asked[in.ToolUseID]++; in.ToolUseID == "toolu_1" {
				return hook.DenyTool("too late"), nil
			}
			return hook.AllowTool(""), nil
		}).At(hook.StageRelease)
		needs := func(_ context.Context, in *hook.PreToolUseInput) (string, bool) { return "", in.ToolUseID == "toolu_1" }
		g := guardWith(t, store.Memory(), approval.Options{Patience: time.Minute, Needs: needs}, []hook.Hook{last},
			claudetest.UseTools(call("toolu_1")), claudetest.UseTools(call("toolu_2")), claudetest.Say("Done."))
		defer g.Close()
		results := g.start()
		q := g.only()
		if _, err := g.inbox.Decide(t.Context(), q.ID, approval.Answer{Decision: permission.Allow(), By: "ada", Digest: q.Digest}); err != nil {
			t.Fatal(err)
		}
		if r := <-results; r.Text != "Done." {
			t.Errorf("the turn ended with %q", r.Text)
		}
		if _, deferred := g.gate.Deferred(); deferred {
			t.Error("the call counts as deferred")
		}
		if q := g.only(); q.Outcome != approval.OutcomeDenied {
			t.Errorf("the question is %s %s", q.State, q.Outcome)
		}
		if v, err := g.inbox.Release(t.Context(), q.ID, store.Fence{}); err != nil || v.Decision.Behavior() != permission.BehaviorDeny {
			t.Errorf("asked again: %s, %v", v.Decision.Behavior(), err)
		}
		if asked["toolu_2"] != 1 {
			t.Error("the other call was not let go")
		}
	})
}
