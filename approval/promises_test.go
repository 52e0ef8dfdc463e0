package approval_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// A gate that is installed waits as long as its patience, whichever callbacks it had to
// bring along, and leaves the timeouts of others alone.
func TestGateInstallTimeouts(t *testing.T) {
	const patience = 20 * time.Minute
	permit := func(context.Context, *permission.Request) (permission.Decision, error) {
		return permission.Allow(), nil
	}
	elicit := func(context.Context, *control.Elicitation) (control.ElicitationAnswer, error) {
		return control.Decline(), nil
	}
	for name, c := range map[string]struct {
		opts claude.Options
		want func(time.Duration) bool
	}{
		"neither":            {claude.Options{}, func(d time.Duration) bool { return d > patience }},
		"only permissions":   {claude.Options{CanUseTool: permit}, func(d time.Duration) bool { return d > patience }},
		"only elicitations":  {claude.Options{OnElicitation: elicit}, func(d time.Duration) bool { return d > patience }},
		"both":               {claude.Options{CanUseTool: permit, OnElicitation: elicit}, func(d time.Duration) bool { return d == 0 }},
		"none, and for ever": {claude.Options{Timeouts: claude.Timeouts{Callback: -1}}, func(d time.Duration) bool { return d == -1 }},
		"none, and longer":   {claude.Options{Timeouts: claude.Timeouts{Callback: time.Hour}}, func(d time.Duration) bool { return d == time.Hour }},
	} {
		g := approval.NewGate(approval.NewQuestions(store.Memory(), "p"), "c", store.Fence{}, approval.Options{Patience: patience})
		o := c.opts
		if err := g.Install(&o); err != nil {
			t.Fatal(err)
		}
		if !c.want(o.Timeouts.Callback) || o.CanUseTool == nil || o.OnElicitation == nil {
			t.Errorf("%s: callbacks wait %v", name, o.Timeouts.Callback)
		}
	}
	for name, o := range map[string]*claude.Options{
		"Settings":        {Settings: map[string]any{"disableAllHooks": true}},
		"ManagedSettings": {ManagedSettings: map[string]any{"disableAllHooks": true}},
	} {
		g := approval.NewGate(approval.NewQuestions(store.Memory(), "p"), "c", store.Fence{}, approval.Options{})
		if _, ok := errors.AsType[*claude.OptionError](g.Install(o)); !ok || len(o.Hooks) > 0 {
			t.Errorf("installed where %s disables hooks", name)
		}
	}
}

// async calls the hook before a call as the CLI would, and returns what it reads.
func (h *hooked) async(ctx context.Context, id string) <-chan string {
	out := make(chan string, 1)
	i := slices.IndexFunc(h.opts.Hooks, func(o hook.Hook) bool { return o.Event == hook.EventPreToolUse })
	go func() {
		o, err := h.opts.Hooks[i].Func(ctx, json.RawMessage(fmt.Sprintf(`{"tool_name":"Bash","tool_use_id":%q,"tool_input":{"command":"make"}}`, id)), id)
		text, _ := hook.Encode(o)
		out <- fmt.Sprintf("%s %v", text, err)
	}()
	synctest.Wait()
	return out
}

// Calls may come and go behind a gate that is parked, and it may be parked again.
func TestGateParkAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hookUp(t, approval.Options{Patience: time.Hour})
		for i := range 3 {
			out := h.async(t.Context(), fmt.Sprint("toolu_", i))
			if err := h.gate.Park(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := <-out; !strings.Contains(got, `"deny"`) || !strings.Contains(got, "not refused") {
				t.Errorf("call %d: %s", i, got)
			}
		}
	})
}

// The person who stops a run gives the reason, which the CLI shows.
func TestGateStopReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hookUp(t, approval.Options{})
		out := h.before(makeCall, func(q approval.Question, by string) approval.Answer {
			return approval.Answer{Decision: permission.DenyAndStop("enough for today"), By: by, Digest: q.Digest}
		})
		if !strings.Contains(out, `"stopReason":"enough for today"`) {
			t.Errorf("the CLI reads %s", out)
		}
	})
}

