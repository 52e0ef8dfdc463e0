package fleet_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/store"
)

// warm is a fleet with one slot and a conversation that sleeps.
func warm(t *testing.T, cli claude.Transport, change func(*fleet.Options)) (*store.MemoryStore, *fleet.Fleet) {
	t.Helper()
	db := store.Memory()
	f := open(t, db, cli, func(o *fleet.Options) {
		o.MaxLive, o.IdleAfter, o.Gate = 1, time.Minute, &approval.Options{Patience: 10 * time.Second}
		if change != nil {
			change(o)
		}
	})
	ask(t, f, "ada", "hello")
	<-time.After(2 * time.Minute)
	return db, f
}

// running checks how many CLIs run.
func running(t *testing.T, cli *scripted, when string, want int) {
	t.Helper()
	synctest.Wait()
	if live, most := cli.counts(); live != want || most > 1 {
		t.Errorf("%s: %d CLIs run, want %d; at most %d did", when, live, want, most)
	}
}

// A conversation that was prewarmed has a CLI, which answers the next prompt and ends after
// the idle time. The start writes nothing but the lease.
func TestPrewarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := newScripted()
		db, f := warm(t, cli, nil)
		defer closeFleet(t, f)
		before := storedIn(t, db)
		for range 3 { // again is not more
			if err := f.Prewarm(t.Context(), "ada"); err != nil {
				t.Fatal(err)
			}
			running(t, cli, "prewarmed", 1)
		}
		if info, err := f.Get(t.Context(), "ada"); err != nil || info.State != fleet.StateAwake || info.Queued != 0 {
			t.Errorf("%+v, %v", info, err)
		}
		if _, err := db.Acquire(t.Context(), "p", "fleet/c/ada", "another process", time.Minute); !errors.Is(err, store.ErrLeased) {
			t.Errorf("its lease: %v", err)
		}
		if after := storedIn(t, db); after != before {
			t.Errorf("stored is\n%s\nbefore it was\n%s", after, before)
		}
		begun := cli.started()
		if got := ask(t, f, "ada", "more"); got != "heard hello, more" || cli.started() != begun {
			t.Errorf("%q, %d more starts", got, cli.started()-begun)
		}
		<-time.After(2 * time.Minute)
		running(t, cli, "idle", 0)
		if err := f.Prewarm(t.Context(), "ada"); err != nil {
			t.Fatal(err)
		}
		<-time.After(59 * time.Second)
		running(t, cli, "before the idle time", 1)
		<-time.After(2 * time.Second)
		running(t, cli, "after the idle time", 0)
	})
}

// storedIn is all that a store has of a project but leases.
func storedIn(t *testing.T, db *store.MemoryStore) string {
	t.Helper()
	all := make(map[string]any)
	for _, kind := range []string{"conversation", "prompt", "outcome", "calls", "question"} {
		all[kind] = allRecords(t, db, kind)
	}
	for s, err := range db.List(t.Context(), "p") {
		if err != nil {
			t.Fatal(err)
		}
		all[s.Session] = s
	}
	return shown(t, all)
}

// A prompt of another conversation gets the slot of one that was prewarmed, whether its CLI
// runs or is being started, and a prewarming takes no slot that is in use.
func TestPrewarmGivesWay(t *testing.T) {
	for name, slow := range map[string]time.Duration{"ready": 0, "starting": 30 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cli := newScripted()
				late := &lateStart{scripted: cli}
				_, f := warm(t, late, nil)
				defer closeFleet(t, f)
				late.by.Store(int64(slow))
				done := make(chan error, 1)
				go func() { done <- f.Prewarm(t.Context(), "ada") }()
				<-time.After(time.Second)
				late.by.Store(0)
				begin := time.Now()
				if got := ask(t, f, "bob", "hi"); got != "heard hi" || time.Since(begin) > time.Second {
					t.Errorf("%q after %v", got, time.Since(begin))
				}
				if err := <-done; err != nil {
					t.Errorf("it was given up: %v", err)
				}
				running(t, cli, "the other one", 1)
				begun := cli.started()
				if err := f.Prewarm(t.Context(), "ada"); err != nil || cli.started() != begun {
					t.Errorf("without a free slot: %v, %d starts", err, cli.started()-begun)
				}
				if got := ask(t, f, "ada", "more"); got != "heard hello, more" {
					t.Errorf("%q", got)
				}
			})
		})
	}
}

