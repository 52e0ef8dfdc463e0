package approval_test

import (
	"context"
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
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// probe is a store that triggers an event at one of its calls.
type probe struct {
	*store.MemoryStore
	mu     sync.Mutex // of calls and fences
	calls  int
	at     int // the number of that call
	happen func(ctx context.Context, k store.RecordKey) error
	fences []store.Fence // of the changes
}

func (p *probe) call(ctx context.Context, k store.RecordKey) error {
	p.mu.Lock()
	p.calls++
	now := p.calls == p.at && p.happen != nil
	p.mu.Unlock()
	if now {
		if err := p.happen(ctx, k); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (p *probe) note(f store.Fence) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fences = append(p.fences, f)
}

func (p *probe) Now(ctx context.Context) (time.Time, error) {
	if err := p.call(ctx, store.RecordKey{}); err != nil {
		return time.Time{}, err
	}
	return p.MemoryStore.Now(ctx)
}

func (p *probe) View(ctx context.Context, v store.View) ([]store.Record, error) {
	if err := p.call(ctx, store.RecordKey{}); err != nil {
		return nil, err
	}
	return p.MemoryStore.View(ctx, v)
}

func (p *probe) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	p.note(f)
	if err := p.call(ctx, c[0].Key); err != nil {
		return nil, err
	}
	return p.MemoryStore.Change(ctx, f, c...)
}

func (p *probe) Scan(ctx context.Context, in store.Folder, after string) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		if err := p.call(ctx, store.RecordKey{}); err != nil {
			yield(store.Record{}, err)
			return
		}
		for r, err := range p.MemoryStore.Scan(ctx, in, after) {
			if !yield(r, err) {
				return
			}
		}
	}
}

// deed is an operation on an inbox, with a question in a given state.
type deed struct {
	name     string
	prepare  step
	do       func(ctx context.Context, in *approval.Questions, q approval.Question, f store.Fence) error
	unfenced bool // people and readers have no fence
}

func deeds() []deed {
	none := func(*testing.T, *approval.Questions, approval.Question) {}
	remember := always(permission.Allow(), "Bash(make)")
	expire := func(*testing.T, *approval.Questions, approval.Question) { <-time.After(time.Hour) }
	answer := func(a func(approval.Question, string) approval.Answer) func(context.Context, *approval.Questions, approval.Question, store.Fence) error {
		return func(ctx context.Context, in *approval.Questions, q approval.Question, _ store.Fence) error {
			_, err := in.Decide(ctx, q.ID, a(q, "ada"))
			return err
		}
	}
	free := func(ctx context.Context, in *approval.Questions, q approval.Question, f store.Fence) error {
		_, err := in.Release(ctx, q.ID, f)
		return err
	}
	get := func(ctx context.Context, in *approval.Questions, q approval.Question, _ store.Fence) error {
		_, err := in.Get(ctx, q.ID)
		return err
	}
	return []deed{
		{"ask", none, func(ctx context.Context, in *approval.Questions, q approval.Question, f store.Fence) error {
			_, err := in.Ask(ctx, question("toolu_2"), f)
			return err
		}, false},
		{"ask again", none, func(ctx context.Context, in *approval.Questions, q approval.Question, f store.Fence) error {
			_, err := in.Ask(ctx, question("toolu_1"), f)
			return err
		}, false},
		{"allow", none, answer(allow), true},
		{"deny", none, answer(deny), true},
		{"get", none, get, true},
		{"get what has expired", expire, get, true},
		{"release", decide(allow), free, false},
		{"release what was refused", decide(deny), free, false},
		{"release again", steps(decide(allow), release), free, false},
		{"release with a rule", remember, free, false},
		{"settle", steps(decide(allow), release), func(ctx context.Context, in *approval.Questions, q approval.Question, f store.Fence) error {
			return in.Settle(ctx, q.ID, approval.OutcomeRan, f)
		}, false},
		{"withdraw", decide(allow), func(ctx context.Context, in *approval.Questions, q approval.Question, f store.Fence) error {
			return in.Withdraw(ctx, q.ID, approval.OutcomeWithdrawn, "", f)
		}, false},
		{"end", decide(allow), func(ctx context.Context, in *approval.Questions, q approval.Question, f store.Fence) error {
			return in.End(ctx, q.ID, approval.OutcomeFailed, f)
		}, false},
		{"defer", none, func(ctx context.Context, in *approval.Questions, q approval.Question, f store.Fence) error {
			_, err := in.Defer(ctx, q.ID, f)
			return err
		}, false},
		{"erase", steps(remember, release), func(ctx context.Context, in *approval.Questions, q approval.Question, f store.Fence) error {
			return in.Erase(ctx, q.Conversation, f)
		}, false},
		{"forget", steps(decide(deny), release), func(ctx context.Context, in *approval.Questions, q approval.Question, _ store.Fence) error {
			_, err := in.Forget(ctx, time.Now().Add(time.Minute), nil)
			return err
		}, true},
		{"acknowledge", steps(decide(allow), withdraw(approval.OutcomeWithdrawn)), func(ctx context.Context, in *approval.Questions, q approval.Question, _ store.Fence) error {
			_, err := in.Acknowledge(ctx, q.ID, "ada")
			return err
		}, true},
		{"revoke", steps(remember, release), func(ctx context.Context, in *approval.Questions, q approval.Question, _ store.Fence) error {
			return in.Revoke(ctx, q.Conversation)
		}, true},
		{"rules", steps(remember, release), func(ctx context.Context, in *approval.Questions, q approval.Question, _ store.Fence) error {
			_, err := in.Rules(ctx, q.Conversation)
			return err
		}, true},
		{"list", expire, func(ctx context.Context, in *approval.Questions, q approval.Question, _ store.Fence) error {
			for _, err := range in.List(ctx, approval.Filter{}) {
				if err != nil {
					return err
				}
			}
			return nil
		}, true},
	}
}

