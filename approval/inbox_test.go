package approval_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// question returns a question about a call.
func question(call string) approval.Question {
	return approval.Question{Conversation: "user-42", Tool: "Bash", ToolUseID: call, Input: json.RawMessage(`{"command":"make"}`), Reason: "not in a rule"}
}

// ask asks and returns the question.
func ask(t *testing.T, in *approval.Questions, q approval.Question) approval.Question {
	t.Helper()
	q, err := in.Ask(t.Context(), q, store.Fence{})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func allow(q approval.Question, by string) approval.Answer {
	return approval.Answer{Decision: permission.Allow(), By: by, Digest: q.Digest}
}

func deny(q approval.Question, by string) approval.Answer {
	return approval.Answer{Decision: permission.Deny("not today"), By: by, Digest: q.Digest}
}

// stores runs a test on each store that keeps records in this module.
func stores(t *testing.T, test func(t *testing.T, r store.Records)) {
	t.Run("Memory", func(t *testing.T) { test(t, store.Memory()) })
	t.Run("Files", func(t *testing.T) { test(t, store.Files(t.TempDir())) })
}

func TestDecideOnce(t *testing.T) {
	stores(t, func(t *testing.T, r store.Records) {
		in := approval.NewQuestions(r, "p")
		q := ask(t, in, question("toolu_1"))
		if q.State != approval.StateOpen || q.ID == "" || q.Digest != approval.Digest(q.Input) || q.Asked.IsZero() {
			t.Fatalf("asked: %+v", q)
		}
		var wg sync.WaitGroup
		errs := make([]error, 8)
		for i := range errs {
			wg.Go(func() {
				// Every person has the inbox open in a process of their own.
				_, errs[i] = approval.NewQuestions(r, "p").Decide(t.Context(), q.ID, allow(q, fmt.Sprint("person ", i)))
			})
		}
		wg.Wait()
		got, err := in.Get(t.Context(), q.ID)
		if err != nil || got.State != approval.StateDecided {
			t.Fatalf("decided: %+v, %v", got, err)
		}
		for i, err := range errs {
			late, ok := errors.AsType[*approval.DecidedError](err)
			if won := got.Answer.By == fmt.Sprint("person ", i); won != (err == nil) || !won && (!ok || late.By != got.Answer.By || late.At.IsZero()) {
				t.Errorf("person %d: %v, and %s decided", i, err, got.Answer.By)
			}
		}
	})
}

func TestDecideAgain(t *testing.T) {
	in := approval.NewQuestions(store.Memory(), "p")
	q := ask(t, in, question("toolu_1"))
	for range 2 { // phones repeat a request whose answer was lost
		if _, err := in.Decide(t.Context(), q.ID, allow(q, "ada")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := in.Decide(t.Context(), q.ID, deny(q, "ada")); err == nil {
		t.Error("changed her mind after the decision")
	}
	if _, err := in.Release(t.Context(), q.ID, store.Fence{}); err != nil {
		t.Fatal(err)
	}
	if got, err := in.Decide(t.Context(), q.ID, allow(q, "ada")); err != nil || got.State != approval.StateReleased {
		t.Errorf("repeated after the release: %v, %v", got.State, err)
	}
}

func TestBadDecisions(t *testing.T) {
	in := approval.NewQuestions(store.Memory(), "p")
	asked := question("toolu_1")
	asked.Deciders = []string{"ada"}
	q := ask(t, in, asked)
	for name, c := range map[string]struct {
		id   string
		a    approval.Answer
		want error
	}{
		"unknown":      {"nosuch", allow(q, "ada"), store.ErrNotFound},
		"no id":        {"", allow(q, "ada"), store.ErrNotFound},
		"a path":       {"../" + q.ID, allow(q, "ada"), store.ErrNotFound},
		"upper case":   {strings.ToUpper(q.ID), allow(q, "ada"), store.ErrNotFound},
		"nobody":       {q.ID, allow(q, ""), approval.ErrInvalid},
		"no decision":  {q.ID, approval.Answer{By: "ada", Digest: q.Digest}, approval.ErrInvalid},
		"bad input":    {q.ID, approval.Answer{Decision: permission.AllowWith(7), By: "ada", Digest: q.Digest}, approval.ErrInvalid},
		"bad rule":     {q.ID, approval.Answer{Decision: permission.Allow(), By: "ada", Digest: q.Digest, Always: []string{"Bash("}}, approval.ErrInvalid},
		"stale page":   {q.ID, approval.Answer{Decision: permission.Allow(), By: "ada", Digest: approval.Digest([]byte(`{}`))}, approval.ErrChanged},
		"not her call": {q.ID, allow(q, "bob"), approval.ErrForbidden},
	} {
		if _, err := in.Decide(t.Context(), c.id, c.a); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if got, _ := in.Get(t.Context(), q.ID); got.State != approval.StateOpen {
		t.Errorf("the question is %s", got.State)
	}
}

func TestBadQuestions(t *testing.T) {
	in := approval.NewQuestions(store.Memory(), "p")
	for name, spoil := range map[string]func(*approval.Question){
		"conversation": func(q *approval.Question) { q.Conversation = "" },
		"tool":         func(q *approval.Question) { q.Tool = "" },
		"call":         func(q *approval.Question) { q.ToolUseID = "" },
		"no input":     func(q *approval.Question) { q.Input = nil },
		"input":        func(q *approval.Question) { q.Input = []byte(`{"a":`) },
	} {
		q := question("toolu_1")
		spoil(&q)
		if _, err := in.Ask(t.Context(), q, store.Fence{}); !errors.Is(err, approval.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	large := question("toolu_2")
	large.Input = []byte(`"` + strings.Repeat("x", store.MaxRecord) + `"`)
	if _, err := in.Ask(t.Context(), large, store.Fence{}); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("too large: %v", err)
	}
	diff := question("toolu_3")
	diff.Diff = strings.Repeat("+ line\n", store.MaxRecord)
	if got, err := in.Get(t.Context(), ask(t, in, diff).ID); err != nil || got.Diff != "" {
		t.Errorf("a question with a huge diff: %d bytes, %v", len(got.Diff), err)
	}
}

// Asked again, by another process, the question is found with its answer.
// The id of a question keeps conversation and call apart, wherever one ends and the other
// begins: else a decision about one call would let another one run.
func TestQuestionsDoNotMeet(t *testing.T) {
	in := approval.NewQuestions(store.Memory(), "p")
	seen := make(map[string]string)
	for _, of := range [][2]string{{"user-4", "2toolu_1"}, {"user-42", "toolu_1"}, {"user-42t", "oolu_1"}} {
		q := question(of[1])
		q.Conversation = of[0]
		q = ask(t, in, q)
		if q.Conversation != of[0] || seen[q.ID] != "" {
			t.Errorf("%q has the question of %q", of, seen[q.ID])
		}
		seen[q.ID] = of[0]
	}
}

func TestAskAgain(t *testing.T) {
	stores(t, func(t *testing.T, r store.Records) {
		q := ask(t, approval.NewQuestions(r, "p"), question("toolu_1"))
		if _, err := approval.NewQuestions(r, "p").Decide(t.Context(), q.ID, allow(q, "ada")); err != nil {
			t.Fatal(err)
		}
		again := ask(t, approval.NewQuestions(r, "p"), question("toolu_1"))
		if again.ID != q.ID || again.State != approval.StateDecided || again.Answer.By != "ada" || string(again.Input) != string(q.Input) {
			t.Errorf("asked again: %+v", again)
		}
		other := question("toolu_1")
		other.Input = []byte(`{"command":"rm -rf /"}`)
		if _, err := approval.NewQuestions(r, "p").Ask(t.Context(), other, store.Fence{}); !errors.Is(err, approval.ErrChanged) {
			t.Errorf("the same call with another input: %v", err)
		}
		elsewhere := question("toolu_1")
		elsewhere.Conversation = "user-43"
		if e := ask(t, approval.NewQuestions(r, "p"), elsewhere); e.ID == q.ID || e.State != approval.StateOpen {
			t.Errorf("the same id of a call in another conversation: %+v", e)
		}
	})
}

func TestRelease(t *testing.T) {
	const ended = "ran before"
	for name, c := range map[string]struct {
		prepare func(t *testing.T, in *approval.Questions, q approval.Question)
		want    permission.Behavior
		message string // part of the denial
		state   approval.State
		outcome approval.Outcome
	}{
		"open":                {func(*testing.T, *approval.Questions, approval.Question) {}, "", "", approval.StateOpen, ""},
		"allowed":             {decide(allow), permission.BehaviorAllow, "", approval.StateReleased, ""},
		"denied":              {decide(deny), permission.BehaviorDeny, "not today", approval.StateSettled, approval.OutcomeDenied},
		"denied, asked again": {steps(decide(deny), release), permission.BehaviorDeny, "not today", approval.StateSettled, approval.OutcomeDenied},
		"started before":      {steps(decide(allow), release), permission.BehaviorDeny, "not known whether it ran", approval.StateSettled, approval.OutcomeUnknown},
		"started before, asked twice": {
			steps(decide(allow), release, release), permission.BehaviorDeny, "not known whether it ran", approval.StateSettled, approval.OutcomeUnknown,
		},
		"ran":       {steps(decide(allow), release, settle(approval.OutcomeRan)), permission.BehaviorDeny, ended, approval.StateSettled, approval.OutcomeRan},
		"failed":    {steps(decide(allow), release, settle(approval.OutcomeFailed)), permission.BehaviorDeny, ended, approval.StateSettled, approval.OutcomeFailed},
		"withdrawn": {withdraw(approval.OutcomeWithdrawn), permission.BehaviorDeny, "withdrawn", approval.StateGone, approval.OutcomeWithdrawn},
		"decided, then withdrawn": {
			steps(decide(allow), withdraw(approval.OutcomeDeleted)), permission.BehaviorDeny, "deleted", approval.StateGone, approval.OutcomeDeleted,
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := approval.NewQuestions(store.Memory(), "p")
			q := ask(t, in, question("toolu_1"))
			c.prepare(t, in, q)
			v, err := in.Release(t.Context(), q.ID, store.Fence{})
			if err != nil || v.Decision.Behavior() != c.want || v.Pending() != (c.want == "") || !strings.Contains(v.Decision.Message(), c.message) {
				t.Errorf("verdict %q %q, %v", v.Decision.Behavior(), v.Decision.Message(), err)
			}
			if v.Question.State != c.state || v.Question.Outcome != c.outcome {
				t.Errorf("%s %s, want %s %s", v.Question.State, v.Question.Outcome, c.state, c.outcome)
			}
			if stored, err := in.Get(t.Context(), q.ID); err != nil || stored.State != c.state || stored.Outcome != c.outcome {
				t.Errorf("stored %s %s, %v", stored.State, stored.Outcome, err)
			}
		})
	}
}

type step = func(t *testing.T, in *approval.Questions, q approval.Question)

func steps(all ...step) step {
	return func(t *testing.T, in *approval.Questions, q approval.Question) {
		for _, s := range all {
			s(t, in, q)
		}
	}
}

func decide(answer func(approval.Question, string) approval.Answer) step {
	return func(t *testing.T, in *approval.Questions, q approval.Question) {
		t.Helper()
		if _, err := in.Decide(t.Context(), q.ID, answer(q, "ada")); err != nil {
			t.Fatal(err)
		}
	}
}

func release(t *testing.T, in *approval.Questions, q approval.Question) {
	t.Helper()
	if _, err := in.Release(t.Context(), q.ID, store.Fence{}); err != nil {
		t.Fatal(err)
	}
}

func settle(o approval.Outcome) step {
	return func(t *testing.T, in *approval.Questions, q approval.Question) {
		t.Helper()
		if err := in.Settle(t.Context(), q.ID, o, store.Fence{}); err != nil {
			t.Fatal(err)
		}
	}
}

func withdraw(o approval.Outcome) step {
	return func(t *testing.T, in *approval.Questions, q approval.Question) {
		t.Helper()
		if err := in.Withdraw(t.Context(), q.ID, o, "", store.Fence{}); err != nil {
			t.Fatal(err)
		}
	}
}

// A tool that may run again is allowed again, with the input that was decided.
func TestReleaseRepeatable(t *testing.T) {
	in := approval.NewQuestions(store.Memory(), "p")
	asked := question("toolu_1")
	asked.Repeatable = true
	q := ask(t, in, asked)
	a := approval.Answer{Decision: permission.AllowWith(map[string]string{"command": "make -n"}), By: "ada", Digest: q.Digest}
	if _, err := in.Decide(t.Context(), q.ID, a); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		v, err := in.Release(t.Context(), q.ID, store.Fence{})
		input, changed := v.Decision.Input()
		if err != nil || !changed || fmt.Sprintf("%s", input) != `{"command":"make -n"}` {
			t.Errorf("%s %v, %v", input, changed, err)
		}
	}
}

// If two processes learn the decision at once, one runs the tool.
func TestReleaseOnce(t *testing.T) {
	stores(t, func(t *testing.T, r store.Records) {
		in := approval.NewQuestions(r, "p")
		q := ask(t, in, question("toolu_1"))
		decide(allow)(t, in, q)
		var wg sync.WaitGroup
		allowed := make(chan string, 8)
		for range cap(allowed) {
			wg.Go(func() {
				v, err := approval.NewQuestions(r, "p").Release(t.Context(), q.ID, store.Fence{})
				if err != nil {
					t.Error(err)
				}
				if v.Decision.Behavior() == permission.BehaviorAllow {
					allowed <- q.ID
				}
			})
		}
		wg.Wait()
		if len(allowed) != 1 {
			t.Errorf("%d processes may run the tool", len(allowed))
		}
	})
}

// An owner whose lease is lost releases nothing.
func TestReleaseIsFenced(t *testing.T) {
	stores(t, func(t *testing.T, r store.Records) {
		leases := r.(store.Leases)
		old, err := leases.Acquire(t.Context(), "p", "user-42", "first", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		in := approval.NewQuestions(r, "p")
		q, err := in.Ask(t.Context(), question("toolu_1"), old.Fence)
		if err != nil {
			t.Fatal(err)
		}
		decide(allow)(t, in, q)
		if err := leases.Release(t.Context(), old); err != nil {
			t.Fatal(err)
		}
		if _, err := leases.Acquire(t.Context(), "p", "user-42", "second", time.Minute); err != nil {
			t.Fatal(err)
		}
		v, err := in.Release(t.Context(), q.ID, old.Fence)
		if !errors.Is(err, store.ErrLeaseLost) || v.Decision.Behavior() != "" {
			t.Errorf("released by a lost owner: %v, %v", v.Decision.Behavior(), err)
		}
		if _, err := in.Ask(t.Context(), question("toolu_2"), old.Fence); !errors.Is(err, store.ErrLeaseLost) {
			t.Errorf("asked by a lost owner: %v", err)
		}
		if got, _ := in.Get(t.Context(), q.ID); got.State != approval.StateDecided {
			t.Errorf("the question is %s", got.State)
		}
	})
}

func TestSettle(t *testing.T) {
	in := approval.NewQuestions(store.Memory(), "p")
	q := ask(t, in, question("toolu_1"))
	if _, ok := errors.AsType[*approval.StateError](in.Settle(t.Context(), q.ID, approval.OutcomeRan, store.Fence{})); !ok {
		t.Error("settled an open question")
	}
	decide(allow)(t, in, q)
	release(t, in, q)
	if _, ok := errors.AsType[*approval.StateError](in.Withdraw(t.Context(), q.ID, approval.OutcomeWithdrawn, "", store.Fence{})); !ok {
		t.Error("withdrew a call that may be running")
	}
	if err := in.Settle(t.Context(), q.ID, approval.OutcomeDenied, store.Fence{}); !errors.Is(err, approval.ErrInvalid) {
		t.Errorf("settled as denied: %v", err)
	}
	settle(approval.OutcomeUnknown)(t, in, q)
	settle(approval.OutcomeRan)(t, in, q) // its result was found
	settle(approval.OutcomeRan)(t, in, q)
	if _, ok := errors.AsType[*approval.StateError](in.Settle(t.Context(), q.ID, approval.OutcomeFailed, store.Fence{})); !ok {
		t.Error("a call that ran has failed afterwards")
	}
	if err := in.Withdraw(t.Context(), q.ID, approval.OutcomeWithdrawn, "", store.Fence{}); err != nil {
		t.Errorf("withdrew what is over: %v", err)
	}
	if got, _ := in.Get(t.Context(), q.ID); got.Outcome != approval.OutcomeRan || got.Ended.IsZero() {
		t.Errorf("%s at %v", got.Outcome, got.Ended)
	}
}

func TestSuperseded(t *testing.T) {
	in := approval.NewQuestions(store.Memory(), "p")
	q, next := ask(t, in, question("toolu_1")), ask(t, in, question("toolu_2"))
	if err := in.Withdraw(t.Context(), q.ID, approval.OutcomeSuperseded, next.ID, store.Fence{}); err != nil {
		t.Fatal(err)
	}
	_, err := in.Decide(t.Context(), q.ID, allow(q, "ada"))
	gone, ok := errors.AsType[*approval.GoneError](err)
	if !ok || !errors.Is(err, approval.ErrGone) || gone.Successor != next.ID || gone.Outcome != approval.OutcomeSuperseded {
		t.Errorf("%v", err)
	}
}

func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := approval.NewQuestions(store.Memory(), "p")
		asked := question("toolu_1")
		asked.Lifetime = time.Hour
		q := ask(t, in, asked)
		<-time.After(time.Hour - time.Nanosecond)
		if got, err := in.Get(t.Context(), q.ID); err != nil || got.State != approval.StateOpen {
			t.Errorf("before the deadline: %s, %v", got.State, err)
		}
		<-time.After(time.Nanosecond)
		_, err := in.Decide(t.Context(), q.ID, allow(q, "ada"))
		if gone, ok := errors.AsType[*approval.GoneError](err); !ok || gone.Outcome != approval.OutcomeExpired {
			t.Errorf("at the deadline: %v", err)
		}
		v, err := in.Release(t.Context(), q.ID, store.Fence{})
		if err != nil || !strings.Contains(v.Decision.Message(), "not refused") {
			t.Errorf("released after the deadline: %q, %v", v.Decision.Message(), err)
		}
		// A decision in time holds, however late the call learns about it.
		asked = question("toolu_2")
		asked.Lifetime = time.Hour
		q = ask(t, in, asked)
		decide(allow)(t, in, q)
		<-time.After(24 * time.Hour)
		if v, err := in.Release(t.Context(), q.ID, store.Fence{}); err != nil || v.Decision.Behavior() != permission.BehaviorAllow {
			t.Errorf("decided in time: %v, %v", v.Decision.Behavior(), err)
		}
	})
}

// remote is a store whose clock is not that of this machine.
type remote struct {
	*store.MemoryStore
	ahead time.Duration
}

func (r remote) Now(ctx context.Context) (time.Time, error) {
	now, err := r.MemoryStore.Now(ctx)
	return now.Add(r.ahead), err
}

// The lifetime of a question is counted by the clock of the store, which all machines
// share, whatever that of this machine shows.
func TestLifetimeByTheStoresClock(t *testing.T) {
	for _, ahead := range []time.Duration{-3 * time.Hour, 3 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			in := approval.NewQuestions(remote{store.Memory(), ahead}, "p")
			asked := question("toolu_1")
			asked.Lifetime = time.Hour
			q := ask(t, in, asked)
			if want := time.Now().Add(ahead + time.Hour); !q.Deadline.Equal(want) {
				t.Errorf("a store that is %v ahead: the deadline is %v, want %v", ahead, q.Deadline, want)
			}
			<-time.After(time.Hour - time.Nanosecond)
			if got, err := in.Get(t.Context(), q.ID); err != nil || got.State != approval.StateOpen {
				t.Errorf("before the deadline: %s, %v", got.State, err)
			}
			<-time.After(time.Nanosecond)
			_, err := in.Decide(t.Context(), q.ID, allow(q, "ada"))
			if gone, ok := errors.AsType[*approval.GoneError](err); !ok || gone.Outcome != approval.OutcomeExpired {
				t.Errorf("at the deadline: %v", err)
			}
		})
	}
}

