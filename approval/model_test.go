package approval_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// model is an inbox as a person would describe it: questions in a map, and every step
// spelled out. Random steps are taken in it and in a real inbox, which must agree on each
// result and on everything that is stored.
type model struct {
	now       time.Time
	questions map[string]*approval.Question // by conversation and call
	rules     map[string][]string           // by conversation
}

// ids of the calls and conversations that the steps are about: few, so that steps meet.
var (
	modelCalls  = []string{"toolu_1", "toolu_2", "toolu_3"}
	modelOwners = []string{"ada", "bob"}
)

// kindOf names an error by what a caller can see.
func kindOf(err error) string {
	if gone, ok := errors.AsType[*approval.GoneError](err); ok {
		return fmt.Sprint("gone ", gone.Outcome, gone.Successor, errors.Is(err, approval.ErrGone))
	}
	if decided, ok := errors.AsType[*approval.DecidedError](err); ok {
		return fmt.Sprint("decided by ", decided.By, decided.At.UnixNano(), decided.Answer.By)
	}
	if state, ok := errors.AsType[*approval.StateError](err); ok {
		return fmt.Sprint(state.State, " and not ", state.Want)
	}
	for name, known := range map[string]error{
		"not found": store.ErrNotFound, "lease lost": store.ErrLeaseLost, "changed": approval.ErrChanged,
		"forbidden": approval.ErrForbidden, "invalid": approval.ErrInvalid,
	} {
		if errors.Is(err, known) {
			return name
		}
	}
	return fmt.Sprint(err)
}

// pass advances the clock: questions expire.
func (m *model) pass(d time.Duration) {
	m.now = m.now.Add(d)
	for _, q := range m.questions {
		if q.State == approval.StateOpen && !q.Deadline.IsZero() && !m.now.Before(q.Deadline) {
			q.State, q.Outcome, q.Ended = approval.StateGone, approval.OutcomeExpired, m.now
		}
	}
}

// decide models Decide.
func (m *model) decide(q *approval.Question, a approval.Answer) string {
	switch {
	case a.By == "" || a.Decision.Behavior() == "":
		return "invalid"
	case q == nil:
		return "not found"
	case len(q.Deciders) > 0 && !slices.Contains(q.Deciders, a.By):
		return "forbidden"
	case a.Digest != q.Digest:
		return "changed"
	case q.State == approval.StateGone:
		return fmt.Sprint("gone ", q.Outcome, q.Successor, true)
	case q.Answer != nil && q.Answer.By == a.By && q.Answer.Decision.Behavior() == a.Decision.Behavior() && q.Answer.Decision.Message() == a.Decision.Message() && slices.Equal(q.Answer.Always, a.Always):
		return ""
	case q.Answer != nil:
		return fmt.Sprint("decided by ", q.Answer.By, q.Answer.At.UnixNano(), q.Answer.By)
	case q.State != approval.StateOpen:
		return fmt.Sprint(q.State, " and not ", approval.StateDecided)
	}
	a.At = m.now
	q.State, q.Answer = approval.StateDecided, &a
	return ""
}

// fenced takes a step that changes something, unless its fence is stale.
func fenced(stale bool, change func()) string {
	if stale {
		return "lease lost"
	}
	change()
	return ""
}

// release models Release: the verdict begins with the behavior.
func (m *model) release(q *approval.Question, stale bool) (verdict, failed string) {
	if q == nil {
		return "", "not found"
	}
	switch q.State {
	case approval.StateOpen:
		return "", ""
	case approval.StateDecided:
		failed = fenced(stale, func() {
			for _, rule := range q.Answer.Always {
				line := fmt.Sprint(rule, " ", q.Answer.Decision.Behavior(), " ")
				if !slices.ContainsFunc(m.rules[q.Conversation], func(r string) bool { return strings.HasPrefix(r, line) }) {
					m.rules[q.Conversation] = append(m.rules[q.Conversation], fmt.Sprint(line, q.Answer.By, " ", q.Answer.At.UnixNano(), " ", q.ID))
				}
			}
			if verdict = "allow"; q.Answer.Decision.Behavior() == permission.BehaviorAllow {
				q.State = approval.StateReleased
				return
			}
			verdict = "deny: " + q.Answer.Decision.Message()
			q.State, q.Outcome, q.Ended = approval.StateSettled, approval.OutcomeDenied, m.now
		})
		return verdict, failed
	case approval.StateReleased:
		if q.Repeatable {
			return "allow", ""
		}
		failed = fenced(stale, func() {
			q.State, q.Outcome, q.Ended = approval.StateSettled, approval.OutcomeUnknown, m.now
			verdict = "deny: not known whether it ran"
		})
		return verdict, failed
	}
	switch q.Outcome {
	case approval.OutcomeDenied:
		if q.Answer != nil && q.Answer.Decision.Behavior() == permission.BehaviorDeny {
			return "deny: " + q.Answer.Decision.Message(), ""
		}
		return "deny: denied by a hook", ""
	case approval.OutcomeUnknown:
		return "deny: not known whether it ran", ""
	case approval.OutcomeExpired:
		return "deny: was not refused", ""
	case approval.OutcomeRan, approval.OutcomeFailed, approval.OutcomeAllowed:
		return "deny: ran before", ""
	}
	return "deny: " + string(q.Outcome), ""
}

