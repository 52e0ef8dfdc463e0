package fleet_test

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

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/storefault"
	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// oneFault is a store in which one call goes wrong.
type oneFault struct {
	mu    sync.Mutex
	left  int // calls until then; 0: none goes wrong
	fault storefault.Kind
}

func (o *oneFault) choose(storefault.Call) storefault.Kind {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.left == 0 {
		return storefault.None
	}
	if o.left--; o.left == 0 {
		return o.fault
	}
	return storefault.None
}

// set lets the n-th call from now on go wrong.
func (o *oneFault) set(n int, fault storefault.Kind) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.left, o.fault = n, fault
}

// pending reports whether the call has not come yet.
func (o *oneFault) pending() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.left > 0
}

// rig is a small fleet with one slot and room for few prompts, so that whatever an error
// path keeps is missed at once.
type faultRig struct {
	*testing.T
	db    *store.MemoryStore
	cli   *scripted
	fault oneFault
	f     *fleet.Fleet
	// broken lets the options of "stuck" fail.
	broken  bool
	release func()        // lets the model answer
	timeout time.Duration // for the store; 0: an hour
	asked   approval.Question
}

func newFaultRig(t *testing.T) *faultRig {
	t.Helper()
	r := &faultRig{T: t, db: store.Memory(), cli: newScripted()}
	r.f = r.open()
	t.Cleanup(func() { _ = r.f.Close(context.Background()) })
	return r
}

// open opens a fleet on the store.
func (r *faultRig) open() *fleet.Fleet {
	r.Helper()
	return r.openOn(storefault.Wrap(&strict{MemoryStore: r.db, report: unfenced(r.T)}, r.fault.choose), 0)
}

// openOn opens a fleet whose questions can be decided for a time; 0 is for ever.
func (r *faultRig) openOn(db store.Fleet, lifetime time.Duration) *fleet.Fleet {
	r.Helper()
	return open(r.T, db, r.cli, func(o *fleet.Options) {
		o.MaxLive, o.Queue, o.QueueAll, o.IdleAfter = 1, 3, 4, 20*time.Second
		o.DayBudgetUSD = 1000 // never spent, but counted
		if r.timeout != 0 {
			o.StoreTimeout = r.timeout
		}
		o.Gate = &approval.Options{Patience: 30 * time.Second, Lifetime: lifetime}
		usual := o.Session
		o.Session = func(ctx context.Context, key string) (*claude.Options, error) {
			if key == "stuck" && r.broken {
				return nil, errors.New("no such repository")
			}
			return usual(ctx, key)
		}
	})
}

