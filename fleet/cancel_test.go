package fleet_test

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
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/storefault"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// interceptor is a store that calls before and after around each write of a record.
// An error of either is that of the write.
type interceptor struct {
	store.Fleet
	mu            sync.Mutex
	before, after func(k store.RecordKey, value []byte) error // nil: nothing
}

func (i *interceptor) set(before, after func(store.RecordKey, []byte) error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.before, i.after = before, after
}

func (i *interceptor) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	i.mu.Lock()
	before, after := i.before, i.after
	i.mu.Unlock()
	for _, one := range c {
		if before != nil {
			if err := before(one.Key, one.Value); err != nil {
				return nil, err
			}
		}
	}
	next, err := i.Fleet.Change(ctx, f, c...)
	for _, one := range c {
		if err == nil && after != nil {
			err = after(one.Key, one.Value)
		}
	}
	return next, err
}

// cancelling is a fleet with a prompt that can be cancelled: one behind a turn that
// runs, or one at which its conversation is stuck.
type cancelling struct {
	db     *store.MemoryStore
	cli    *scripted
	m      *machine
	store  *interceptor
	first  string // the prompt that was sent first, "" if it is the one to cancel
	prompt string
	broken atomic.Bool
	hold   chan struct{}

	repeatable func(*hook.PreToolUseInput) bool // calls that may run again; nil: none
}

func (c *cancelling) start(t *testing.T) {
	t.Helper()
	c.m = start(t, c.db, c.cli, func(o *fleet.Options) {
		c.store = &interceptor{Fleet: o.Store}
		o.Store = c.store
		o.Gate.Repeatable = c.repeatable
		usual := o.Session
		o.Session = func(ctx context.Context, key string) (*claude.Options, error) {
			if c.broken.Load() {
				return nil, errors.New("no such repository")
			}
			return usual(ctx, key)
		}
	})
}

func newCancelling(t *testing.T, stuck bool) *cancelling {
	t.Helper()
	c := &cancelling{db: store.Memory(), cli: newScripted(), hold: make(chan struct{})}
	c.broken.Store(stuck)
	c.cli.hold = c.hold
	c.start(t)
	if !stuck {
		c.first = send(t, c.m.fleet, "ada", "hello")
	}
	c.prompt = send(t, c.m.fleet, "ada", "unwanted")
	if stuck {
		<-time.After(5*time.Minute + time.Millisecond) // and no process looks at the store in this moment
		if o := outcome(t, c.m.fleet, "ada", c.prompt); o.Status != fleet.PromptStuck {
			t.Fatalf("not stuck: %+v", o)
		}
	}
	return c
}

// records counts the records of a kind.
func (c *cancelling) records(t *testing.T, kind string) (n int) {
	t.Helper()
	for _, err := range c.db.Scan(t.Context(), store.Folder{Project: "p", Kind: kind}, "") {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// check checks that the prompt was cancelled, and nothing else is affected.
func (c *cancelling) check(t *testing.T) {
	t.Helper()
	if o := outcome(t, c.m.fleet, "ada", c.prompt); o.Status != fleet.PromptCancelled || o.Ended.IsZero() {
		t.Errorf("cancelled: %+v", o)
	}
	if c.first != "" {
		if o := outcome(t, c.m.fleet, "ada", c.first); o.Status != fleet.PromptAnswered {
			t.Errorf("the prompt before it: %+v", o)
		}
	}
	if info, err := c.m.fleet.Get(t.Context(), "ada"); err != nil || info.Stuck != "" || info.Queued != 0 {
		t.Errorf("%+v, %v", info, err)
	}
	if err := c.m.fleet.Cancel(t.Context(), "ada", c.prompt); err != nil {
		t.Errorf("cancelled a second time: %v", err)
	}
	if got := ask(t, c.m.fleet, "ada", "more"); !strings.HasSuffix(got, "more") {
		t.Errorf("answer %q", got)
	}
	synctest.Wait() // its outcome is written
	if slices.Contains(c.cli.calls, "unwanted") {
		t.Errorf("the model was asked %q", c.cli.calls)
	}
	outcomes := 2 // with the one that was just asked
	if c.first != "" {
		outcomes++
	}
	if p, o := c.records(t, "prompt"), c.records(t, "outcome"); p != 0 || o != outcomes {
		t.Errorf("the store has %d prompts and %d outcomes", p, o)
	}
}

// errDies is the error of a write that never comes back.
var errDies = errors.New("the program dies")

// The writes of Cancel: each may be the last thing that a program does, or fail. The
// first one decides. After it the prompt is cancelled, and the next process that looks
// cleans up; before it nothing has happened.
func TestCancelCutOff(t *testing.T) {
	for _, stuck := range []bool{false, true} {
		writes := 4 // the prompt is marked, it has an outcome, which is noted for the log, the prompt is removed
		if stuck {
			writes++ // the conversation is freed
		}
		for _, how := range []string{"crash", "fault"} {
			for n := range writes {
				for _, done := range []bool{false, true} {
					name := fmt.Sprintf("%s at write %d, stuck %t, written %t", how, n+1, stuck, done)
					t.Run(name, func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) { cancelCutOff(t, stuck, how == "crash", n, done) })
					})
				}
			}
		}
		t.Run(fmt.Sprintf("stuck %t has %d writes", stuck, writes), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCancelling(t, stuck)
				defer func() { closeFleet(t, c.m.fleet) }()
				seen := 0
				c.store.set(func(store.RecordKey, []byte) error { seen++; return nil }, nil)
				if err := c.m.fleet.Cancel(t.Context(), "ada", c.prompt); err != nil {
					t.Fatal(err)
				}
				if seen != writes {
					t.Errorf("Cancel wrote %d times", seen)
				}
				c.store.set(nil, nil)
				c.broken.Store(false)
				close(c.hold)
				<-time.After(time.Minute)
				c.check(t)
			})
		})
	}
}