// lateStart is a CLI that takes a while to start.
type lateStart struct {
	*scripted
	by atomic.Int64 // nanoseconds
}

func (l *lateStart) Start(ctx context.Context, launch *claude.Launch) (claude.Conn, error) {
	select {
	case <-time.After(time.Duration(l.by.Load())):
		return l.scripted.Start(ctx, launch)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// A prompt that comes while its conversation is being prewarmed uses that start.
func TestPromptWhilePrewarming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := newScripted()
		late := &lateStart{scripted: cli}
		_, f := warm(t, late, nil)
		defer closeFleet(t, f)
		late.by.Store(int64(10 * time.Second))
		begun := cli.started()
		go func() { _ = f.Prewarm(t.Context(), "ada") }()
		<-time.After(8 * time.Second)
		begin := time.Now()
		if got := ask(t, f, "ada", "more"); got != "heard hello, more" || time.Since(begin) > 3*time.Second || cli.started() != begun+1 {
			t.Errorf("%q after %v, %d starts", got, time.Since(begin), cli.started()-begun)
		}
	})
}

// lateLease is a store whose leases take a while.
type lateLease struct {
	*store.MemoryStore
	by atomic.Int64 // nanoseconds
}

func (l *lateLease) Acquire(ctx context.Context, project, name, owner string, ttl time.Duration) (store.Lease, error) {
	<-time.After(time.Duration(l.by.Load()))
	return l.MemoryStore.Acquire(ctx, project, name, owner, ttl)
}

// A prompt that is faster than the start it was prewarmed for begins like any other, and
// Prewarm does not wait until the conversation has nothing to do.
func TestPromptBeforePrewarming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli, late := newScripted(), &lateLease{MemoryStore: store.Memory()}
		_, f := warm(t, cli, func(o *fleet.Options) { o.Store = late })
		defer closeFleet(t, f)
		begun := cli.started()
		late.by.Store(int64(10 * time.Second))
		done := make(chan error, 1)
		go func() { done <- f.Prewarm(t.Context(), "ada") }()
		<-time.After(time.Second)
		if got := ask(t, f, "ada", "more"); got != "heard hello, more" || cli.started() != begun+1 {
			t.Errorf("%q, %d starts", got, cli.started()-begun)
		}
		synctest.Wait()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		default:
			t.Error("Prewarm still waits")
			<-done
		}
	})
}

// lateEnd is a CLI that takes ten seconds to end.
type lateEnd struct{ *scripted }

func (l lateEnd) Start(ctx context.Context, launch *claude.Launch) (claude.Conn, error) {
	conn, err := l.scripted.Start(ctx, launch)
	return lateConn{conn}, err
}

type lateConn struct{ claude.Conn }

func (c lateConn) Wait() error {
	err := c.Conn.Wait()
	<-time.After(10 * time.Second)
	return err
}

