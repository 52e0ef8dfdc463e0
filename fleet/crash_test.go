package fleet_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// send sends a prompt and lets the fleet do what it can at once.
func send(t *testing.T, f *fleet.Fleet, key, text string) string {
	t.Helper()
	id, err := f.Send(t.Context(), key, fleet.Prompt{Text: text})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	return id
}

// outcome returns the ticket of a prompt.
func outcome(t *testing.T, f *fleet.Fleet, key, id string) fleet.Ticket {
	t.Helper()
	o, err := f.Prompt(t.Context(), key, id)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// crash ends a fleet as SIGKILL does: from now on it reaches neither the store nor its
// CLIs. The output of its CLIs so far is stored.
func crash(t *testing.T, m *machine) {
	t.Helper()
	<-time.After(10 * time.Millisecond) // lines are stored a moment after they were said
	m.kill()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = m.fleet.Close(ctx)
}

// cutOff crashes a fleet at its n-th call of the store while it does something. It
// reports whether the fleet was done before that call.
func cutOff(t *testing.T, m *machine, n int, do func(context.Context) error) (done bool) {
	t.Helper()
	calls := 0
	m.mu.Lock()
	m.failing = func(string) bool { calls++; return calls >= n }
	m.mu.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := do(ctx)
	m.mu.Lock() // others use the store too
	done = err == nil && calls < n
	m.mu.Unlock()
	crash(t, m)
	return done
}

// start starts a fleet that can crash.
func start(t *testing.T, db *store.MemoryStore, cli *scripted, change func(*fleet.Options)) *machine {
	t.Helper()
	m := &machine{w: &world{db: db, ran: make(map[string]int), unfenced: unfenced(t)}, name: "machine", slots: 100, cli: cli.CLI}
	m.fleet = open(t, faulty(db, m), cli, func(o *fleet.Options) {
		o.Gate = &approval.Options{Patience: time.Minute}
		o.Session = func(context.Context, string) (*claude.Options, error) {
			return &claude.Options{Transport: m, Cwd: "/work", Env: []string{"HOME=/home/a"}, Logger: quiet()}, nil
		}
		if change != nil {
			change(o)
		}
	})
	return m
}

// A turn that broke off is continued under its own id, with the variables of the
// CLI for that, which are set for this start only. Close cuts a turn off as a
// crash does.
func TestCutOff(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *machine){
		"crash": crash,
		"close": func(t *testing.T, m *machine) { closeFleet(t, m.fleet) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db, cli := store.Memory(), newScripted()
				cli.hold = make(chan struct{})
				m := start(t, db, cli, nil)
				id := send(t, m.fleet, "ada", "hello")
				if o := outcome(t, m.fleet, "ada", id); o.Status != fleet.PromptRunning {
					t.Errorf("while it runs: %+v", o)
				}
				end(t, m)
				close(cli.hold)
				m = start(t, db, cli, nil)
				defer closeFleet(t, m.fleet)
				<-time.After(time.Minute) // the lease of the dead
				if o := outcome(t, m.fleet, "ada", id); o.Status != fleet.PromptAnswered || o.Text != "heard hello" {
					t.Errorf("after the crash: %+v", o)
				}
				if got := strings.Join(m.env(), " "); strings.Count(got, "CLAUDE_CODE_RESUME_") != 2 {
					t.Errorf("the CLI was started with %q", got)
				}
				<-time.After(5 * time.Minute)
				if got := ask(t, m.fleet, "ada", "again"); got != "heard hello, again" {
					t.Errorf("answer %q", got)
				}
				if got := strings.Join(m.env(), " "); strings.Contains(got, "CLAUDE_CODE_RESUME_") {
					t.Errorf("the variables are still set: %q", got)
				}
			})
		})
	}
}

// tapped notes the interrupts that are written to a CLI.
type tapped struct {
	claude.Transport
	interrupts *atomic.Int64
}

func (t tapped) Start(ctx context.Context, l *claude.Launch) (claude.Conn, error) {
	conn, err := t.Transport.Start(ctx, l)
	if err != nil {
		return nil, err
	}
	return &tappedConn{conn, t.interrupts}, nil
}

type tappedConn struct {
	claude.Conn
	interrupts *atomic.Int64
}

func (c *tappedConn) Write(b []byte) (int, error) {
	if strings.Contains(string(b), `"subtype":"interrupt"`) {
		c.interrupts.Add(1)
	}
	return c.Conn.Write(b)
}