// A deferral that could not be stored closes the gate for no call beside it, even before
// their batch has ended.
func TestGateOpenAfterFailedDeferral(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &fails{MemoryStore: store.Memory()}
		db.next.Store(true)
		g := guard(t, db, approval.Options{Patience: time.Minute})
		defer g.Close()
		h := &hooked{t: t, inbox: g.inbox, gate: g.gate, opts: new(claude.Options)}
		if err := g.gate.Install(h.opts); err != nil {
			t.Fatal(err)
		}
		if got := <-h.async(t.Context(), "toolu_1"); !strings.Contains(got, errDown.Error()) {
			t.Errorf("not stored: %s", got)
		}
		if id, ok := g.gate.Deferred(); ok {
			t.Errorf("%s counts as deferred", id)
		}
		out := h.async(t.Context(), "toolu_2")
		for _, q := range g.open() {
			if q.ToolUseID == "toolu_2" {
				decide(allow)(t, g.inbox, q)
			}
		}
		if got := <-out; !strings.Contains(got, `"allow"`) {
			t.Errorf("the next call: %s", got)
		}
	})
}

// ends is a store that ends a context when it has stored a deferral.
type ends struct {
	*store.MemoryStore
	end context.CancelFunc
}

func (e *ends) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	next, err := e.MemoryStore.Change(ctx, f, c...)
	if strings.Contains(string(c[0].Value), `"deferred":true`) {
		e.end()
	}
	return next, err
}

// The CLI learns of a stored deferral even if its context has just ended: the
// question must not wait for a call that the CLI has recorded as refused.
func TestGateDeferralStands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		g := guard(t, &ends{store.Memory(), cancel}, approval.Options{Patience: time.Minute})
		defer g.Close()
		h := &hooked{t: t, inbox: g.inbox, gate: g.gate, opts: new(claude.Options)}
		if err := g.gate.Install(h.opts); err != nil {
			t.Fatal(err)
		}
		if got := <-h.async(ctx, "toolu_1"); !strings.Contains(got, `"defer"`) {
			t.Errorf("the CLI reads %s", got)
		}
		if q := g.only(); q.State != approval.StateOpen || !q.Deferred {
			t.Errorf("the question is %s, deferred %v", q.State, q.Deferred)
		}
	})
}

// A call is not deferred beside a background agent: the CLI would begin a turn when that
// ends, and give the call up.
func TestGateDoesNotDeferBesideAnAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		busy := hook.PreToolUse("Bash", func(_ context.Context, in *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
			if in.AgentID != "" {
				<-release
			}
			return nil, nil
		}).WithTimeout(time.Hour)
		o := approval.Options{Patience: time.Minute, Needs: func(_ context.Context, in *hook.PreToolUseInput) (string, bool) {
			return "", in.ToolName == "Bash" && in.AgentID == ""
		}}
		g := guardWith(t, store.Memory(), o, []hook.Hook{busy},
			claudetest.Delegate("general-purpose", "Look around.", claudetest.UseTools(shell("toolu_9", "ls")), claudetest.Say("Nothing.")),
			claudetest.UseTools(call("toolu_1")), claudetest.Say("Done."), claudetest.Say("And that."))
		defer g.Close()
		results := g.start()
		if a := g.Activity(); a.Agents != 1 || len(g.open()) != 1 {
			t.Fatalf("%+v, %d questions", a, len(g.open()))
		}
		<-time.After(time.Minute + time.Second)
		synctest.Wait()
		if id, ok := g.gate.Deferred(); ok {
			t.Errorf("%s is deferred", id)
		}
		close(release)
		if r := <-results; r.DeferredToolUse != nil {
			t.Error("deferred beside an agent")
		}
		for q, err := range g.inbox.List(t.Context(), approval.Filter{}) {
			if err != nil || q.ToolUseID == "toolu_1" && (q.State != approval.StateGone || q.Outcome != approval.OutcomeExpired) {
				t.Errorf("the question about %s is %s %s, %v", q.ToolUseID, q.State, q.Outcome, err)
			}
		}
	})
}

// meanwhile is a store in which something happens right after a record was read, or when a
// scan has begun: once.
type meanwhile struct {
	*store.MemoryStore
	armed atomic.Bool
	then  func()
}