func cancelCutOff(t *testing.T, stuck, crashes bool, n int, done bool) {
	c := newCancelling(t, stuck)
	seen := 0
	fail := func(store.RecordKey, []byte) error {
		if seen++; seen != n+1 {
			return nil
		}
		if crashes {
			c.m.kill()
		}
		return errDies
	}
	if done {
		c.store.set(nil, fail)
	} else {
		c.store.set(fail, nil)
	}
	if err := c.m.fleet.Cancel(t.Context(), "ada", c.prompt); !errors.Is(err, errDies) {
		t.Fatalf("cancelled: %v", err)
	}
	if crashes {
		crash(t, c.m)
		c.start(t)
	}
	defer func() { closeFleet(t, c.m.fleet) }()
	c.store.set(nil, nil)
	marked := n > 0 || done
	if o := outcome(t, c.m.fleet, "ada", c.prompt); (o.Status == fleet.PromptCancelled) != marked {
		t.Errorf("before anybody has tidied up: %+v", o)
	}
	c.broken.Store(false)
	if !marked { // nothing has happened, and it can be cancelled yet
		if err := c.m.fleet.Cancel(t.Context(), "ada", c.prompt); err != nil {
			t.Fatal(err)
		}
	}
	close(c.hold)
	<-time.After(2 * time.Minute) // the lease of the dead
	c.check(t)
}

// A prompt that is cancelled halfway in another process, which dies, is cleaned up by
// the one that knows it, even if its conversation has nothing else to do.
func TestCancelElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCancelling(t, true)
		defer func() { closeFleet(t, c.m.fleet) }()
		var other *interceptor
		m := start(t, c.db, c.cli, func(o *fleet.Options) {
			other = &interceptor{Fleet: o.Store}
			o.Store, o.MaxLive = other, fleet.NoCLIs
		})
		other.set(nil, func(store.RecordKey, []byte) error {
			m.kill()
			return errDies
		})
		if err := m.fleet.Cancel(t.Context(), "ada", c.prompt); !errors.Is(err, errDies) {
			t.Fatalf("cancelled: %v", err)
		}
		crash(t, m)
		c.broken.Store(false)
		close(c.hold)
		<-time.After(time.Minute)
		c.check(t)
	})
}

// A process that cancels a prompt and one that begins it both write it first, and only
// one of the two succeeds.
func TestCancelRace(t *testing.T) {
	for _, first := range []string{"the turn", "the cancelling"} {
		t.Run(first+" is first", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db, cli := store.Memory(), newScripted()
				begin, mark := make(chan struct{}), make(chan struct{})
				var in *interceptor
				m := start(t, db, cli, func(o *fleet.Options) {
					in = &interceptor{Fleet: o.Store}
					o.Store = in
				})
				defer closeFleet(t, m.fleet)
				in.set(func(k store.RecordKey, value []byte) error {
					var p struct {
						Sent      bool
						Cancelled time.Time
					}
					if k.Kind != "prompt" || json.Unmarshal(value, &p) != nil {
						return nil
					}
					if p.Sent {
						<-begin
					} else if !p.Cancelled.IsZero() {
						<-mark
					}
					return nil
				}, nil)
				id := send(t, m.fleet, "ada", "unwanted") // and the fleet is about to begin
				cancelled := make(chan error)
				go func() { cancelled <- m.fleet.Cancel(t.Context(), "ada", id) }()
				synctest.Wait()
				if first == "the turn" {
					close(begin)
					synctest.Wait()
					close(mark)
					if err := <-cancelled; !errors.Is(err, fleet.ErrBegun) {
						t.Errorf("cancelled: %v", err)
					}
				} else {
					close(mark)
					if err := <-cancelled; err != nil {
						t.Errorf("not cancelled: %v", err)
					}
					close(begin)
				}
				begun := time.Now()
				ask(t, m.fleet, "ada", "more")
				if d := time.Since(begun); d > 0 {
					t.Errorf("the next prompt waited for %v", d)
				}
				want, calls := fleet.PromptAnswered, []string{"unwanted", "more"}
				if first != "the turn" {
					want, calls = fleet.PromptCancelled, calls[1:]
				}
				if o := outcome(t, m.fleet, "ada", id); o.Status != want || !slices.Equal(cli.calls, calls) {
					t.Errorf("%+v; the model was asked %q", o, cli.calls)
				}
			})
		})
	}
}