// Close cuts a turn off and does not interrupt it, or the transcript would have the
// model believe that a person has stopped it. The context of the turn, here that of its
// trace, may end before the CLI does: until then the turn runs, and the CLI gets no
// interrupt.
func TestCutOffIsNoInterrupt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newScripted()
		release := cli.pause()
		var interrupts atomic.Int64
		var ends context.CancelFunc
		options := func(o *fleet.Options) {
			o.Trace = &fleet.PromptTrace{Running: func(ctx context.Context, _ fleet.TracePrompt) (context.Context, func(fleet.TraceOutcome) map[string]string) {
				ctx, ends = context.WithCancel(ctx)
				return ctx, func(fleet.TraceOutcome) map[string]string { return nil }
			}}
			o.Session = func(context.Context, string) (*claude.Options, error) {
				return &claude.Options{Transport: tapped{cli, &interrupts}, Cwd: "/work", Env: []string{"HOME=/home/a"}, Logger: quiet()}, nil
			}
		}
		f := open(t, db, cli, options)
		id := send(t, f, "ada", "hello")
		ends()
		<-time.After(time.Minute)
		if o := outcome(t, f, "ada", id); o.Status != fleet.PromptRunning || interrupts.Load() != 0 {
			t.Errorf("its context has ended: %+v, %d interrupts", o, interrupts.Load())
		}
		closeFleet(t, f)
		if interrupts.Load() != 0 {
			t.Errorf("closed with %d interrupts", interrupts.Load())
		}
		release()
		f = open(t, db, cli, options)
		defer closeFleet(t, f)
		<-time.After(time.Minute)
		if o := outcome(t, f, "ada", id); o.Status != fleet.PromptAnswered || o.Text != "heard hello" || o.Interrupted {
			t.Errorf("continued: %+v", o)
		}
		ends()
	})
}

// A crash while a person is asked leaves the question open. Decided, the call is
// made, with the same id.
func TestCutOffWhileAsked(t *testing.T) {
	for _, when := range []string{"before the next start", "after it"} {
		synctest.Test(t, func(t *testing.T) {
			db, cli := store.Memory(), newScripted()
			m := start(t, db, cli, nil)
			id := send(t, m.fleet, "ada", "tool 1")
			q := question(t, m.fleet)
			if q.Deferred {
				t.Fatal("nobody waits")
			}
			crash(t, m)
			if when == "before the next start" {
				decideIn(t, approval.NewQuestions(db, "p"), q, permission.Allow())
			}
			m = start(t, db, cli, nil)
			defer closeFleet(t, m.fleet)
			<-time.After(time.Minute)
			if when == "after it" {
				if o := outcome(t, m.fleet, "ada", id); o.Status != fleet.PromptWaiting || o.Question != q.ID {
					t.Errorf("before the decision: %+v", o)
				}
				decide(t, m.fleet, q, permission.Allow())
				<-time.After(time.Minute)
			}
			if o := outcome(t, m.fleet, "ada", id); o.Status != fleet.PromptAnswered || len(cli.tools) != 1 {
				t.Errorf("decided %s: %+v, the tool ran %q", when, o, cli.tools)
			}
		})
	}
}

// An answer that is in the transcript is the answer, even if its outcome could not be
// written.
func TestAnsweredBeforeTheCrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newScripted()
		m := start(t, db, cli, nil)
		cli.hold = make(chan struct{})
		id := send(t, m.fleet, "ada", "hello")
		m.mu.Lock()
		m.failing = func(method string) bool { return method == "Now" } // the time of the outcome
		m.mu.Unlock()
		close(cli.hold)
		<-time.After(time.Second)
		crash(t, m)
		m = start(t, db, cli, nil)
		defer closeFleet(t, m.fleet)
		<-time.After(time.Minute)
		if o := outcome(t, m.fleet, "ada", id); o.Status != fleet.PromptAnswered || o.Text != "heard hello" || o.Result != nil {
			t.Errorf("%+v", o)
		}
		if len(cli.calls) != 1 {
			t.Errorf("the model was asked %q", cli.calls)
		}
	})
}

// A fleet that cannot renew its leases kills its CLIs before another takes over.
func TestLeaseLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newScripted()
		cli.hold = make(chan struct{})
		first := start(t, db, cli, nil)
		id := send(t, first.fleet, "ada", "hello")
		first.mu.Lock()
		first.downUntil = time.Now().Add(time.Hour)
		first.mu.Unlock()
		second := start(t, db, newScripted(), nil)
		<-time.After(35 * time.Second)
		if live, _ := first.counts(); live != 0 {
			t.Errorf("%d CLIs run without a lease", live)
		}
		<-time.After(time.Minute)
		if o := outcome(t, second.fleet, "ada", id); o.Status != fleet.PromptAnswered {
			t.Errorf("%+v", o)
		}
		close(cli.hold)
		closeFleet(t, second.fleet)
		closeFleet(t, first.fleet)
	})
}

// Close defers calls that wait for a person, at once.
func TestCloseParks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newScripted()
		m := start(t, db, cli, nil)
		id := send(t, m.fleet, "ada", "tool 1")
		begin := time.Now()
		closeFleet(t, m.fleet)
		if d := time.Since(begin); d > time.Second {
			t.Errorf("closed after %v", d)
		}
		m = start(t, db, cli, nil)
		defer closeFleet(t, m.fleet)
		q := question(t, m.fleet)
		if o := outcome(t, m.fleet, "ada", id); o.Status != fleet.PromptWaiting || !q.Deferred || o.Question != q.ID {
			t.Errorf("%+v, %+v", o, q)
		}
		// Interrupted, it waits no longer.
		synctest.Wait()
		if err := m.fleet.Interrupt(t.Context(), "ada"); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		if o := outcome(t, m.fleet, "ada", id); o.Status != fleet.PromptFailed || !o.Interrupted || len(cli.tools) != 0 {
			t.Errorf("after the interrupt: %+v, %q", o, cli.tools)
		}
	})
}