// on performs a deed in an inbox of its own, with an event at one call. It returns the
// store, its final contents, and the error.
func (d *deed) on(t *testing.T, at int, again bool, happen func(p *probe, end context.CancelFunc) func(context.Context, store.RecordKey) error) (p *probe, left string, failed error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { p, left, failed = d.alone(t, at, again, happen) })
	return p, left, failed
}

func (d *deed) alone(t *testing.T, at int, again bool, happen func(p *probe, end context.CancelFunc) func(context.Context, store.RecordKey) error) (p *probe, left string, failed error) {
	t.Helper()
	p = &probe{MemoryStore: store.Memory()}
	in := approval.NewQuestions(p, "p")
	asked := question("toolu_1")
	asked.Lifetime = time.Hour
	q := ask(t, in, asked)
	d.prepare(t, in, q)
	lease, err := p.Acquire(t.Context(), "p", "lease", "me", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p.calls, p.at, p.fences = 0, at, nil
	if happen != nil {
		p.happen = happen(p, cancel)
	}
	failed = d.do(ctx, in, q, lease.Fence)
	p.happen = nil
	if d.unfenced {
		lease.Fence = store.Fence{}
	}
	if i := slices.IndexFunc(p.fences, func(f store.Fence) bool { return f != lease.Fence }); i >= 0 {
		t.Errorf("%s: change %d has the fence %+v, want %+v", d.name, i+1, p.fences[i], lease.Fence)
	}
	calls := p.calls
	if again && failed != nil {
		if err := d.do(t.Context(), in, q, lease.Fence); err != nil {
			t.Errorf("%s, after a failure at call %d: %v", d.name, at, err)
		}
	}
	p.calls = calls
	var all strings.Builder
	for _, kind := range []string{approval.Kind, "rules"} {
		for r, err := range p.MemoryStore.Scan(t.Context(), store.Folder{Project: "p", Kind: kind}, "") {
			fmt.Fprintf(&all, "%s %s %v\n", r.Key, r.Value, err)
		}
	}
	return p, all.String(), failed
}

// A store that fails at any call makes the step fail with its error; repeated, the
// step has the effect it would have had. Each change carries the fence.
func TestFaultAtEveryCall(t *testing.T) {
	for _, d := range deeds() {
		t.Run(d.name, func(t *testing.T) {
			p, want, err := d.on(t, 0, false, nil)
			if err != nil || p.calls == 0 {
				t.Fatalf("%s: %d calls, %v", d.name, p.calls, err)
			}
			for at := 1; at <= p.calls; at++ {
				_, left, err := d.on(t, at, true, func(*probe, context.CancelFunc) func(context.Context, store.RecordKey) error {
					return func(context.Context, store.RecordKey) error { return errDown }
				})
				if !errors.Is(err, errDown) {
					t.Errorf("%s: the failure of call %d of %d is lost: %v", d.name, at, p.calls, err)
				}
				if left != want {
					t.Errorf("%s, taken again after a failure at call %d, leaves\n%swant\n%s", d.name, at, left, want)
				}
			}
		})
	}
}

// A step ends with its context, whichever call of the store it has come to.
func TestContextAtEveryCall(t *testing.T) {
	for _, d := range deeds() {
		t.Run(d.name, func(t *testing.T) {
			p, _, _ := d.on(t, 0, false, nil)
			for at := 1; at <= p.calls; at++ {
				_, _, err := d.on(t, at, false, func(_ *probe, end context.CancelFunc) func(context.Context, store.RecordKey) error {
					return func(context.Context, store.RecordKey) error { end(); return nil }
				})
				if !errors.Is(err, context.Canceled) {
					t.Errorf("%s: its context ended at call %d of %d: %v", d.name, at, p.calls, err)
				}
			}
		})
	}
}

// A step begins again if another process changed the record in between.
func TestConflictAtEveryCall(t *testing.T) {
	for _, d := range deeds() {
		t.Run(d.name, func(t *testing.T) {
			p, want, _ := d.on(t, 0, false, nil)
			for at := 1; at <= p.calls; at++ {
				_, left, err := d.on(t, at, false, func(p *probe, _ context.CancelFunc) func(context.Context, store.RecordKey) error {
					return func(ctx context.Context, k store.RecordKey) error {
						r, err := store.Get(ctx, p.MemoryStore, k)
						if err == nil { // a change; its content stays the same
							_, err = store.Put(ctx, p.MemoryStore, k, r.Value, r.Revision, store.Fence{})
							return err
						}
						return nil
					}
				})
				if d.name == "forget" {
					continue // changes are kept until the next time
				}
				if err != nil || left != want {
					t.Errorf("%s, with another change at call %d: %v, leaves\n%swant\n%s", d.name, at, err, left, want)
				}
			}
		})
	}
}

// Whichever call of the store fails while a gate asks and a person allows: the tool runs
// only if the store recorded before that it may.
func TestGateFaultAtEveryCall(t *testing.T) {
	ran := 0
	for at := 1; at <= 20; at++ {
		synctest.Test(t, func(t *testing.T) {
			p := &probe{MemoryStore: store.Memory(), at: at}
			p.happen = func(context.Context, store.RecordKey) error { return errDown }
			g := guard(t, p, approval.Options{Patience: time.Minute}, claudetest.UseTools(call("toolu_1")), claudetest.Say("Done."))
			defer g.Close()
			results := g.start()
			people := approval.NewQuestions(p.MemoryStore, "p")
			for q, err := range people.List(t.Context(), approval.Filter{States: []approval.State{approval.StateOpen}}) {
				if err != nil {
					t.Fatal(err)
				}
				decide(allow)(t, people, q)
			}
			g.inbox.Announce() // as the feed of another process would
			begin := time.Now()
			<-results
			if d := time.Since(begin); d > 0 {
				t.Errorf("call %d: the gate noticed after %v", at, d)
			}
			use := g.cli.Recording().Tool(t, "Bash")
			if use.Ran {
				ran++
			}
			for q, err := range people.List(t.Context(), approval.Filter{}) {
				if may := q.State == approval.StateReleased || q.Outcome == approval.OutcomeRan; err != nil || use.Ran != may {
					t.Errorf("call %d: ran %v, and the question is %s %s, %v", at, use.Ran, q.State, q.Outcome, err)
				}
			}
		})
	}
	if ran == 0 || ran == 20 {
		t.Errorf("the tool ran %d times of 20", ran)
	}
}

// ended is a store whose calls end with their context, and which records calls whose
// context never ends.
type ended struct {
	*store.MemoryStore
	t *testing.T
}

func (e ended) check(ctx context.Context) error {
	if ctx.Done() == nil {
		e.t.Error("a call of the store has no end")
	}
	return ctx.Err()
}

func (e ended) Now(ctx context.Context) (time.Time, error) {
	if err := e.check(ctx); err != nil {
		return time.Time{}, err
	}
	return e.MemoryStore.Now(ctx)
}

func (e ended) View(ctx context.Context, v store.View) ([]store.Record, error) {
	if err := e.check(ctx); err != nil {
		return nil, err
	}
	return e.MemoryStore.View(ctx, v)
}

func (e ended) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	if err := e.check(ctx); err != nil {
		return nil, err
	}
	return e.MemoryStore.Change(ctx, f, c...)
}