func TestListAndForget(t *testing.T) {
	stores(t, func(t *testing.T, r store.Records) {
		in := approval.NewQuestions(r, "p")
		open, done := ask(t, in, question("toolu_1")), ask(t, in, question("toolu_2"))
		other := question("toolu_3")
		other.Conversation, other.Deciders = "user-43", []string{"ada"}
		ask(t, in, other)
		ask(t, approval.NewQuestions(r, "another"), question("toolu_9"))
		steps(decide(deny), release)(t, in, done)
		for _, c := range []struct {
			f    approval.Filter
			want string
		}{
			{approval.Filter{}, "toolu_1 toolu_2 toolu_3"},
			{approval.Filter{Conversation: "user-42"}, "toolu_1 toolu_2"},
			{approval.Filter{States: approval.Waiting()}, "toolu_1 toolu_3"},
			{approval.Filter{States: []approval.State{approval.StateSettled}}, "toolu_2"},
			{approval.Filter{Decider: "bob"}, "toolu_1 toolu_2"},
			{approval.Filter{Decider: "ada", States: approval.Waiting()}, "toolu_1 toolu_3"},
		} {
			var got []string
			for q, err := range in.List(t.Context(), c.f) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, q.ToolUseID)
			}
			slices.Sort(got)
			if strings.Join(got, " ") != c.want {
				t.Errorf("%+v: %v, want %s", c.f, got, c.want)
			}
		}
		now, err := r.Now(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n, err := in.Forget(t.Context(), now.Add(-time.Hour), nil); n != 0 || err != nil {
			t.Errorf("forgot %d of the last hour, %v", n, err)
		}
		if n, err := in.Forget(t.Context(), now.Add(time.Hour), nil); n != 1 || err != nil {
			t.Errorf("forgot %d, %v", n, err)
		}
		if _, err := in.Get(t.Context(), done.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("forgotten: %v", err)
		}
		if _, err := in.Get(t.Context(), open.ID); err != nil {
			t.Errorf("an open question was forgotten: %v", err)
		}
	})
}

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := store.Memory()
		in, elsewhere := approval.NewQuestions(r, "p"), approval.NewQuestions(r, "p")
		first := ask(t, in, question("toolu_1"))
		ctx, cancel := context.WithCancelCause(t.Context())
		seen := make(chan string, 100)
		var end error
		go func() {
			defer close(seen)
			for q, err := range in.Watch(ctx, approval.Filter{States: []approval.State{approval.StateOpen}}) {
				if err != nil {
					end = err
					return
				}
				seen <- fmt.Sprint(q.ToolUseID, " ", q.State)
			}
		}()
		expect := func(want string) {
			t.Helper()
			if got := <-seen; got != want {
				t.Errorf("saw %q, want %q", got, want)
			}
		}
		expect("toolu_1 open")
		begin := time.Now()
		ask(t, in, question("toolu_2"))
		expect("toolu_2 open")
		if time.Since(begin) != 0 {
			t.Errorf("a change made here was seen after %v", time.Since(begin))
		}
		decide(allow)(t, elsewhere, first) // another process: seen by the next look
		expect("toolu_1 decided")
		if d := time.Since(begin); d > time.Second {
			t.Errorf("a change made elsewhere was seen after %v", d)
		}
		release(t, in, first) // no longer of interest
		asked := question("toolu_3")
		asked.Lifetime = time.Minute
		ask(t, elsewhere, asked)
		expect("toolu_3 open")
		expect("toolu_3 gone") // expired while watched
		stop := errors.New("enough")
		cancel(stop)
		synctest.Wait()
		if rest, ok := <-seen; ok || !errors.Is(end, stop) {
			t.Errorf("after the end: %q, %v", rest, end)
		}
	})
}