func (m *meanwhile) View(ctx context.Context, v store.View) ([]store.Record, error) {
	r, err := m.MemoryStore.View(ctx, v)
	if err == nil && v.Keys[0].Kind == approval.Kind && m.armed.CompareAndSwap(true, false) {
		m.then()
	}
	return r, err
}

// A decision of this process is seen at once, even if it comes between a look at the store
// and the wait for the next change.
func TestDecisionsAreSeenAtOnce(t *testing.T) {
	for name, begin := range map[string]func(t *testing.T, db *meanwhile, in *approval.Questions, q approval.Question) error{
		"Await": func(t *testing.T, db *meanwhile, in *approval.Questions, q approval.Question) error {
			db.armed.Store(true)
			now, err := in.Await(t.Context(), q.ID)
			if err == nil && now.State != approval.StateDecided {
				err = fmt.Errorf("it is %s", now.State)
			}
			return err
		},
		"Callback": func(t *testing.T, db *meanwhile, in *approval.Questions, q approval.Question) error {
			db.armed.Store(true)
			d, err := in.Callback(q.Conversation, approval.Options{})(t.Context(), &permission.Request{ToolName: q.Tool, ToolUseID: q.ToolUseID, Input: q.Input})
			if err == nil && d.Behavior() != permission.BehaviorAllow {
				err = fmt.Errorf("it is %s", d.Behavior())
			}
			return err
		},
		"Watch": func(t *testing.T, db *meanwhile, in *approval.Questions, q approval.Question) error {
			first := true
			for now, err := range in.Watch(t.Context(), approval.Filter{}) {
				if err != nil {
					return err
				}
				if first {
					first = false
					db.then()
					continue
				}
				if now.State != approval.StateDecided {
					return fmt.Errorf("it is %s", now.State)
				}
				return nil
			}
			return errors.New("it ended")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := &meanwhile{MemoryStore: store.Memory()}
				in := approval.NewQuestions(db, "p")
				q := ask(t, in, question("toolu_1"))
				db.then = func() {
					if _, err := in.Decide(t.Context(), q.ID, allow(q, "ada")); err != nil {
						t.Error(err)
					}
				}
				start := time.Now()
				if err := begin(t, db, in, q); err != nil {
					t.Error(err)
				}
				if took := time.Since(start); took > 0 {
					t.Errorf("it was seen after %v", took)
				}
			})
		})
	}
}

// ticking is a store whose clock moves at every look.
type ticking struct {
	*store.MemoryStore
	mu    sync.Mutex
	looks time.Duration
}

func (s *ticking) Now(context.Context) (time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks++
	return time.Unix(0, 0).Add(s.looks * 40 * time.Second), nil
}

// A question that expires while it is being decided is not decided.
func TestDecisionAtTheDeadline(t *testing.T) {
	in := approval.NewQuestions(&ticking{MemoryStore: store.Memory()}, "p")
	q := question("toolu_1")
	q.Lifetime = time.Minute
	q = ask(t, in, q)
	got, err := in.Decide(t.Context(), q.ID, allow(q, "ada"))
	if gone, ok := errors.AsType[*approval.GoneError](err); !ok || gone.Outcome != approval.OutcomeExpired {
		t.Errorf("decided after its deadline: %s, %v", got.State, err)
	}
	if now, err := in.Get(t.Context(), q.ID); err != nil || now.State != approval.StateGone || now.Answer != nil || now.Outcome != approval.OutcomeExpired {
		t.Errorf("the question is %s %s, answered %v, %v", now.State, now.Outcome, now.Answer != nil, err)
	}
}