// readHook is a store that calls do once, after the next read of a conversation.
type readHook struct {
	store.Fleet
	do atomic.Pointer[func()]
}

func (h *readHook) View(ctx context.Context, v store.View) ([]store.Record, error) {
	r, err := h.Fleet.View(ctx, v)
	if len(v.Keys) > 0 && v.Keys[0].Kind == "conversation" {
		if do := h.do.Swap(nil); do != nil {
			(*do)()
		}
	}
	return r, err
}

// A prompt that is retried while it is being cancelled has begun.
func TestCancelDuringRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := newScripted()
		var broken atomic.Bool
		broken.Store(true)
		db := &readHook{Fleet: store.Memory()}
		f := open(t, db, cli, breakable(&broken))
		defer closeFleet(t, f)
		id := send(t, f, "ada", "wanted")
		<-time.After(5*time.Minute + time.Millisecond)
		if o := outcome(t, f, "ada", id); o.Status != fleet.PromptStuck {
			t.Fatalf("not stuck: %+v", o)
		}
		broken.Store(false)
		release := cli.pause()
		retry := func() {
			if err := f.Retry(t.Context(), "ada"); err != nil {
				t.Error(err)
			}
			synctest.Wait() // and it runs
		}
		db.do.Store(&retry)
		if err := f.Cancel(t.Context(), "ada", id); !errors.Is(err, fleet.ErrBegun) {
			t.Errorf("cancelled while it runs: %v", err)
		}
		release()
		answeredSoon(t, f, id)
	})
}

// A prompt of a conversation that is deleted while it is being cancelled leaves nothing
// behind, and can be sent again.
func TestCancelDuringDelete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCancelling(t, false)
		defer func() { closeFleet(t, c.m.fleet) }()
		var once sync.Once
		c.store.set(func(k store.RecordKey, _ []byte) error {
			if k.Kind == "outcome" {
				once.Do(func() {
					if err := c.m.fleet.Delete(t.Context(), "ada"); err != nil {
						t.Error(err)
					}
				})
			}
			return nil
		}, nil)
		if err := c.m.fleet.Cancel(t.Context(), "ada", c.prompt); !errors.Is(err, fleet.ErrUnknown) {
			t.Errorf("cancelled: %v", err)
		}
		if n := c.records(t, "outcome"); n != 0 {
			t.Errorf("%d outcomes are left", n)
		}
		close(c.hold)
		if _, err := c.m.fleet.Send(t.Context(), "ada", fleet.Prompt{ID: c.prompt, Text: "again"}); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		if o := outcome(t, c.m.fleet, "ada", c.prompt); o.Status != fleet.PromptAnswered {
			t.Errorf("sent again: %+v", o)
		}
	})
}

// A marked prompt does not steer the turn that runs, even before it is cleaned up.
func TestCancelSteering(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCancelling(t, false)
		defer func() { closeFleet(t, c.m.fleet) }()
		if err := c.m.fleet.Cancel(t.Context(), "ada", c.prompt); err != nil {
			t.Fatal(err)
		}
		steer := func(text string) string {
			id, err := c.m.fleet.Send(t.Context(), "ada", fleet.Prompt{Text: text, Steer: true})
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			return id
		}
		failing := func(part string) func(store.RecordKey, []byte) error {
			return func(k store.RecordKey, value []byte) error {
				if k.Kind == "prompt" && strings.Contains(string(value), part) {
					return storefault.ErrFault
				}
				return nil
			}
		}
		c.store.set(failing(`"sent":true`), nil)
		c.prompt = steer("unwanted") // and the turn does not get it
		c.store.set(nil, failing(`"cancelled"`))
		if err := c.m.fleet.Cancel(t.Context(), "ada", c.prompt); !errors.Is(err, storefault.ErrFault) {
			t.Fatalf("cancelled: %v", err)
		}
		c.store.set(nil, nil)
		other := steer("wanted") // so that the turn looks for prompts again
		close(c.hold)
		<-time.After(time.Minute)
		if o := outcome(t, c.m.fleet, "ada", c.prompt); o.Status != fleet.PromptCancelled {
			t.Errorf("cancelled: %+v", o)
		}
		if o := outcome(t, c.m.fleet, "ada", other); o.Status != fleet.PromptAnswered {
			t.Errorf("the other: %+v", o)
		}
		if slices.Contains(c.cli.calls, "unwanted") || c.records(t, "prompt") != 0 {
			t.Errorf("the model was asked %q, and %d prompts are left", c.cli.calls, c.records(t, "prompt"))
		}
	})
}