// promptID is the id of the n-th prompt.
func promptID(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

func (r *faultRig) send(ctx context.Context, n int, key, text string) error {
	_, err := r.f.Send(ctx, key, fleet.Prompt{ID: promptID(n), Text: text})
	return err
}

// must sends a prompt before anything goes wrong.
func (r *faultRig) must(n int, key, text string) {
	r.Helper()
	if err := r.send(r.Context(), n, key, text); err != nil {
		r.Fatal(err)
	}
	synctest.Wait()
}

// isAnswered checks that a prompt was answered, and that the model was asked about it once.
func (r *faultRig) isAnswered(n int, key, text string) {
	r.Helper()
	if o := outcome(r.T, r.f, key, promptID(n)); o.Status != fleet.PromptAnswered || o.Prompt != promptID(n) || !strings.Contains(o.Text, text) {
		r.Errorf("prompt %d: %+v", n, o)
	}
	asked := 0
	for _, call := range r.cli.calls {
		if call == text {
			asked++
		}
	}
	if asked != 1 {
		r.Errorf("the model was asked %d times about %q: %q", asked, text, r.cli.calls)
	}
}

// operation is something that a program asks of a fleet.
type operation struct {
	prepare func(*faultRig)
	do      func(context.Context, *faultRig) error
	// done are errors of a second attempt that show that the first one has succeeded.
	done []error
	// holds checks what was promised, after do has returned nil.
	holds func(*faultRig)
	// again opens the fleet again after prepare, which has closed it.
	again bool
}

var operations = map[string]operation{
	"send the first prompt": {
		do:    func(ctx context.Context, r *faultRig) error { return r.send(ctx, 1, "ada", "hello") },
		holds: func(r *faultRig) { r.isAnswered(1, "ada", "hello") },
	},
	"send to one that is awake": {
		prepare: func(r *faultRig) { r.must(1, "ada", "hello") },
		do:      func(ctx context.Context, r *faultRig) error { return r.send(ctx, 2, "ada", "more") },
		holds:   func(r *faultRig) { r.isAnswered(1, "ada", "hello"); r.isAnswered(2, "ada", "more") },
	},
	"send behind another": {
		prepare: func(r *faultRig) { r.release = r.cli.pause(); r.must(1, "ada", "hello") },
		do:      func(ctx context.Context, r *faultRig) error { return r.send(ctx, 2, "ada", "more") },
		holds: func(r *faultRig) {
			r.isAnswered(1, "ada", "hello")
			r.isAnswered(2, "ada", "more")
			if !slices.Equal(r.cli.calls, []string{"hello", "more"}) {
				r.Errorf("the model was asked %q", r.cli.calls)
			}
		},
	},
	"cancel": {
		prepare: func(r *faultRig) {
			r.release = r.cli.pause()
			r.must(1, "ada", "hello")
			r.must(2, "ada", "more")
		},
		do: func(ctx context.Context, r *faultRig) error { return r.f.Cancel(ctx, "ada", promptID(2)) },
		holds: func(r *faultRig) {
			r.isAnswered(1, "ada", "hello")
			if o := outcome(r.T, r.f, "ada", promptID(2)); o.Status != fleet.PromptCancelled || o.Ended.IsZero() || slices.Contains(r.cli.calls, "more") {
				r.Errorf("cancelled: %+v, the model was asked %q", o, r.cli.calls)
			}
		},
	},
	"cancel what is stuck": {
		prepare: func(r *faultRig) {
			r.broken = true
			release := r.cli.pause()
			r.must(9, "bob", "has the slot")
			r.must(1, "stuck", "hello")
			r.must(2, "stuck", "more")
			release()
			<-time.After(2 * time.Minute)
			r.broken = false
		},
		do: func(ctx context.Context, r *faultRig) error { return r.f.Cancel(ctx, "stuck", promptID(1)) },
		holds: func(r *faultRig) {
			if o := outcome(r.T, r.f, "stuck", promptID(1)); o.Status != fleet.PromptCancelled || slices.Contains(r.cli.calls, "hello") {
				r.Errorf("cancelled: %+v, the model was asked %q", o, r.cli.calls)
			}
			r.isAnswered(2, "stuck", "more")
		},
	},
	"retry": {
		prepare: func(r *faultRig) {
			r.broken = true
			r.must(1, "stuck", "hello")
			<-time.After(2 * time.Minute)
			r.broken = false
		},
		do: func(ctx context.Context, r *faultRig) error { return r.f.Retry(ctx, "stuck") },
		holds: func(r *faultRig) {
			r.isAnswered(1, "stuck", "hello")
			if info, err := r.f.Get(r.Context(), "stuck"); err != nil || info.Stuck != "" || info.Cause != "" {
				r.Errorf("%+v, %v", info, err)
			}
		},
	},
	"interrupt": {
		prepare: func(r *faultRig) { r.release = r.cli.pause(); r.must(1, "ada", "hello") },
		do:      func(ctx context.Context, r *faultRig) error { return r.f.Interrupt(ctx, "ada") },
		holds: func(r *faultRig) {
			if o := outcome(r.T, r.f, "ada", promptID(1)); o.Status != fleet.PromptFailed || !o.Interrupted {
				r.Errorf("interrupted: %+v", o)
			}
		},
	},
	"interrupt a question": {
		prepare: func(r *faultRig) { r.must(1, "ada", "tool 1"); <-time.After(time.Minute) },
		do:      func(ctx context.Context, r *faultRig) error { return r.f.Interrupt(ctx, "ada") },
		holds: func(r *faultRig) {
			if o := outcome(r.T, r.f, "ada", promptID(1)); o.Status != fleet.PromptFailed || !o.Interrupted || len(r.cli.tools) != 0 {
				r.Errorf("interrupted: %+v, the tool ran with %q", o, r.cli.tools)
			}
		},
	},
	"decide while it waits": {
		prepare: func(r *faultRig) { r.must(1, "ada", "tool 1"); r.asked = question(r.T, r.f) },
		do:      allow,
		done:    []error{approval.ErrGone},
		holds: func(r *faultRig) {
			q, err := r.f.Approvals().Get(r.Context(), r.asked.ID)
			if err == nil && q.Unused != "" && q.State == approval.StateGone && len(r.cli.tools) == 0 {
				return // the gate closes in doubt, and the person can see that
			}
			ranOnce(r)
		},
	},
	"decide after it has slept": {
		prepare: func(r *faultRig) {
			r.must(1, "ada", "tool 1")
			<-time.After(time.Minute)
			r.asked = question(r.T, r.f)
		},
		do:    allow,
		done:  []error{approval.ErrGone},
		holds: ranOnce,
	},
	"describe": {
		do: func(ctx context.Context, r *faultRig) error {
			return r.f.Describe(ctx, "ada", fleet.Description{Title: "the first", Labels: map[string]string{"a": "b"}})
		},
		holds: func(r *faultRig) {
			info, err := r.f.Get(r.Context(), "ada")
			if err != nil || info.Title != "the first" || len(info.Labels) != 1 || info.Labels["a"] != "b" {
				r.Errorf("%+v, %v", info, err)
			}
		},
	},
	"choose a model": {
		prepare: func(r *faultRig) { r.must(1, "ada", "hello") },
		do:      func(ctx context.Context, r *faultRig) error { return r.f.SetModel(ctx, "ada", "opus") },
		holds: func(r *faultRig) {
			if info, err := r.f.Get(r.Context(), "ada"); err != nil || info.Model != "opus" || info.Mode != "" {
				r.Errorf("%+v, %v", info, err)
			}
		},
	},
	"choose a mode": {
		prepare: func(r *faultRig) { r.must(1, "ada", "hello"); <-time.After(time.Minute) },
		do: func(ctx context.Context, r *faultRig) error {
			return r.f.SetPermissionMode(ctx, "ada", permission.ModePlan)
		},
		holds: func(r *faultRig) {
			if info, err := r.f.Get(r.Context(), "ada"); err != nil || info.Mode != permission.ModePlan || info.Model != "" {
				r.Errorf("%+v, %v", info, err)
			}
		},
	},
	"fork": {
		prepare: func(r *faultRig) { r.must(1, "ada", "hello") },
		do:      func(ctx context.Context, r *faultRig) error { return r.f.Fork(ctx, "ada", "bob", "") },
		done:    []error{fleet.ErrExists},
		holds: func(r *faultRig) {
			if got := ask(r.T, r.f, "bob", "again"); got != "heard hello, again" {
				r.Errorf("the fork has %q", got)
			}
			if got := ask(r.T, r.f, "ada", "other"); got != "heard hello, other" {
				r.Errorf("the original has %q", got)
			}
		},
	},
	"delete": {
		prepare: func(r *faultRig) {
			r.must(1, "ada", "hello")
			r.must(2, "ada", "tool 1")
			r.must(3, "ada", "more")
		},
		do:   func(ctx context.Context, r *faultRig) error { return r.f.Delete(ctx, "ada") },
		done: []error{fleet.ErrUnknown},
		holds: func(r *faultRig) {
			if info, err := r.f.Get(r.Context(), "ada"); !errors.Is(err, fleet.ErrUnknown) {
				r.Errorf("deleted: %+v, %v", info, err)
			}
			for _, kind := range []string{"conversation", "prompt", "outcome", "calls"} {
				for _, left := range allRecords(r.T, r.db, kind) {
					r.Errorf("%s %s is left", kind, left)
				}
			}
			for _, left := range allRecords(r.T, r.db, "question") {
				if !strings.Contains(left, `"input":null`) || !strings.Contains(left, `"outcome":"deleted"`) || strings.Contains(left, "make 1") {
					r.Errorf("more than a tombstone of the question is left: %s", left)
				}
			}
			for s, err := range r.db.List(r.Context(), "p") {
				r.Errorf("session %+v is left, %v", s, err)
			}
			closeFleet(r.T, r.f)
			r.f = r.open() // which finishes what is left of a deletion
			synctest.Wait()
			for _, left := range allRecords(r.T, r.db, "deletion") {
				r.Errorf("deletion %s is left", left)
			}
			if len(r.cli.tools) != 0 || slices.Contains(r.cli.calls, "more") {
				r.Errorf("it did not stop: %q, %q", r.cli.calls, r.cli.tools)
			}
		},
	},
}

func allow(ctx context.Context, r *faultRig) error {
	_, err := r.f.Approvals().Decide(ctx, r.asked.ID, approval.Answer{Decision: permission.Allow(), By: "ada", Digest: r.asked.Digest})
	return err
}

func ranOnce(r *faultRig) {
	r.Helper()
	if o := outcome(r.T, r.f, "ada", promptID(1)); o.Status != fleet.PromptAnswered || o.Text != "It says: built" || len(r.cli.tools) != 1 {
		r.Errorf("%+v, the tool ran with %q", o, r.cli.tools)
	}
	if q, err := r.f.Approvals().Get(r.Context(), r.asked.ID); err != nil || q.State != approval.StateSettled || q.Outcome != approval.OutcomeRan || q.Unused != "" {
		r.Errorf("the question is %s %s, not used: %q, %v", q.State, q.Outcome, q.Unused, err)
	}
}

// Whichever call of the store goes wrong (on the quick level each fifth), and however: what an operation has acknowledged
// holds, what it has not can be asked for again, and nothing is left behind.
func TestEveryCallOfTheStoreFails(t *testing.T) {
	for name, op := range operations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i, fault := range []storefault.Kind{storefault.Fail, storefault.LostReply} {
				for n, more := 1+i*long.Pick(2, 0), true; more && n < 60 && !t.Failed(); n += long.Pick(5, 1) {
					synctest.Test(t, func(t *testing.T) { more = tryWithFault(t, op, n, fault) })
					if t.Failed() {
						t.Errorf("call %d: %v", n, fault)
					}
				}
			}
		})
	}
}

