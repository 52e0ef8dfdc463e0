package approval_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/test/need"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// hooked is a gate whose hooks a test calls itself, as the CLI would.
type hooked struct {
	t     *testing.T
	db    *probe
	inbox *approval.Questions
	gate  *approval.Gate
	opts  *claude.Options
	fence store.Fence
}

func hookUp(t *testing.T, o approval.Options) *hooked {
	t.Helper()
	h := &hooked{t: t, db: &probe{MemoryStore: store.Memory()}, opts: &claude.Options{Cwd: t.TempDir()}}
	lease, err := h.db.Acquire(t.Context(), "p", "user-42", "me", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	h.fence = lease.Fence
	h.inbox = approval.NewQuestions(h.db, "p")
	h.gate = approval.NewGate(h.inbox, "user-42", h.fence, o)
	if err := h.gate.Install(h.opts); err != nil {
		t.Fatal(err)
	}
	return h
}

// call calls the hook of an event.
func (h *hooked) call(event hook.Event, input string) (hook.Output, error) {
	h.t.Helper()
	i := slices.IndexFunc(h.opts.Hooks, func(o hook.Hook) bool { return o.Event == event })
	return h.opts.Hooks[i].Func(h.t.Context(), json.RawMessage(input), "toolu_1")
}

// before calls the hook before a call, and answers its question. It returns what the CLI
// reads.
func (h *hooked) before(input string, answer func(approval.Question, string) approval.Answer) string {
	h.t.Helper()
	out := make(chan string, 1)
	go func() {
		o, err := h.call(hook.EventPreToolUse, input)
		text, _ := hook.Encode(o)
		out <- fmt.Sprintf("%s %v", text, err)
	}()
	synctest.Wait()
	for _, q := range h.all(approval.Filter{States: []approval.State{approval.StateOpen}}) {
		if answer != nil {
			if _, err := h.inbox.Decide(h.t.Context(), q.ID, answer(q, "ada")); err != nil {
				h.t.Error(err)
			}
		}
	}
	return <-out
}

func (h *hooked) all(f approval.Filter) (all []approval.Question) {
	h.t.Helper()
	for q, err := range h.inbox.List(h.t.Context(), f) {
		if err != nil {
			h.t.Fatal(err)
		}
		all = append(all, q)
	}
	return all
}

func (h *hooked) want(call string, state approval.State, o approval.Outcome) {
	h.t.Helper()
	for _, q := range h.all(approval.Filter{}) {
		if q.ToolUseID == call {
			if q.State != state || q.Outcome != o {
				h.t.Errorf("%s is %s %s, want %s %s", call, q.State, q.Outcome, state, o)
			}
			return
		}
	}
	h.t.Errorf("there is no question about %s", call)
}

const makeCall = `{"tool_name":"Bash","tool_use_id":"toolu_1","tool_input":{"command":"make"}}`

// A question holds everything from the hook and the options.
func TestGateQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := ""
		h := hookUp(t, approval.Options{
			Patience: time.Minute, Lifetime: time.Hour, Deciders: []string{"ada"},
			Repeatable: func(in *hook.PreToolUseInput) bool { return in.ToolUseID == "toolu_1" },
			Needs: func(ctx context.Context, in *hook.PreToolUseInput) (string, bool) {
				asked = approval.ConversationOf(ctx)
				if _, ends := ctx.Deadline(); ends || ctx.Done() == nil {
					t.Error("Needs does not have the context of the hook")
				}
				return "because", true
			},
		})
		if approval.ConversationOf(t.Context()) != "" {
			t.Error("any context has a conversation")
		}
		if err := os.WriteFile(filepath.Join(h.opts.Cwd, "a"), []byte("one\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		dir, _ := json.Marshal(h.opts.Cwd)
		out := h.before(`{"tool_name":"Write","tool_use_id":"toolu_1","prompt_id":"prompt-1","cwd":`+string(dir)+`,"tool_input":{"file_path":"a","content":"two\n"}}`, allow)
		if !strings.Contains(out, `"allow"`) || asked != "user-42" {
			t.Errorf("%s, asked about %q", out, asked)
		}
		q := h.all(approval.Filter{})[0]
		if q.Prompt != "prompt-1" || q.Reason != "because" || q.Cwd != h.opts.Cwd || !slices.Equal(q.Deciders, []string{"ada"}) || !q.Repeatable || q.HoldsProcess != false ||
			q.Deadline.Sub(q.Asked) != time.Hour || !strings.Contains(q.Diff, "-one\n+two") || q.Conversation != "user-42" || q.Tool != "Write" || q.Agent != "" {
			t.Errorf("asked %+v", q)
		}
		r := q.Request()
		if r.ToolName != q.Tool || string(r.Input) != string(q.Input) || r.ToolUseID != "toolu_1" || r.Cwd != q.Cwd {
			t.Errorf("the request is %+v", r)
		}
		// The permission callback is not told where the CLI works.
		go h.opts.CanUseTool(t.Context(), &permission.Request{ToolName: "Write", ToolUseID: "toolu_2", AgentID: "agent-1", Reason: "rules ask", Input: json.RawMessage(`{"file_path":"a","content":"three\n"}`)})
		synctest.Wait()
		q = h.all(approval.Filter{States: []approval.State{approval.StateOpen}})[0]
		if q.Cwd != h.opts.Cwd || !strings.Contains(q.Diff, "-one\n+three") || q.Agent != "agent-1" || q.Request().AgentID != "agent-1" || q.Reason != "rules ask" || !q.HoldsProcess ||
			q.Deadline.Sub(q.Asked) != time.Minute || !slices.Equal(q.Deciders, []string{"ada"}) || q.Repeatable {
			t.Errorf("asked %+v", q)
		}
		if err := h.gate.Park(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, f := range h.db.fences {
			if f != h.fence && f != (store.Fence{}) { // decisions have none
				t.Errorf("the fence %+v", f)
			}
		}
	})
}

// A call without a name or an id is not let through.
func TestGateOfNamelessCalls(t *testing.T) {
	h := hookUp(t, approval.Options{Needs: func(context.Context, *hook.PreToolUseInput) (string, bool) { return "", false }})
	for _, input := range []string{`{"tool_use_id":"toolu_1","tool_input":{}}`, `{"tool_name":"Bash","tool_input":{}}`} {
		if out, err := h.call(hook.EventPreToolUse, input); err == nil {
			t.Errorf("%s: %v", input, out)
		}
	}
}

// A gate without a session cannot know whether a deferral would hold: it denies.
func TestGateWithoutSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hookUp(t, approval.Options{Patience: time.Minute})
		if out := h.before(makeCall, nil); !strings.Contains(out, `"deny"`) || !strings.Contains(out, "not refused") {
			t.Errorf("%s", out)
		}
		h.want("toolu_1", approval.StateGone, approval.OutcomeExpired)
		if id, ok := h.gate.Deferred(); ok {
			t.Errorf("deferred %s", id)
		}
	})
}