// The same decision with other rules is another decision: the rules of the second person
// would be lost silently.
func TestDecideAgainWithRules(t *testing.T) {
	in := approval.NewQuestions(store.Memory(), "p")
	q := ask(t, in, question("toolu_1"))
	first, other := allow(q, "ada"), allow(q, "ada")
	first.Always = []string{"Bash(make)"}
	if _, err := in.Decide(t.Context(), q.ID, first); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Decide(t.Context(), q.ID, first); err != nil {
		t.Errorf("the same again: %v", err)
	}
	for _, rules := range [][]string{nil, {"Bash(make test)"}, {"Bash(make)", "Bash(make test)"}} {
		other.Always = rules
		_, err := in.Decide(t.Context(), q.ID, other)
		if d, ok := errors.AsType[*approval.DecidedError](err); !ok || !slices.Equal(d.Answer.Always, first.Always) || d.By != "ada" || d.At.IsZero() {
			t.Errorf("with the rules %q: %v", rules, err)
		}
	}
}

// overtaken is a store in which another process drops a record first.
type overtaken struct{ *store.MemoryStore }

func (o overtaken) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	next, err := o.MemoryStore.Change(ctx, f, c...)
	if err == nil && c[0].Drop {
		return nil, fmt.Errorf("record %v: %w", c[0].Key, store.ErrNotFound)
	}
	return next, err
}

// Two processes may forget the same questions: what the other one was faster with does not
// count, and is not an error.
func TestForgetBesideAnother(t *testing.T) {
	in := approval.NewQuestions(overtaken{store.Memory()}, "p")
	for i := range 3 {
		withdraw(approval.OutcomeWithdrawn)(t, in, ask(t, in, question(fmt.Sprint("toolu_", i))))
	}
	if n, err := in.Forget(t.Context(), time.Now().Add(time.Hour), nil); n != 0 || err != nil {
		t.Errorf("forgot %d, %v", n, err)
	}
	for q, err := range in.List(t.Context(), approval.Filter{}) {
		t.Errorf("%s is left, %v", q.ID, err)
	}
}

// An outcome that was unknown can become known, whatever it is. No other outcome changes.
func TestSettleTheUnknown(t *testing.T) {
	outcomes := []approval.Outcome{approval.OutcomeRan, approval.OutcomeFailed, approval.OutcomeAllowed, approval.OutcomeUnknown}
	for _, first := range outcomes {
		for _, then := range outcomes {
			in := approval.NewQuestions(store.Memory(), "p")
			q := ask(t, in, question("toolu_1"))
			steps(decide(allow), release, settle(first))(t, in, q)
			err := in.Settle(t.Context(), q.ID, then, store.Fence{})
			want := first
			if first == approval.OutcomeUnknown {
				want = then
			}
			if _, refused := errors.AsType[*approval.StateError](err); refused != (want != then) || err != nil && !refused {
				t.Errorf("%s, then %s: %v", first, then, err)
			}
			if now, err := in.Get(t.Context(), q.ID); err != nil || now.Outcome != want || now.State != approval.StateSettled {
				t.Errorf("%s, then %s: %s %s, %v", first, then, now.State, now.Outcome, err)
			}
		}
	}
}

// What changes nothing writes nothing: neither a revision nor a word to those who watch.
func TestUnchangedIsNotWritten(t *testing.T) {
	ctx := t.Context()
	repeatable := question("toolu_1")
	repeatable.Repeatable = true
	for name, c := range map[string]struct {
		prepare step
		do      func(in *approval.Questions, id string) error
	}{
		"Release of a repeatable call": {steps(decide(allow), release), func(in *approval.Questions, id string) error {
			_, err := in.Release(ctx, id, store.Fence{})
			return err
		}},
		"Release of an open one": {steps(), func(in *approval.Questions, id string) error {
			_, err := in.Release(ctx, id, store.Fence{})
			return err
		}},
		"Settle again": {steps(decide(allow), release, settle(approval.OutcomeRan)), func(in *approval.Questions, id string) error {
			return in.Settle(ctx, id, approval.OutcomeRan, store.Fence{})
		}},
		"End of what is over": {steps(decide(allow), release, settle(approval.OutcomeRan)), func(in *approval.Questions, id string) error {
			return in.End(ctx, id, approval.OutcomeFailed, store.Fence{})
		}},
		"Withdraw again": {withdraw(approval.OutcomeWithdrawn), func(in *approval.Questions, id string) error {
			return in.Withdraw(ctx, id, approval.OutcomeDeleted, "", store.Fence{})
		}},
		"Defer of a decided one": {decide(allow), func(in *approval.Questions, id string) error { _, err := in.Defer(ctx, id, store.Fence{}); return err }},
		"Acknowledge of nothing": {decide(allow), func(in *approval.Questions, id string) error { _, err := in.Acknowledge(ctx, id, "ada"); return err }},
		"Ask again": {decide(allow), func(in *approval.Questions, id string) error {
			_, err := in.Ask(ctx, repeatable, store.Fence{})
			return err
		}},
	} {
		db := store.Memory()
		in := approval.NewQuestions(db, "p")
		q := ask(t, in, repeatable)
		c.prepare(t, in, q)
		k := store.RecordKey{Project: "p", Kind: approval.Kind, Name: q.ID}
		before, err := store.Get(ctx, db, k)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.do(in, q.ID); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if after, err := store.Get(ctx, db, k); err != nil || after.Revision != before.Revision {
			t.Errorf("%s: the record has the revision %d after %d, %v", name, after.Revision, before.Revision, err)
		}
	}
}