// settle models Settle.
func (m *model) settle(q *approval.Question, o approval.Outcome, stale bool) string {
	switch {
	case q == nil:
		return "not found"
	case q.State == approval.StateSettled && q.Outcome == o:
		return ""
	case q.State != approval.StateReleased && (q.State != approval.StateSettled || q.Outcome != approval.OutcomeUnknown):
		return fmt.Sprint(q.State, " and not ", approval.StateSettled)
	}
	return fenced(stale, func() { q.State, q.Outcome, q.Ended = approval.StateSettled, o, m.now })
}

// withdraw models Withdraw.
func (m *model) withdraw(q *approval.Question, o approval.Outcome, successor string, stale bool) string {
	switch {
	case q == nil:
		return "not found"
	case q.State == approval.StateSettled || q.State == approval.StateGone:
		return ""
	case q.State == approval.StateReleased:
		return fmt.Sprint(q.State, " and not ", approval.StateGone)
	}
	why := "The agent stopped asking before the call could learn the decision."
	if o == approval.OutcomeSuperseded {
		why = "Another question has replaced this one."
	}
	return fenced(stale, func() { m.gone(q, o, why); q.Successor = successor })
}

func (m *model) gone(q *approval.Question, o approval.Outcome, why string) {
	if q.State == approval.StateDecided {
		q.Unused = why
	}
	q.State, q.Outcome, q.Ended = approval.StateGone, o, m.now
}

// end models End.
func (m *model) end(q *approval.Question, o approval.Outcome, stale bool) string {
	switch {
	case q == nil:
		return "not found"
	case q.State == approval.StateSettled || q.State == approval.StateGone:
		return ""
	}
	return fenced(stale, func() {
		if q.State == approval.StateReleased {
			q.State, q.Outcome, q.Ended = approval.StateSettled, o, m.now
			return
		}
		why := "The call ended before it could learn the decision."
		if o == approval.OutcomeUnknown {
			why = "The call was lost before it could learn the decision. The agent asks again if it still needs it."
		}
		m.gone(q, approval.OutcomeWithdrawn, why)
	})
}

// erase models Erase.
func (m *model) erase(conversation string, stale bool) string {
	touched := len(m.rules[conversation]) > 0
	for _, q := range m.questions {
		touched = touched || q.Conversation == conversation && string(q.Input) != "null"
	}
	if !touched {
		return ""
	}
	return fenced(stale, func() {
		delete(m.rules, conversation)
		for _, q := range m.questions {
			if q.Conversation != conversation || string(q.Input) == "null" {
				continue
			}
			if q.State != approval.StateSettled && q.State != approval.StateGone {
				q.State, q.Outcome, q.Ended = approval.StateGone, approval.OutcomeDeleted, m.now
			}
			*q = approval.Question{
				ID: q.ID, Conversation: q.Conversation, Tool: q.Tool, ToolUseID: q.ToolUseID, Digest: q.Digest, Input: json.RawMessage("null"),
				Deciders: q.Deciders, State: q.State, Outcome: q.Outcome, Asked: q.Asked, Ended: q.Ended,
			}
		}
	})
}

// forget models Forget, and returns how many questions it removes.
func (m *model) forget(before time.Time, needed string) (n int) {
	maps.DeleteFunc(m.questions, func(_ string, q *approval.Question) bool {
		over := q.State == approval.StateSettled || q.State == approval.StateGone
		unseen := q.Unused != "" && q.UnusedSeen.IsZero() && q.Ended.After(before.AddDate(0, 0, -30))
		if !over || !q.Ended.Before(before) || unseen || q.ToolUseID == needed {
			return false
		}
		n++
		return true
	})
	return n
}

// text is a question in full.
func text(q *approval.Question) string {
	c := *q
	if c.Answer != nil {
		a := *c.Answer
		c.Answer = nil
		d, err := a.Decision.MarshalJSON()
		at := a.At.UnixNano()
		a.At, a.Decision = time.Time{}, permission.Decision{}
		return fmt.Sprintf("%s by %+v at %d %s %v", text(&c), a, at, d, err)
	}
	stamps := []int64{c.Asked.UnixNano(), c.Deadline.UnixNano(), c.Ended.UnixNano(), c.UnusedSeen.UnixNano()}
	c.Asked, c.Deadline, c.Ended, c.UnusedSeen, c.Lifetime = time.Time{}, time.Time{}, time.Time{}, time.Time{}, 0
	data, err := json.Marshal(&c)
	return fmt.Sprintf("%s %v %v", data, stamps, err)
}