// A person's decision about the turn reaches the CLI: another input, and a stop.
func TestGateTellsTheCLI(t *testing.T) {
	for name, c := range map[string]struct {
		d    permission.Decision
		want []string
	}{
		"as it is":      {permission.Allow(), []string{`"allow"`}},
		"another input": {permission.AllowWith(map[string]string{"command": "make -n"}), []string{`"allow"`, `"updatedInput":{"command":"make -n"}`}},
		"denied":        {permission.Deny("not today"), []string{`"deny"`, "not today"}},
		"and stopped":   {permission.DenyAndStop("enough"), []string{`"deny"`, "enough", `"continue":false`}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := hookUp(t, approval.Options{})
				out := h.before(makeCall, func(q approval.Question, by string) approval.Answer {
					return approval.Answer{Decision: c.d, By: by, Digest: q.Digest}
				})
				for _, part := range c.want {
					if !strings.Contains(out, part) {
						t.Errorf("the CLI reads %s, want %s", out, part)
					}
				}
				if stops := strings.Contains(out, `"continue":false`); stops != c.d.Interrupts() {
					t.Errorf("stops: %v", stops)
				}
				// The permission callback gives the same.
				got := make(chan permission.Decision, 1)
				go func() {
					d, _ := h.opts.CanUseTool(t.Context(), &permission.Request{ToolName: "Bash", ToolUseID: "toolu_2", Input: json.RawMessage(`{"command":"make"}`)})
					got <- d
				}()
				synctest.Wait()
				q := h.all(approval.Filter{States: []approval.State{approval.StateOpen}})[0]
				if _, err := h.inbox.Decide(t.Context(), q.ID, approval.Answer{Decision: c.d, By: "ada", Digest: q.Digest}); err != nil {
					t.Fatal(err)
				}
				d := <-got
				input, changed := d.Input()
				text, _ := json.Marshal(input)
				if _, want := c.d.Input(); d.Behavior() != c.d.Behavior() || changed != want || want && string(text) != `{"command":"make -n"}` || d.Interrupts() != c.d.Interrupts() || d.Message() != c.d.Message() {
					t.Errorf("decided %s %s", d.Behavior(), text)
				}
			})
		})
	}
}