// tryWithFault reports whether the n-th call came before the operation had returned.
func tryWithFault(t *testing.T, op operation, n int, fault storefault.Kind) (reached bool) {
	return newFaultRig(t).try(t, op, n, fault, storefault.ErrFault)
}

// try lets the n-th call of an operation go wrong, for a reason that its error must name.
func (r *faultRig) try(t *testing.T, op operation, n int, fault storefault.Kind, reason error) (reached bool) {
	if op.prepare != nil {
		op.prepare(r)
	}
	r.fault.set(n, fault)
	err := op.do(t.Context(), r)
	reached = !r.fault.pending()
	if err != nil {
		r.fault.set(0, 0)
		if !errors.Is(err, reason) && !errors.Is(err, store.ErrLeased) {
			t.Errorf("the error hides its reason: %v", err)
		}
		<-time.After(time.Second)                                         // whatever has hung with it has also ended
		if err = op.do(t.Context(), r); errors.Is(err, store.ErrLeased) { // the lease was not given back
			<-time.After(time.Minute)
			err = op.do(t.Context(), r)
		}
		if err != nil && !slices.ContainsFunc(op.done, func(done error) bool { return errors.Is(err, done) }) {
			t.Errorf("again: %v", err)
		}
	}
	<-time.After(time.Second)
	if r.release != nil {
		r.release()
	}
	<-time.After(3 * time.Minute)
	r.fault.set(0, 0)
	op.holds(r)
	r.tidy()
	return reached
}