// Whatever steps are taken in whatever order, an inbox does what its model does.
func TestInboxModel(t *testing.T) {
	for seed := range uint64(8) {
		synctest.Test(t, func(t *testing.T) { modelRun(t, seed) })
	}
}

func modelRun(t *testing.T, seed uint64) {
	ctx, random := t.Context(), rand.New(rand.NewPCG(seed, 1))
	db := store.Memory()
	in := approval.NewQuestions(db, "p")
	old, err := db.Acquire(ctx, "p", "lease", "first", time.Hour)
	if err == nil {
		err = db.Release(ctx, old)
	}
	lease, errFresh := db.Acquire(ctx, "p", "lease", "second", 24*time.Hour)
	if err := errors.Join(err, errFresh); err != nil {
		t.Fatal(err)
	}
	m := &model{now: time.Now(), questions: make(map[string]*approval.Question), rules: make(map[string][]string)}
	one := func(of ...string) string { return of[random.IntN(len(of))] }
	var log []string
	agree := func(what, got, want string) {
		t.Helper()
		if log = append(log, what+": "+want); got != want {
			t.Fatalf("seed %d, %s: %q, want %q, after\n%s", seed, what, got, want, strings.Join(log[max(0, len(log)-12):], "\n"))
		}
	}
	failed := func(err error) string {
		if err == nil {
			return ""
		}
		return kindOf(err)
	}
	for range 250 {
		if err := db.Renew(ctx, lease); err != nil {
			t.Fatal(err)
		}
		owner, call := one(modelOwners...), one(modelCalls...)
		q := m.questions[owner+call]
		id := strings.Repeat("0", 32)
		if q != nil {
			id = q.ID
		}
		f, stale := store.Fence{}, false
		switch random.IntN(4) {
		case 0:
			f, stale = old.Fence, true
		case 1:
			f = lease.Fence
		}
		switch what := one("ask", "ask", "decide", "decide", "decide", "release", "release", "settle", "withdraw", "end", "defer", "erase", "forget", "acknowledge", "revoke", "pass"); what {
		case "ask":
			asked := question(call)
			asked.Conversation, asked.Repeatable, asked.Prompt, asked.Cwd = owner, call == "toolu_2", "prompt", "/repo"
			if random.IntN(8) == 0 {
				asked.Input = json.RawMessage(`{"command":"make all"}`)
			}
			if random.IntN(3) == 0 {
				asked.Deciders = []string{"ada", "cy"}
			}
			asked.Lifetime = time.Duration(random.IntN(3)) * time.Hour
			// Members that the inbox sets are not taken from a caller.
			asked.Answer, asked.Outcome, asked.Ended, asked.State = &approval.Answer{By: "eve"}, approval.OutcomeRan, m.now, approval.StateReleased
			asked.Unused, asked.UnusedSeen, asked.Successor, asked.Digest, asked.Asked, asked.Deadline = "eve", m.now, "eve", "eve", m.now.Add(1), m.now
			got, err := in.Ask(ctx, asked, f)
			want := ""
			switch {
			case stale:
				want = "lease lost"
			case q != nil && q.Digest != approval.Digest(asked.Input):
				want = "changed"
			case q == nil:
				fresh := asked
				fresh.ID, fresh.Digest, fresh.State, fresh.Asked, fresh.Deadline = got.ID, approval.Digest(asked.Input), approval.StateOpen, m.now, time.Time{}
				if asked.Lifetime > 0 {
					fresh.Deadline = m.now.Add(asked.Lifetime)
				}
				fresh.Answer, fresh.Outcome, fresh.Ended, fresh.Unused, fresh.UnusedSeen, fresh.Successor = nil, "", time.Time{}, "", time.Time{}, ""
				m.questions[owner+call] = &fresh
			}
			agree(what, failed(err), want)
			if q := m.questions[owner+call]; err == nil && text(&got) != text(q) {
				t.Fatalf("seed %d: asked %s, want %s", seed, text(&got), text(q))
			}
		case "decide":
			a := approval.Answer{By: one("ada", "bob", "cy", ""), Rule: "a rule", At: m.now.Add(time.Hour)}
			a.Decision = []permission.Decision{permission.Allow(), permission.Allow(), permission.Deny("not today"), {}}[random.IntN(4)]
			if q != nil && random.IntN(8) > 0 {
				a.Digest = q.Digest
			}
			if random.IntN(3) == 0 {
				a.Always = []string{"Bash(" + one("make", "make test", "go vet") + ")"}
			}
			clean := a
			clean.Rule = ""
			got, err := in.Decide(ctx, id, a)
			agree(what+" "+call, failed(err), m.decide(q, clean))
			if err == nil && text(&got) != text(q) {
				t.Fatalf("seed %d: decided %s, want %s", seed, text(&got), text(q))
			}
		case "release":
			v, err := in.Release(ctx, id, f)
			verdict, want := m.release(q, stale)
			agree(what+" "+call, failed(err), want)
			behavior, message, _ := strings.Cut(verdict, ": ")
			if string(v.Decision.Behavior()) != behavior || !strings.Contains(v.Decision.Message(), message) {
				t.Fatalf("seed %d: the verdict is %s %q, want %s", seed, v.Decision.Behavior(), v.Decision.Message(), verdict)
			}
		case "settle":
			o := approval.Outcome(one("ran", "failed", "unknown", "allowed"))
			agree(fmt.Sprint(what, " ", call, " ", o), failed(in.Settle(ctx, id, o, f)), m.settle(q, o, stale))
		case "withdraw":
			o, next := approval.Outcome(one("withdrawn", "superseded", "deleted")), one("", "next")
			agree(fmt.Sprint(what, " ", call, " ", o), failed(in.Withdraw(ctx, id, o, next, f)), m.withdraw(q, o, next, stale))
		case "end":
			o := approval.Outcome(one("ran", "failed", "unknown", "denied"))
			agree(fmt.Sprint(what, " ", call, " ", o), failed(in.End(ctx, id, o, f)), m.end(q, o, stale))
		case "defer":
			want := ""
			switch _, err := in.Defer(ctx, id, f); {
			case q == nil:
				agree(what, failed(err), "not found")
			default:
				if q.State == approval.StateOpen && !q.Deferred {
					want = fenced(stale, func() { q.Deferred = true })
				}
				agree(what+" "+call, failed(err), want)
			}
		case "erase":
			if random.IntN(4) == 0 {
				agree(what+" "+owner, failed(in.Erase(ctx, owner, f)), m.erase(owner, stale))
			}
		case "forget":
			before := m.now.Add(-time.Duration(random.IntN(3))*time.Hour).AddDate(0, 0, random.IntN(2)*30)
			n, err := in.Forget(ctx, before, func(q *approval.Question) bool { return q.ToolUseID == call })
			agree(what, fmt.Sprint(n, err), fmt.Sprint(m.forget(before, call), nil))
		case "acknowledge":
			by := one("ada", "bob", "cy")
			_, err := in.Acknowledge(ctx, id, by)
			want := ""
			if q == nil {
				want = "not found"
			} else if q.Unused != "" && q.UnusedSeen.IsZero() && q.Answer.By == by {
				q.UnusedSeen = m.now
			}
			agree(what+" "+by, failed(err), want)
		case "revoke":
			rule := "Bash(" + one("make", "make test", "go vet") + ")"
			agree(what+" "+rule, failed(in.Revoke(ctx, owner, rule)), "")
			m.rules[owner] = slices.DeleteFunc(m.rules[owner], func(r string) bool { return strings.HasPrefix(r, rule+" ") })
		case "pass":
			d := []time.Duration{time.Nanosecond, time.Minute, time.Hour, 3 * time.Hour}[random.IntN(4)]
			<-time.After(d)
			m.pass(d)
		}
		compareInbox(t, seed, in, m, log)
	}
}

// compareInbox compares everything stored with the model.
func compareInbox(t *testing.T, seed uint64, in *approval.Questions, m *model, log []string) {
	t.Helper()
	var got, want []string
	for q, err := range in.List(t.Context(), approval.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, text(&q))
	}
	for _, q := range m.questions {
		want = append(want, text(q))
		if one, err := in.Get(t.Context(), q.ID); err != nil || text(&one) != text(q) {
			t.Fatalf("seed %d: got %s, %v, want %s", seed, text(&one), err, text(q))
		}
	}
	for _, owner := range modelOwners {
		rules, err := in.Rules(t.Context(), owner)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rules {
			got = append(got, fmt.Sprint(owner, " ", r.Rule, " ", r.Behavior, " ", r.By, " ", r.At.UnixNano(), " ", r.Question))
		}
		for _, r := range m.rules[owner] {
			want = append(want, owner+" "+r)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Fatalf("seed %d: stored\n%s\nwant\n%s\nafter\n%s", seed, strings.Join(got, "\n"), strings.Join(want, "\n"), strings.Join(log[max(0, len(log)-12):], "\n"))
	}
}