// The hooks after a call record how it ended; calls that no person was asked about
// have no question. An error of the store is not swallowed.
func TestGateNotesTheEnd(t *testing.T) {
	for event, o := range map[hook.Event]approval.Outcome{hook.EventPostToolUse: approval.OutcomeRan, hook.EventPostToolUseFailure: approval.OutcomeFailed} {
		t.Run(string(event), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := hookUp(t, approval.Options{})
				h.before(makeCall, allow)
				if _, err := h.call(event, `{"tool_name":"Bash","tool_use_id":"toolu_9"}`); err != nil {
					t.Errorf("nobody was asked: %v", err)
				}
				h.db.at, h.db.happen = h.db.calls+1, func(context.Context, store.RecordKey) error { return errDown }
				if _, err := h.call(event, makeCall); !errors.Is(err, errDown) {
					t.Errorf("the store is down: %v", err)
				}
				if err := h.gate.SettleRest(t.Context(), func() (map[string]approval.Outcome, error) { return nil, errDown }); !errors.Is(err, errDown) {
					t.Errorf("the call is no longer followed: %v", err)
				}
				if _, err := h.call(event, makeCall); err != nil {
					t.Error(err)
				}
				h.want("toolu_1", approval.StateSettled, o)
				h.rest()
				// It has ended: the same id is not let through without a question.
				d, err := h.opts.CanUseTool(t.Context(), &permission.Request{ToolName: "Bash", ToolUseID: "toolu_1", Input: json.RawMessage(`{"command":"make"}`)})
				if err != nil || d.Behavior() != permission.BehaviorDeny {
					t.Errorf("asked again: %s, %v", d.Behavior(), err)
				}
			})
		})
	}
}

// rest fails the test if the gate still follows a call.
func (h *hooked) rest() {
	h.t.Helper()
	err := h.gate.SettleRest(h.t.Context(), func() (map[string]approval.Outcome, error) { return nil, errors.New("calls are followed") })
	if err != nil {
		h.t.Error(err)
	}
}