// A conversation whose CLI is just ending sleeps already, as people see it: it is prewarmed
// as soon as its slot is free.
func TestPrewarmWhileFallingAsleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := newScripted()
		db, f := warm(t, lateEnd{cli}, nil)
		defer func() {
			closeFleet(t, f)
			<-time.After(time.Minute) // for the last one to end
		}()
		ask(t, f, "ada", "more")
		<-time.After(time.Minute + 2*time.Second)
		info, err := f.Get(t.Context(), "ada")
		_, held := db.Acquire(t.Context(), "p", "fleet/c/ada", "another process", time.Minute)
		if err != nil || info.State != fleet.StateAsleep || !errors.Is(held, store.ErrLeased) {
			t.Fatalf("%+v, %v; its lease: %v", info, err, held)
		}
		begun := cli.started()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := f.Prewarm(ctx, "ada"); !errors.Is(err, context.DeadlineExceeded) || cli.started() != begun {
			t.Errorf("by a caller who does not wait: %v, %d starts", err, cli.started()-begun)
		}
		if err := f.Prewarm(t.Context(), "ada"); err != nil || cli.started() != begun+1 {
			t.Errorf("%v, %d starts", err, cli.started()-begun)
		}
		running(t, cli, "prewarmed", 1)
	})
}

// What waits for something else than a prompt is left alone, and an error is harmless.
func TestPrewarmLeavesAlone(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(t *testing.T, f *fleet.Fleet, fail func(bool))
		key     string
		want    error
	}{
		"unknown": {key: "nobody", want: fleet.ErrUnknown},
		"deferred": {key: "ada", prepare: func(t *testing.T, f *fleet.Fleet, _ func(bool)) {
			send(t, f, "ada", "tool 1")
			<-time.After(5 * time.Minute)
		}},
		"stuck": {key: "ada", prepare: func(t *testing.T, f *fleet.Fleet, fail func(bool)) {
			fail(true)
			send(t, f, "ada", "more")
			<-time.After(5 * time.Minute)
			fail(false)
		}},
		"new, twice": {key: "new", prepare: func(t *testing.T, f *fleet.Fleet, _ func(bool)) {
			if err := f.Describe(t.Context(), "new", fleet.Description{Title: "new"}); err != nil {
				t.Fatal(err)
			}
			if err := f.Prewarm(t.Context(), "new"); err != nil {
				t.Fatal(err)
			}
			<-time.After(5 * time.Minute)
		}},
		"does not start": {key: "ada", want: errBroken, prepare: func(_ *testing.T, _ *fleet.Fleet, fail func(bool)) { fail(true) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cli, broken := newScripted(), false
				db, f := warm(t, cli, func(o *fleet.Options) {
					usual := o.Session
					o.Session = func(ctx context.Context, key string) (*claude.Options, error) {
						if broken {
							return nil, errBroken
						}
						return usual(ctx, key)
					}
				})
				defer closeFleet(t, f)
				if test.prepare != nil {
					test.prepare(t, f, func(fails bool) { broken = fails })
				}
				before, begun := storedIn(t, db), cli.started()
				if err := f.Prewarm(t.Context(), test.key); !errors.Is(err, test.want) {
					t.Errorf("%v", err)
				}
				<-time.After(5 * time.Minute)
				if after := storedIn(t, db); after != before || cli.started() != begun {
					t.Errorf("%d starts, stored is\n%s\nbefore it was\n%s", cli.started()-begun, after, before)
				}
				running(t, cli, "left alone", 0)
			})
		})
	}
}

var errBroken = errors.New("no such repository")

// A fleet that does not run a conversation says so.
func TestPrewarmElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := newScripted()
		db, worker := warm(t, cli, nil)
		defer closeFleet(t, worker)
		begun := cli.started()
		for name, change := range map[string]func(*fleet.Options){
			"without CLIs": withoutCLIs,
			"for others":   func(o *fleet.Options) { o.Runs = func(key string) bool { return key != "ada" } },
		} {
			f := open(t, db, cli, change)
			if err := f.Prewarm(t.Context(), "ada"); !errors.Is(err, fleet.ErrElsewhere) {
				t.Errorf("%s: %v", name, err)
			}
			if err := f.Prewarm(t.Context(), "nobody"); !errors.Is(err, fleet.ErrUnknown) {
				t.Errorf("%s, an unknown conversation: %v", name, err)
			}
			closeFleet(t, f)
		}
		if cli.started() != begun {
			t.Errorf("%d starts", cli.started()-begun)
		}
	})
}
