package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// stepping is a store that calls at before and after each request that takes, gives back
// or changes something.
type stepping struct {
	store.Fleet
	at func()
}

func (s *stepping) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	s.at()
	defer s.at()
	return s.Fleet.Change(ctx, f, c...)
}

func (s *stepping) Acquire(ctx context.Context, project, name, owner string, ttl time.Duration) (store.Lease, error) {
	s.at()
	defer s.at()
	return s.Fleet.Acquire(ctx, project, name, owner, ttl)
}

func (s *stepping) Release(ctx context.Context, l store.Lease) error {
	s.at()
	defer s.at()
	return s.Fleet.Release(ctx, l)
}

// ranAs sends a prompt and returns the mode and the model of its turn.
func ranAs(t *testing.T, f *fleet.Fleet, prompt string) (as string) {
	t.Helper()
	for m, err := range f.Run(t.Context(), "ada", prompt) {
		if err != nil {
			t.Fatal(err)
		}
		if init, ok := m.(*message.Init); ok {
			as = fmt.Sprint(init.PermissionMode, " ", init.Model)
		}
	}
	return as
}

func choosePlanOpus(ctx context.Context, f *fleet.Fleet) error {
	return errors.Join(f.SetPermissionMode(ctx, "ada", permission.ModePlan), f.SetModel(ctx, "ada", "opus"))
}

// What is chosen for a conversation that no process runs is accepted at once: there is no
// process to wait for. If one runs it, or starts its CLI, that process is asked.
func TestChooseAsleep(t *testing.T) {
	for name, before := range map[string]func(t *testing.T, client, worker *fleet.Fleet){
		"never begun": func(t *testing.T, client, _ *fleet.Fleet) {
			if err := client.Describe(t.Context(), "ada", fleet.Description{Title: "Ada"}); err != nil {
				t.Fatal(err)
			}
		},
		"asleep": func(t *testing.T, client, _ *fleet.Fleet) {
			ask(t, client, "ada", "hello")
			<-time.After(time.Hour)
		},
		"awake": func(t *testing.T, client, _ *fleet.Fleet) { ask(t, client, "ada", "hello") },
		"its process has ended": func(t *testing.T, client, worker *fleet.Fleet) {
			ask(t, client, "ada", "hello")
			closeFleet(t, worker)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := store.Memory()
				client, worker := apart(t, db, newScripted(), nil)
				defer closeFleet(t, worker)
				defer closeFleet(t, client)
				before(t, client, worker)
				begin := time.Now()
				if err := choosePlanOpus(t.Context(), client); err != nil || time.Since(begin) > 0 {
					t.Errorf("%v after %v", err, time.Since(begin))
				}
				if name == "its process has ended" {
					worker = open(t, db, newScripted(), nil)
					defer closeFleet(t, worker)
				}
				if as := ranAs(t, worker, "again"); as != "plan opus" {
					t.Errorf("it runs as %s", as)
				}
			})
		})
	}
}

// A process that starts the CLI need not be waited for: it looks at the choices again
// when the CLI is there.
func TestChooseElsewhereWhileStarting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := &slowStart{Transport: newScripted()}
		client, worker := apart(t, store.Memory(), cli, nil)
		defer closeFleet(t, worker)
		defer closeFleet(t, client)
		cli.meanwhile = func() error {
			begin := time.Now()
			err := choosePlanOpus(t.Context(), client)
			if took := time.Since(begin); took > 0 {
				t.Errorf("it took %v", took)
			}
			return err
		}
		if as := ranAs(t, worker, "hello"); as != "plan opus" {
			t.Errorf("it runs as %s", as)
		}
	})
}

// A choice is in force from the next turn on, however the conversation wakes, or falls
// asleep, between two requests of the process that chooses.
func TestChooseWhileWaking(t *testing.T) {
	for _, falls := range []bool{false, true} {
		for step := 0; ; step++ {
			reached := false
			synctest.Test(t, func(t *testing.T) {
				db, n, sent := store.Memory(), -1, make(chan string, 1)
				r := newRadio()
				worker := open(t, db, newScripted(), func(o *fleet.Options) { o.Bus = r })
				defer closeFleet(t, worker)
				between := func() {
					if n++; n != step {
						return
					}
					reached = true
					if falls {
						<-time.After(30 * time.Minute)
						return
					}
					go func() { sent <- ranAs(t, worker, "meanwhile") }()
					<-time.After(100 * time.Millisecond)
				}
				s := &stepping{db, func() {}}
				client := open(t, s, nil, func(o *fleet.Options) {
					withoutCLIs(o)
					o.Bus = r
				})
				defer closeFleet(t, client)
				ask(t, client, "ada", "hello")
				if !falls {
					<-time.After(time.Hour)
				}
				s.at = between
				begin := time.Now()
				if err := choosePlanOpus(t.Context(), client); err != nil {
					t.Error(err)
				}
				if took := time.Since(begin); !falls && took >= 2*time.Second {
					t.Errorf("it took %v", took)
				}
				s.at = func() {}
				if reached && !falls {
					<-sent
				}
				if as := ranAs(t, worker, "again"); as != "plan opus" {
					t.Errorf("falls asleep %v, at step %d: it runs as %s", falls, step, as)
				}
			})
			if t.Failed() || !reached {
				break
			}
		}
	}
}

// unanswered is a lease that is held by a process which replies to nobody, until it is
// released.
func unanswered(t *testing.T, db *store.MemoryStore) store.Lease {
	t.Helper()
	l, err := db.Acquire(t.Context(), "p", "fleet/c/ada", "another", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// A process that holds the lease for a moment only, and does not reply, is not waited for
// longer than that.
func TestChooseMomentarilyHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		client, worker := apart(t, db, newScripted(), nil)
		defer closeFleet(t, worker)
		defer closeFleet(t, client)
		ask(t, client, "ada", "hello")
		<-time.After(time.Hour)
		l := unanswered(t, db)
		time.AfterFunc(100*time.Millisecond, func() { _ = db.Release(context.WithoutCancel(t.Context()), l) })
		begin := time.Now()
		if err := client.SetModel(t.Context(), "ada", "opus"); err != nil || time.Since(begin) > time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
	})
}