// SettleRest ends the questions that no hook has ended, by the transcript, and no
// others.
func TestSettleRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hookUp(t, approval.Options{Patience: time.Minute})
		with := func(id, more string) string {
			return strings.Replace(makeCall, `"toolu_1"`, `"`+id+`"`+more, 1)
		}
		h.before(with("toolu_1", ""), allow)
		h.before(with("toolu_2", ""), allow)
		h.before(with("toolu_3", ""), deny)                   // has ended
		h.before(with("toolu_4", `,"agent_id":"one"`), allow) // may run on
		go h.opts.OnElicitation(t.Context(), &control.Elicitation{ServerName: "eli", Message: "Name?"})
		synctest.Wait() // is not a call
		h.db.at, h.db.happen = 0, nil
		ended := map[string]approval.Outcome{"toolu_1": approval.OutcomeRan, "toolu_3": approval.OutcomeRan, "toolu_4": approval.OutcomeRan, "toolu_7": approval.OutcomeRan}
		calls := 0
		outcomes := func() (map[string]approval.Outcome, error) { calls++; return ended, nil }
		// A change that the store refuses is retried by the next one.
		h.db.at, h.db.happen = h.db.calls+1, func(context.Context, store.RecordKey) error { return errDown }
		if err := h.gate.SettleRest(t.Context(), outcomes); !errors.Is(err, errDown) {
			t.Errorf("the store is down: %v", err)
		}
		h.db.fences = nil
		if err := h.gate.SettleRest(t.Context(), outcomes); err != nil {
			t.Fatal(err)
		}
		if len(h.db.fences) != 1 || h.db.fences[0] != h.fence {
			t.Errorf("changed under %+v", h.db.fences)
		}
		h.want("toolu_1", approval.StateSettled, approval.OutcomeRan)
		h.want("toolu_2", approval.StateReleased, "")
		h.want("toolu_3", approval.StateSettled, approval.OutcomeDenied)
		h.want("toolu_4", approval.StateReleased, "")
		ended = map[string]approval.Outcome{"toolu_2": approval.OutcomeUnknown}
		for range 2 {
			if err := h.gate.SettleRest(t.Context(), outcomes); err != nil {
				t.Fatal(err)
			}
		}
		h.want("toolu_2", approval.StateSettled, approval.OutcomeUnknown)
		if calls != 3 {
			t.Errorf("the transcript was read %d times, want 3", calls)
		}
		if err := h.gate.Park(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// After a batch, a call that was released and did not run was refused by something
// else. Calls that the gate does not know, and those that ran, stay unchanged.
func TestGateBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hookUp(t, approval.Options{})
		h.before(makeCall, allow)
		h.before(strings.Replace(makeCall, "toolu_1", "toolu_2", 1), allow)
		if _, err := h.call(hook.EventPostToolUse, strings.Replace(makeCall, "toolu_1", "toolu_2", 1)); err != nil {
			t.Fatal(err)
		}
		const batch = `{"tool_calls":[{"tool_name":"Read","tool_use_id":"toolu_9"},{"tool_name":"Bash","tool_use_id":"toolu_2"},{"tool_name":"Bash","tool_use_id":"toolu_1"}]}`
		h.db.fences = nil
		if _, err := h.call(hook.EventPostToolBatch, batch); err != nil {
			t.Fatal(err)
		}
		h.want("toolu_1", approval.StateSettled, approval.OutcomeDenied)
		h.want("toolu_2", approval.StateSettled, approval.OutcomeRan)
		if len(h.db.fences) != 1 || h.db.fences[0] != h.fence {
			t.Errorf("changed under %+v", h.db.fences)
		}
		h.rest()
		h.before(strings.Replace(makeCall, "toolu_1", "toolu_3", 1), allow)
		h.db.at, h.db.happen = h.db.calls+1, func(context.Context, store.RecordKey) error { return errDown }
		if _, err := h.call(hook.EventPostToolBatch, strings.ReplaceAll(batch, "toolu_1", "toolu_3")); !errors.Is(err, errDown) {
			t.Errorf("the store is down: %v", err)
		}
	})
}