// tidy checks that nothing is left over: no slot, room in the queues, lease or CLI, and
// that all ways to look at the fleet agree.
func (r *faultRig) tidy() {
	r.Helper()
	release := r.cli.pause()
	for n := range 5 { // one more than there is room for
		err := r.send(r.Context(), 10+n, fmt.Sprint("other", n%2), fmt.Sprint("new ", n))
		if full := errors.Is(err, fleet.ErrOverloaded); full != (n == 4) || err != nil && !full {
			r.Errorf("prompt %d: %v", n, err)
		}
	}
	release()
	<-time.After(time.Minute)
	for n := range 4 {
		r.isAnswered(10+n, fmt.Sprint("other", n%2), fmt.Sprint("new ", n))
	}
	for info, err := range r.f.List(r.Context()) {
		if err != nil {
			r.Fatal(err)
		}
		got, err := r.f.Get(r.Context(), info.Key)
		if a, b := fmt.Sprintf("%+v", info), fmt.Sprintf("%+v", got); err != nil || a != b {
			r.Errorf("listed as %s, read as %s, %v", a, b, err)
		}
		if info.State != fleet.StateAsleep || info.Queued != 0 || info.Question != "" || info.Unsettled != "" {
			r.Errorf("%+v", info)
		}
		if err := acquire(r, info.Key); err != nil {
			r.Errorf("the lease of %s: %v", info.Key, err)
		}
	}
	for q, err := range r.f.Approvals().List(r.Context(), approval.Filter{States: approval.Waiting()}) {
		r.Errorf("question %s is left, and is %s: %v", q.ID, q.State, err)
	}
	for _, left := range allRecords(r.T, r.db, "prompt") {
		r.Errorf("prompt %s is left", left)
	}
	if live, most := r.cli.counts(); live != 0 || most > 1 {
		r.Errorf("%d CLIs run, at most %d did", live, most)
	}
	closeFleet(r.T, r.f)
}