// A watcher learns in time that a question has expired, even if it did not show the question
// before, and however rarely it looks.
func TestWatchForTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := approval.NewQuestions(store.Memory(), "p")
		in.PollEvery(func() time.Duration { return time.Hour })
		asked := question("toolu_1")
		asked.Lifetime = time.Minute
		ask(t, in, asked)
		begin := time.Now()
		for q, err := range in.Watch(t.Context(), approval.Filter{States: []approval.State{approval.StateGone}}) {
			if took := time.Since(begin); err != nil || q.Outcome != approval.OutcomeExpired || took != time.Minute {
				t.Errorf("%s after %v, %v", q.Outcome, took, err)
			}
			return
		}
		t.Error("the watch has ended")
	})
}

// A watcher learns once that a question has expired, although nobody has written that down
// before it looks.
func TestWatchTellsTheEndOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := approval.NewQuestions(store.Memory(), "p")
		asked := question("toolu_1")
		asked.Lifetime = time.Minute
		ask(t, in, asked)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		var seen []approval.State
		for q, err := range in.Watch(ctx, approval.Filter{}) {
			if err != nil {
				break
			}
			seen = append(seen, q.State)
		}
		if want := []approval.State{approval.StateOpen, approval.StateGone}; !slices.Equal(seen, want) {
			t.Errorf("saw %v, want %v", seen, want)
		}
	})
}