// A deferral that something else overrules does not count: the next call is asked about.
func TestGateOverruledDeferral(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guard(t, store.Memory(), approval.Options{Patience: time.Minute}, claudetest.UseTools(call("toolu_1")))
		defer g.Close()
		opts := new(claude.Options)
		if err := g.gate.Install(opts); err != nil {
			t.Fatal(err)
		}
		g.deferCall()
		batch := opts.Hooks[slices.IndexFunc(opts.Hooks, func(h hook.Hook) bool { return h.Event == hook.EventPostToolBatch })]
		if _, err := batch.Func(t.Context(), json.RawMessage(`{"tool_calls":[{"tool_name":"Bash","tool_use_id":"toolu_1"}]}`), ""); err != nil {
			t.Fatal(err)
		}
		if id, ok := g.gate.Deferred(); ok {
			t.Errorf("%s counts as deferred", id)
		}
		g.want(approval.StateGone, approval.OutcomeWithdrawn)
	})
}

// Prompts are withdrawn before a call is deferred, and a decision that comes meanwhile
// counts.
func TestGateTakesPromptsBack(t *testing.T) {
	for _, decided := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			g := guard(t, store.Memory(), approval.Options{Patience: time.Minute}, claudetest.UseTools(call("toolu_1")), claudetest.UseTools(shell("toolu_2", "make test")), claudetest.Say("Done."))
			defer g.Close()
			taken := 0
			g.gate.BeforeDefer(func(ctx context.Context) {
				if taken++; ctx.Err() != nil || ctx.Done() == nil || g.only().Deferred {
					t.Errorf("taken back with %v, and the question is %+v", ctx.Err(), g.only())
				}
				if decided && taken == 1 {
					decide(allow)(t, g.inbox, g.only())
				}
			})
			begin := time.Now()
			results := g.start()
			if decided {
				<-time.After(time.Minute + 30*time.Second)
				decide(allow)(t, g.inbox, g.open()[0]) // the gate is not closed for the second call
			}
			r := <-results
			if taken != 1 || (r.DeferredToolUse != nil) == decided {
				t.Errorf("taken back %d times, deferred %v after %v", taken, r.DeferredToolUse != nil, time.Since(begin))
			}
			if _, deferred := g.gate.Deferred(); deferred == decided {
				t.Errorf("deferred: %v", deferred)
			}
			for _, use := range g.cli.Recording().Tools() {
				if use.Ran && !decided || decided && !use.Ran {
					t.Errorf("%s ran: %v", use.ID, use.Ran)
				}
			}
		})
	}
}

// A call that is decided at the last moment is not deferred, so the gate stays open for the
// calls beside it, before the batch has ended.
func TestGateDecidedAtTheLastMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guard(t, store.Memory(), approval.Options{Patience: time.Minute})
		defer g.Close()
		opts := new(claude.Options)
		if err := g.gate.Install(opts); err != nil {
			t.Fatal(err)
		}
		g.gate.BeforeDefer(func(context.Context) {
			if q := g.open()[0]; q.ToolUseID == "toolu_1" {
				decide(allow)(t, g.inbox, q)
			}
		})
		before := opts.Hooks[slices.IndexFunc(opts.Hooks, func(h hook.Hook) bool { return h.Event == hook.EventPreToolUse })]
		for _, id := range []string{"toolu_1", "toolu_2"} {
			input := fmt.Sprintf(`{"tool_name":"Bash","tool_use_id":%q,"tool_input":{"command":"make"}}`, id)
			type reply struct {
				out hook.Output
				err error
			}
			replies := make(chan reply, 1)
			go func() {
				out, err := before.Func(t.Context(), json.RawMessage(input), id)
				replies <- reply{out, err}
			}()
			synctest.Wait()
			if id == "toolu_2" && len(g.open()) == 1 {
				decide(allow)(t, g.inbox, g.open()[0])
			}
			r := <-replies
			text, err := hook.Encode(r.out)
			if r.err != nil || err != nil || !strings.Contains(string(text), `"allow"`) {
				t.Errorf("%s: %s, %v, %v, want that it is allowed", id, text, r.err, err)
			}
			if q, ok := g.gate.Deferred(); ok {
				t.Errorf("%s counts as deferred", q)
			}
		}
	})
}