// A prompt that a turn has taken in is cancelled with the turn: continuing with it
// would continue the turn.
func TestCancelTakenIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &cancelling{db: store.Memory(), cli: newScripted()}
		c.start(t)
		c.prompt = send(t, c.m.fleet, "ada", "tool 1")
		part, err := c.m.fleet.Send(t.Context(), "ada", fleet.Prompt{Text: "unwanted", Steer: true})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		release := c.cli.pause()
		decide(t, c.m.fleet, question(t, c.m.fleet), permission.Allow())
		<-time.After(time.Second) // the model is asked with the result and the prompt
		crash(t, c.m)
		release()
		c.broken.Store(true)
		c.start(t)
		defer func() { closeFleet(t, c.m.fleet) }()
		behind := send(t, c.m.fleet, "ada", "behind")
		<-time.After(5*time.Minute + time.Millisecond)
		if o := outcome(t, c.m.fleet, "ada", c.prompt); o.Status != fleet.PromptStuck {
			t.Fatalf("not stuck: %+v", o)
		}
		c.broken.Store(false)
		if err := c.m.fleet.Cancel(t.Context(), "ada", c.prompt); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		if o := outcome(t, c.m.fleet, "ada", part); o.Status != fleet.PromptCancelled || o.PartOf != c.prompt {
			t.Errorf("the prompt that the turn took in: %+v", o)
		}
		if o := outcome(t, c.m.fleet, "ada", behind); o.Status != fleet.PromptAnswered {
			t.Errorf("the prompt behind it: %+v", o)
		}
		if want := []string{"tool 1", "behind"}; !slices.Equal(c.cli.calls, want) || c.records(t, "prompt") != 0 {
			t.Errorf("the model was asked %q, want %q", c.cli.calls, want)
		}
	})
}

// A call that was deferred and allowed is not made if its prompt is cancelled before,
// because the conversation was stuck on it: not even when the session is resumed for
// the next prompt.
func TestCancelAllowedCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &cancelling{db: store.Memory(), cli: newScripted()}
		c.start(t)
		defer func() { closeFleet(t, c.m.fleet) }()
		c.prompt = send(t, c.m.fleet, "ada", "tool 1")
		<-time.After(5*time.Minute + time.Millisecond) // until the call is deferred
		c.broken.Store(true)
		q := question(t, c.m.fleet)
		decide(t, c.m.fleet, q, permission.Allow())
		<-time.After(5 * time.Minute)
		if o := outcome(t, c.m.fleet, "ada", c.prompt); o.Status != fleet.PromptStuck {
			t.Fatalf("not stuck: %+v", o)
		}
		c.broken.Store(false)
		if err := c.m.fleet.Cancel(t.Context(), "ada", c.prompt); err != nil {
			t.Fatal(err)
		}
		if got := ask(t, c.m.fleet, "ada", "more"); !strings.HasSuffix(got, "more") {
			t.Errorf("answer %q", got)
		}
		if q, err := c.m.fleet.Approvals().Get(t.Context(), q.ID); err != nil || q.State != approval.StateGone || len(c.cli.tools) != 0 {
			t.Errorf("the question is %s, %v; the tool ran with %q", q.State, err, c.cli.tools)
		}
	})
}

// Prompts that cannot be cancelled.
func TestNotCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCancelling(t, false)
		defer func() { closeFleet(t, c.m.fleet) }()
		for id, want := range map[string]error{
			c.first: fleet.ErrBegun, "00000000-0000-4000-8000-000000000001": fleet.ErrUnknown, "../etc": fleet.ErrUnknown, "": fleet.ErrUnknown,
		} {
			if err := c.m.fleet.Cancel(t.Context(), "ada", id); !errors.Is(err, want) {
				t.Errorf("%q: %v", id, err)
			}
		}
		close(c.hold)
		<-time.After(time.Minute)
		if err := c.m.fleet.Cancel(t.Context(), "ada", c.prompt); !errors.Is(err, fleet.ErrBegun) {
			t.Errorf("after the answer: %v", err)
		}
	})
}