// acquire takes the lease of a conversation, as another process would.
func acquire(r *faultRig, key string) error {
	l, err := r.db.Acquire(r.Context(), "p", "fleet/"+leasePlace(key), "another process", time.Minute)
	if err == nil {
		err = r.db.Release(r.Context(), l)
	}
	return err
}

// leasePlace is where a conversation is below a kind of records.
func leasePlace(key string) string {
	if fleet.TenantOf(key) != "" {
		return "t/" + key
	}
	return "c/" + key
}

// reads are the ways to look at a fleet.
var reads = map[string]func(context.Context, *faultRig) (any, error){
	"get":             func(ctx context.Context, r *faultRig) (any, error) { return r.f.Get(ctx, "acme/ada") },
	"ticket, ended":   func(ctx context.Context, r *faultRig) (any, error) { return r.f.Prompt(ctx, "acme/ada", promptID(1)) },
	"ticket, waiting": func(ctx context.Context, r *faultRig) (any, error) { return r.f.Prompt(ctx, "acme/ada", promptID(3)) },
	"ticket, queued":  func(ctx context.Context, r *faultRig) (any, error) { return r.f.Prompt(ctx, "acme/ada", promptID(4)) },
	"list":            func(ctx context.Context, r *faultRig) (any, error) { return gather(r.f.List(ctx)) },
	"list of a tenant": func(ctx context.Context, r *faultRig) (any, error) {
		return gather(r.f.Tenant("acme").List(ctx))
	},
	"questions": func(ctx context.Context, r *faultRig) (any, error) {
		return gather(r.f.Approvals().List(ctx, approval.Filter{}))
	},
	"questions of a tenant": func(ctx context.Context, r *faultRig) (any, error) {
		return gather(r.f.Tenant("acme").Approvals().List(ctx, approval.Filter{}))
	},
	"question": func(ctx context.Context, r *faultRig) (any, error) { return r.f.Approvals().Get(ctx, r.asked.ID) },
	"wait":     func(ctx context.Context, r *faultRig) (any, error) { return r.f.Wait(ctx, "acme/ada", promptID(1)) },
	"outcomes": func(ctx context.Context, r *faultRig) (any, error) {
		var all []string
		for o, err := range r.f.Outcomes(ctx, "") {
			if err != nil {
				return nil, err
			}
			if all = append(all, o.Key+" "+o.Ticket.Prompt+" "+o.Ticket.Text); len(all) == 3 {
				break
			}
		}
		return all, nil
	},
	"events": func(ctx context.Context, r *faultRig) (any, error) {
		var all []string
		for e, err := range r.f.Events(ctx, "acme/ada", "") {
			if err != nil {
				return nil, err
			}
			if !e.Live {
				all = append(all, string(e.Cursor))
			}
			if len(all) == 5 {
				break
			}
		}
		return all, nil
	},
}