// The text of a plan is part of the question. A plan that was lost with its directory is
// written again; another text is another question.
func TestGateKeepsPlans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := t.TempDir()
		plans := filepath.Join(config, "plans")
		if err := os.Mkdir(plans, 0o700); err != nil {
			t.Fatal(err)
		}
		old := time.Now().Add(-time.Hour)
		for name, text := range map[string]string{"a-old.md": "old", "b-new.md": "the plan", "c-later.txt": "not a plan", "d-old.md": "older"} {
			if err := os.WriteFile(filepath.Join(plans, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(name, "old") {
				if err := os.Chtimes(filepath.Join(plans, name), old, old); err != nil {
					t.Fatal(err)
				}
			}
		}
		h := hookUp(t, approval.Options{Patience: time.Minute})
		exit := func(config, input string) string {
			path, _ := json.Marshal(filepath.Join(config, "projects", "-work", "s.jsonl"))
			return `{"tool_name":"ExitPlanMode","tool_use_id":"toolu_1","transcript_path":` + string(path) + `,"tool_input":` + input + `}`
		}
		ctx, cancel := context.WithCancel(t.Context())
		go h.opts.Hooks[0].Func(ctx, json.RawMessage(exit(config, `{"plan":"the plan"}`)), "toolu_1")
		synctest.Wait()
		q := h.all(approval.Filter{})[0]
		if q.Plan != "the plan" || q.PlanPath != filepath.Join(plans, "b-new.md") {
			t.Errorf("the question has the plan %q of %s", q.Plan, q.PlanPath)
		}
		cancel() // the process ends
		synctest.Wait()
		if out := h.before(exit(config, `{"plan":"another"}`), nil); !strings.Contains(out, approval.ErrChanged.Error()) {
			t.Errorf("another plan: %s", out)
		}
		h.db.at, h.db.happen = h.db.calls+1, func(context.Context, store.RecordKey) error { return errDown }
		if out := h.before(exit(config, `{}`), nil); !strings.Contains(out, errDown.Error()) {
			t.Errorf("the store is down: %s", out)
		}
		elsewhere := t.TempDir()
		if out := h.before(exit(elsewhere, `{}`), allow); !strings.Contains(out, `"allow"`) {
			t.Errorf("asked again: %s", out)
		}
		path := filepath.Join(elsewhere, "plans", "b-new.md")
		text, err := os.ReadFile(path)
		if info, err2 := os.Stat(path); err != nil || err2 != nil || string(text) != "the plan" || need.FileModes.Here() && info.Mode().Perm() != 0o600 {
			t.Errorf("the plan was written again as %q, %v, %v", text, err, err2)
		}
		// The CLI asks for permission about the plan as it has it.
		d, err := h.opts.CanUseTool(t.Context(), &permission.Request{ToolName: "ExitPlanMode", ToolUseID: "toolu_1", Input: json.RawMessage(`{}`)})
		if err != nil || d.Behavior() != permission.BehaviorAllow {
			t.Errorf("%s, %v", d.Behavior(), err)
		}
	})
}

// Options of a callback hold for its questions too.
func TestElicitationOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := approval.NewQuestions(store.Memory(), "p")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go in.Elicitations("user-42", approval.Options{Deciders: []string{"ada"}, Patience: time.Hour, Lifetime: time.Minute})(ctx, &control.Elicitation{ServerName: "eli", Message: "Name?"})
		synctest.Wait()
		for q, err := range in.List(t.Context(), approval.Filter{}) {
			if err != nil || !slices.Equal(q.Deciders, []string{"ada"}) || q.Deadline.Sub(q.Asked) != time.Minute || !strings.Contains(string(q.Input), "Name?") {
				t.Errorf("asked %+v, %v", q, err)
			}
		}
	})
}