// Every call of a gate to its store is bounded, through the whole life of a
// question: asked, decided by a rule that another answer made, allowed, run.
func TestGateCallsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := ended{store.Memory(), t}
		g := guard(t, db, approval.Options{Patience: time.Minute}, claudetest.UseTools(call("toolu_1")), claudetest.UseTools(shell("toolu_2", "make test")), claudetest.Say("Done."))
		defer g.Close()
		results := g.start()
		always(permission.Allow(), "Bash(make:*)")(t, g.inbox, g.only())
		if r := <-results; r.Text != "Done." {
			t.Errorf("result %q", r.Text)
		}
	})
}

// What a rule decides while its question is open is stored as the rule's answer, at the
// time of the decision and under the gate's fence.
func TestRuleDecidesOpenQuestionOfOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hookUp(t, approval.Options{Patience: time.Hour})
		done := make(chan error, 1)
		go func() {
			_, err := h.call("PreToolUse", makeCall)
			done <- err
		}()
		synctest.Wait()
		<-time.After(time.Minute)
		// Another call of the conversation, of another process, makes the rule.
		other := ask(t, h.inbox, question("toolu_9"))
		always(permission.Allow(), "Bash(make)")(t, h.inbox, other)
		h.db.fences = nil
		release(t, h.inbox, other)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		ours := 0
		for _, f := range h.db.fences {
			if f == h.fence {
				ours++
			}
		}
		if ours != 2 || len(h.db.fences) != 4 { // decided and released; the other made its rule and was released
			t.Errorf("%d of %d changes are under the fence: %+v", ours, len(h.db.fences), h.db.fences)
		}
		for _, q := range h.all(approval.Filter{}) {
			if q.ToolUseID == "toolu_1" && (q.Answer == nil || q.Answer.Rule != "Bash(make)" || q.Answer.By != "ada" || !q.Answer.At.Equal(time.Now()) || q.Answer.Digest != q.Digest) {
				t.Errorf("answered by %+v", q.Answer)
			}
		}
	})
}