// Too many prompts are refused, with how long to wait, and the others are
// answered.
func TestOverloaded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := newScripted()
		cli.hold = make(chan struct{})
		f := open(t, store.Memory(), cli, func(o *fleet.Options) { o.Queue, o.QueueAll = 3, 5 })
		defer closeFleet(t, f)
		accepted := 0
		for n := range 20 {
			_, err := f.Send(t.Context(), []string{"ada", "bob"}[n%2], fleet.Prompt{Text: "hello"})
			if err == nil {
				accepted++
				continue
			}
			full, ok := errors.AsType[*fleet.OverloadedError](err)
			if !ok || !errors.Is(err, fleet.ErrOverloaded) || full.Wait < time.Second || full.Queued < 3 {
				t.Fatalf("prompt %d: %v", n, err)
			}
		}
		if accepted != 5 {
			t.Errorf("%d were accepted", accepted)
		}
		close(cli.hold)
		<-time.After(time.Minute)
		for _, key := range []string{"ada", "bob"} {
			if info, err := f.Get(t.Context(), key); err != nil || info.Queued != 0 {
				t.Errorf("%+v, %v", info, err)
			}
		}
		if got := ask(t, f, "ada", "there is room"); !strings.Contains(got, "room") {
			t.Errorf("answer %q", got)
		}
	})
}

// Prompts that are still being written take room in the queue: no more are accepted at
// once than one after the other.
func TestOverloadedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hanging{Fleet: store.Memory()}
		f := open(t, h, newScripted(), func(o *fleet.Options) { o.Queue, o.StoreTimeout = 2, 10*time.Second })
		defer closeFleet(t, f)
		h.prompts.Store(true)
		errs := make(chan error, 6)
		for range cap(errs) {
			go func() {
				_, err := f.Send(t.Context(), "ada", fleet.Prompt{Text: "hello"})
				errs <- err
			}()
		}
		synctest.Wait()
		if len(errs) != 4 {
			t.Errorf("%d of 6 prompts are refused at once, want 4", len(errs))
		}
		for range len(errs) {
			if full, ok := errors.AsType[*fleet.OverloadedError](<-errs); !ok || full.Key != "ada" || full.Queued != 2 {
				t.Errorf("%v, want that two are queued", full)
			}
		}
		<-time.After(time.Minute)
		h.prompts.Store(false)
	})
}

// A busy conversation or tenant does not keep the others waiting for long.
func TestFairness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := newScripted()
		cli.hold = make(chan struct{}) // until every prompt waits
		f := open(t, store.Memory(), cli, func(o *fleet.Options) { o.MaxLive = 1 })
		defer closeFleet(t, f)
		for n := range 20 {
			send2(t, f, "greedy/"+string(rune('a'+n%2)), "much")
		}
		send2(t, f, "modest/a", "little")
		close(cli.hold)
		<-time.After(time.Minute)
		at := slices.Index(cli.calls, "little")
		if len(cli.calls) != 21 || at < 0 || at > 8 {
			t.Errorf("prompt %d of %d was that of the other tenant: %q", at, len(cli.calls), cli.calls)
		}
	})
}

// send2 sends a prompt without waiting for anything.
func send2(t *testing.T, f *fleet.Fleet, key, text string) {
	t.Helper()
	if _, err := f.Send(t.Context(), key, fleet.Prompt{Text: text}); err != nil {
		t.Fatal(err)
	}
}

// A store that takes a renewal and never answers does not keep a CLI alive past its
// lease: it is gone when another can begin.
func TestRenewalHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newScripted()
		cli.hold = make(chan struct{})
		silent := &silentLeases{MemoryStore: db}
		m := &machine{w: &world{db: db, ran: make(map[string]int)}, name: "machine", slots: 100, cli: cli.CLI}
		first := open(t, silent, cli, func(o *fleet.Options) {
			o.TTL = 30 * time.Second
			o.Session = func(context.Context, string) (*claude.Options, error) {
				return &claude.Options{Transport: m, Cwd: "/work", Env: []string{"HOME=/home/a"}, Logger: quiet()}, nil
			}
		})
		send(t, first, "ada", "hello")
		<-time.After(30*time.Second - time.Millisecond) // it has never been renewed
		if live, _ := m.counts(); live != 0 {
			t.Errorf("%d CLIs run when the lease can be taken", live)
		}
		close(cli.hold)
		closeFleet(t, first)
	})
}

// silentLeases never answers when a lease is renewed, for as long as it may.
type silentLeases struct{ *store.MemoryStore }

func (d *silentLeases) Renew(ctx context.Context, _ store.Lease) error {
	<-ctx.Done()
	return ctx.Err()
}