// Errors name their question and what happened to it.
func TestErrorTexts(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	for want, err := range map[string]error{
		"claude: approval: ada decided question 7f at 2026-01-02T02:04:05Z": &approval.DecidedError{ID: "7f", By: "ada", At: at},
		"claude: approval: question 7f was replaced by 80":                  &approval.GoneError{ID: "7f", Outcome: approval.OutcomeSuperseded, Successor: "80"},
		"claude: approval: question 7f can no longer be decided: expired":   &approval.GoneError{ID: "7f", Outcome: approval.OutcomeExpired},
		"claude: approval: question 7f is released and cannot become gone":  &approval.StateError{ID: "7f", State: approval.StateReleased, Want: approval.StateGone},
		`claude: approval: question "7f": not found`:                        notFound(t),
		"claude: approval: invalid: the question has no tool use id":        asking(t, func(q *approval.Question) { q.ToolUseID = "" }),
		"claude: approval: invalid: the question has no conversation":       asking(t, func(q *approval.Question) { q.Conversation = "" }),
		"claude: approval: invalid: the question has no tool":               asking(t, func(q *approval.Question) { q.Tool = "" }),
		"claude: approval: invalid: the question has no input":              asking(t, func(q *approval.Question) { q.Input = json.RawMessage("{") }),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func notFound(t *testing.T) error {
	_, err := approval.NewQuestions(store.Memory(), "p").Get(t.Context(), "7f")
	return err
}

func asking(t *testing.T, change func(*approval.Question)) error {
	q := question("toolu_1")
	change(&q)
	_, err := approval.NewQuestions(store.Memory(), "p").Ask(t.Context(), q, store.Fence{})
	return err
}

// A diff that does not fit into the record is left out; an input that does not is
// refused.
func TestLargeQuestions(t *testing.T) {
	in := approval.NewQuestions(store.Memory(), "p")
	q := question("toolu_1")
	q.Input, q.Diff = json.RawMessage(`"`+strings.Repeat("x", 900<<10)+`"`), strings.Repeat("y", 200<<10)
	if _, err := in.Ask(t.Context(), q, store.Fence{}); err != nil {
		t.Fatal(err)
	}
	for got, err := range in.List(t.Context(), approval.Filter{}) {
		if err != nil || len(got.Input) != len(q.Input) || got.Diff != "" {
			t.Errorf("%d bytes of input, %d of diff, %v", len(got.Input), len(got.Diff), err)
		}
		decide(allow)(t, in, got)
	}
	q.ToolUseID, q.Input = "toolu_2", json.RawMessage(`"`+strings.Repeat("x", store.MaxRecord)+`"`)
	if _, err := in.Ask(t.Context(), q, store.Fence{}); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("a question of more than a record: %v", err)
	}
}

// A conversation has a thousand rules and no more; a decision that would make another is
// not released.
func TestRulesAreBounded(t *testing.T) {
	in := approval.NewQuestions(store.Memory(), "p")
	rules := make([]string, 1001)
	for i := range rules {
		rules[i] = fmt.Sprintf("Bash(make %d)", i)
	}
	for i, some := range [][]string{rules[:1000], rules[:1000], rules[1000:]} {
		q := ask(t, in, question(fmt.Sprint("toolu_", i)))
		always(permission.Allow(), some...)(t, in, q)
		_, err := in.Release(t.Context(), q.ID, store.Fence{})
		if full := i == 2; errors.Is(err, approval.ErrInvalid) != full || !full && err != nil {
			t.Errorf("decision %d: %v", i, err)
		}
	}
	if got, err := in.Rules(t.Context(), "user-42"); err != nil || len(got) != 1000 {
		t.Errorf("%d rules, %v", len(got), err)
	}
}

// The suggested rules are the narrowest that fit: the very command, file or host,
// and those suggestions of the CLI that allow and are narrow.
func TestSuggestions(t *testing.T) {
	need.UnixPaths.Test(t)
	for _, c := range []struct {
		tool, input string
		offered     []permission.Update
		want        []string
	}{
		{"Bash", `{"command":"make all"}`, nil, []string{"Bash(make all)"}},
		{"Bash", `{"command":"rm *"}`, nil, nil},
		{"Bash", `{"command":"find . -name '*.go'"}`, nil, nil}, // as a rule it would be a pattern
		{"Bash", `{"command":"make all"}`, []permission.Update{
			permission.AllowRule("Bash", "make:*", permission.ToSession), permission.AllowRule("Bash", "make all", permission.ToSession), permission.AllowRule("Bash", "", permission.ToSession),
			permission.AllowRule("Bash", "go test", permission.ToSession), permission.DenyRule("Bash", "make all", permission.ToSession),
		}, []string{"Bash(make all)", "Bash(make:*)"}},
		{"Bash", `{"command":"make all"}`, []permission.Update{permission.DenyRule("Bash", "make:*", permission.ToSession)}, []string{"Bash(make all)"}},
		{"WebFetch", `{"url":"https://go.dev/doc","prompt":"x"}`, nil, []string{"WebFetch(domain:go.dev)"}},
		{"WebFetch", `{"url":"not a host"}`, nil, nil},
		{"Edit", `{"file_path":"/repo/a.go","old_string":"a","new_string":"b"}`, nil, []string{"Edit(//repo/a.go)"}},
		{"Read", `{"file_path":"/repo/a.go"}`, nil, []string{"Read(//repo/a.go)"}},
		{"Edit", `{"file_path":"/repo/[a].go","old_string":"a","new_string":"b"}`, nil, nil},
		{"Edit", `{"file_path":"a.go","old_string":"a","new_string":"b"}`, nil, nil},
		{"NotebookEdit", `{"notebook_path":"/repo/a.ipynb","new_source":"x"}`, nil, []string{"Edit(//repo/a.ipynb)"}},
		{"WebSearch", `{"query":"x"}`, nil, []string{"WebSearch"}},
		{"mcp__docs__get", `{}`, nil, []string{"mcp__docs__get"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			in := approval.NewQuestions(store.Memory(), "p")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go in.Callback("user-42", approval.Options{})(ctx, &permission.Request{ToolName: c.tool, ToolUseID: "toolu_1", Input: json.RawMessage(c.input), Suggestions: c.offered})
			synctest.Wait()
			for q, err := range in.List(t.Context(), approval.Filter{}) {
				if err != nil || !slices.Equal(q.Suggestions, c.want) {
					t.Errorf("%s %s: suggested %q, %v, want %q", c.tool, c.input, q.Suggestions, err, c.want)
				}
			}
		})
	}
}

// A reader of one conversation learns that it cannot read all of its questions; a
// reader of all conversations skips those that a newer program has written.
func TestNewerQuestionsInLists(t *testing.T) {
	db := store.Memory()
	in := approval.NewQuestions(db, "p")
	newer, other := ask(t, in, question("toolu_1")), question("toolu_2")
	other.Conversation = "user-43"
	ask(t, in, other)
	k := store.RecordKey{Project: "p", Kind: approval.Kind, Name: newer.ID}
	r, err := store.Get(t.Context(), db, k)
	if err == nil {
		_, err = store.Put(t.Context(), db, k, []byte(strings.Replace(string(r.Value), `"v":1`, `"v":9`, 1)), r.Revision, store.Fence{})
	}
	if err != nil {
		t.Fatal(err)
	}
	for conversation, want := range map[string]string{"": "toolu_2 ", "user-43": "toolu_2 ", "user-42": "newer "} {
		got := ""
		for q, err := range in.List(t.Context(), approval.Filter{Conversation: conversation}) {
			if errors.Is(err, store.ErrNewer) {
				q.ToolUseID = "newer"
			} else if err != nil {
				t.Fatal(err)
			}
			got += q.ToolUseID + " "
		}
		if got != want {
			t.Errorf("%q: %s, want %s", conversation, got, want)
		}
	}
	if err := in.Erase(t.Context(), "user-42", store.Fence{}); !errors.Is(err, store.ErrNewer) {
		t.Errorf("erased what cannot be read: %v", err)
	}
}