// unread is a store whose scans spoil the values of records that they have already
// yielded: reading them again finds them damaged.
type unread struct {
	*store.MemoryStore
	yielded map[store.RecordKey]int64 // their revisions
}

func (u *unread) Scan(ctx context.Context, in store.Folder, after string) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		for r, err := range u.MemoryStore.Scan(ctx, in, after) {
			if u.yielded[r.Key] == r.Revision {
				r.Value = []byte("spoiled")
			}
			u.yielded[r.Key] = r.Revision
			if !yield(r, err) {
				return
			}
		}
	}
}

// A watcher decodes a question once for each change of it, however often it looks.
func TestWatchReadsNothingTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		in, elsewhere := approval.NewQuestions(&unread{db, make(map[store.RecordKey]int64)}, "p"), approval.NewQuestions(db, "p")
		first := ask(t, elsewhere, question("toolu_1"))
		ask(t, elsewhere, question("toolu_2"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var seen []string
		var end error
		go func() {
			for q, err := range in.Watch(ctx, approval.Filter{States: []approval.State{approval.StateOpen}}) {
				if err != nil {
					end = err
					return
				}
				seen = append(seen, fmt.Sprint(q.ToolUseID, " ", q.State))
			}
		}()
		<-time.After(10 * time.Second)
		decide(allow)(t, elsewhere, first)
		<-time.After(10 * time.Second)
		ask(t, elsewhere, question("toolu_3"))
		<-ctx.Done()
		synctest.Wait()
		slices.Sort(seen[:2])
		if want := []string{"toolu_1 open", "toolu_2 open", "toolu_1 decided", "toolu_3 open"}; !slices.Equal(seen, want) || !errors.Is(end, context.DeadlineExceeded) {
			t.Errorf("saw %q, want %q; ended with %v", seen, want, end)
		}
	})
}

// A damaged record is named, and does not pass for an answer.
func TestDamagedRecord(t *testing.T) {
	r := store.Memory()
	in := approval.NewQuestions(r, "p")
	q := ask(t, in, question("toolu_1"))
	key := store.RecordKey{Project: "p", Kind: "question", Name: q.ID}
	rec, err := store.Get(t.Context(), r, key)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Put(t.Context(), r, key, []byte(`{"state":`), rec.Revision, store.Fence{}); err != nil {
		t.Fatal(err)
	}
	if v, err := in.Release(t.Context(), q.ID, store.Fence{}); !errors.Is(err, store.ErrDamaged) || v.Decision.Behavior() != "" {
		t.Errorf("%v, %v", v.Decision.Behavior(), err)
	}
}