// withRule answers with a rule for all similar calls.
func withRule(rule string) func(approval.Question, string) approval.Answer {
	return func(q approval.Question, by string) approval.Answer {
		a := allow(q, by)
		a.Always = []string{rule}
		return a
	}
}

// The paths of a rule are relative to the directory in which the CLI works, as the person
// saw it with the question.
func TestRulesOfADirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hookUp(t, approval.Options{Patience: time.Minute})
		edit := func(id, dir, file string) string {
			text, err := json.Marshal(map[string]any{"tool_name": "Write", "tool_use_id": id, "cwd": dir, "tool_input": map[string]string{"file_path": dir + "/" + file, "content": "x"}})
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		here, elsewhere := h.opts.Cwd, t.TempDir()
		if out := h.before(edit("toolu_1", here, "src/a"), withRule("Edit(src/**)")); !strings.Contains(out, `"allow"`) {
			t.Fatal(out)
		}
		for id, c := range map[string]struct {
			dir, file string
			want      string
		}{
			"toolu_2": {here, "src/b", `"allow"`},
			"toolu_3": {here, "other/b", `"deny"`},
			"toolu_4": {elsewhere, "src/b", `"allow"`}, // it is src there, too
			"toolu_5": {elsewhere, "other/src/b", `"deny"`},
		} {
			if out := h.before(edit(id, c.dir, c.file), nil); !strings.Contains(out, c.want) {
				t.Errorf("%s %s: %s, want %s", id, c.file, out, c.want)
			}
		}
	})
}

// The person who made a rule is not told about decisions of the rule that were not used.
func TestUnusedDecisionOfARule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hookUp(t, approval.Options{Patience: time.Minute})
		if out := h.before(makeCall, withRule("Bash(make)")); !strings.Contains(out, `"allow"`) {
			t.Fatal(out)
		}
		releases := 0
		h.db.mu.Lock()
		h.db.at, h.db.happen = h.db.calls+5, func(context.Context, store.RecordKey) error { releases++; return errDown }
		h.db.mu.Unlock()
		if out := <-h.async(t.Context(), "toolu_2"); !strings.Contains(out, errDown.Error()) || releases != 1 {
			t.Fatalf("the decision was used: %s", out)
		}
		var second approval.Question
		for _, q := range h.all(approval.Filter{States: []approval.State{approval.StateDecided}}) {
			second = q
		}
		if second.ToolUseID != "toolu_2" || second.Answer.Rule != "Bash(make)" || second.Answer.By != "ada" {
			t.Fatalf("decided: %+v", second)
		}
		if err := h.inbox.Withdraw(t.Context(), second.ID, approval.OutcomeWithdrawn, "", h.fence); err != nil {
			t.Fatal(err)
		}
		if q := h.all(approval.Filter{Unused: "ada"}); len(q) != 0 {
			t.Errorf("ada is told about %+v", q)
		}
		if n, err := h.inbox.Forget(t.Context(), time.Now().Add(time.Hour), func(q *approval.Question) bool { return q.ID != second.ID }); n != 1 || err != nil {
			t.Errorf("forgot %d, %v", n, err)
		}
	})
}