// An outcome that a call cannot have is refused with an error that names the
// call.
func TestBadOutcomes(t *testing.T) {
	in := approval.NewQuestions(store.Memory(), "p")
	q := ask(t, in, question("toolu_1"))
	steps(decide(allow), release)(t, in, q)
	for _, o := range []approval.Outcome{approval.OutcomeDenied, approval.OutcomeExpired, approval.OutcomeWithdrawn, approval.OutcomeSuperseded, approval.OutcomeDeleted, "", "other"} {
		err := in.Settle(t.Context(), q.ID, o, store.Fence{})
		if !errors.Is(err, approval.ErrInvalid) || !strings.Contains(err.Error(), q.ID) || !strings.Contains(err.Error(), fmt.Sprintf("%q", o)) {
			t.Errorf("settled as %q: %v", o, err)
		}
	}
	for _, o := range []approval.Outcome{approval.OutcomeRan, approval.OutcomeFailed, approval.OutcomeDenied, approval.OutcomeUnknown, approval.OutcomeAllowed, approval.OutcomeExpired, "", "other"} {
		if err := in.Withdraw(t.Context(), q.ID, o, "", store.Fence{}); !errors.Is(err, approval.ErrInvalid) {
			t.Errorf("withdrawn as %q: %v", o, err)
		}
	}
	for _, o := range []approval.Outcome{approval.OutcomeExpired, approval.OutcomeWithdrawn, approval.OutcomeSuperseded, approval.OutcomeDeleted, "", "other"} {
		if err := in.End(t.Context(), q.ID, o, store.Fence{}); !errors.Is(err, approval.ErrInvalid) {
			t.Errorf("ended as %q: %v", o, err)
		}
	}
	if now, err := in.Get(t.Context(), q.ID); err != nil || now.State != approval.StateReleased {
		t.Errorf("the question is %s, %v", now.State, err)
	}
}

// A rule book that is damaged closes the gate.
func TestDamagedRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hookUp(t, approval.Options{Patience: time.Minute})
		q := ask(t, h.inbox, question("toolu_9"))
		always(permission.Allow(), "Bash(make)")(t, h.inbox, q)
		release(t, h.inbox, q)
		for r, err := range h.db.MemoryStore.Scan(t.Context(), store.Folder{Project: "p", Kind: "rules"}, "") {
			if err != nil {
				t.Fatal(err)
			}
			broken := strings.Replace(string(r.Value), "Bash(make)", "Bash(", 1)
			if _, err := store.Put(t.Context(), h.db.MemoryStore, r.Key, []byte(broken), r.Revision, store.Fence{}); err != nil {
				t.Fatal(err)
			}
		}
		if out := h.before(makeCall, allow); !strings.Contains(out, store.ErrDamaged.Error()) {
			t.Errorf("%s", out)
		}
	})
}