// A list or a read of a fleet is complete, or an error: it never leaves out what the
// store failed to yield.
func TestReadsAreWhole(t *testing.T) {
	for _, fault := range []storefault.Kind{storefault.Fail, storefault.LostReply} {
		synctest.Test(t, func(t *testing.T) {
			r := newFaultRig(t)
			r.must(1, "acme/ada", "hello")
			r.must(2, "acme/ada", "more")
			r.must(5, "bob", "hello")
			r.must(3, "acme/ada", "tool 1")
			<-time.After(5 * time.Minute)
			r.must(4, "acme/ada", "behind")
			<-time.After(5 * time.Minute)
			r.asked = question(t, r.f)
			for name, read := range reads {
				readsWhole(r, name, read, fault)
			}
			decide(t, r.f, r.asked, permission.Deny("no"))
			closeFleet(t, r.f)
		})
	}
}

// readsWhole lets one call of the store after the other go wrong. The fleet itself looks at
// the store too, now and then. It rests when a read begins, so the fault meets the read.
func readsWhole(r *faultRig, name string, read func(context.Context, *faultRig) (any, error), fault storefault.Kind) {
	r.Helper()
	bounded := func() (any, error) { // one that misses something waits for it forever
		ctx, cancel := context.WithTimeout(r.Context(), 10*time.Minute)
		defer cancel()
		return read(ctx, r)
	}
	want, err := bounded()
	if err != nil {
		r.Fatal(err)
	}
	failed := 0
	for n := 1; n < 60; n++ {
		synctest.Wait()
		r.fault.set(n, fault)
		got, err := bounded()
		if r.fault.pending() {
			break
		}
		if err != nil {
			if failed++; !errors.Is(err, storefault.ErrFault) {
				r.Errorf("%s, call %d: the error hides its reason: %v", name, n, err)
			}
			continue
		}
		if a, b := shown(r.T, got), shown(r.T, want); a != b {
			r.Errorf("%s, %v of call %d:\n%s\nwant\n%s", name, fault, n, a, b)
		}
	}
	r.fault.set(0, 0)
	if failed == 0 && name != "wait" && name != "outcomes" && name != "events" {
		r.Errorf("%s, %v: no call failed", name, fault)
	}
}

// gather returns all that a loop yields, and the error that ends it.
func gather[T any](all iter.Seq2[T, error]) (got []T, err error) {
	for v, err := range all {
		if err != nil {
			return nil, err
		}
		got = append(got, v)
	}
	return got, nil
}

func shown(t *testing.T, v any) string {
	t.Helper()
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
