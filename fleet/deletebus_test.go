package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/store"
)

// slowLease is a store in which it takes a while to acquire a lease.
type slowLease struct{ store.Fleet }

func (s slowLease) Acquire(ctx context.Context, project, name, owner string, ttl time.Duration) (store.Lease, error) {
	<-time.After(time.Second)
	return s.Fleet.Acquire(ctx, project, name, owner, ttl)
}

// slowDelete is a store that takes a while to delete a session.
type slowDelete struct{ store.Fleet }

func (s slowDelete) Delete(ctx context.Context, k store.Key, f store.Fence) error {
	<-time.After(3 * time.Second)
	return s.Fleet.Delete(ctx, k, f)
}

// A process that only asks for the lease does not answer for the one that has it: the
// caller reads the outcome of the deletion.
func TestDeleteAnsweredByTheOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, bus, cli := store.Memory(), newRadio(), newScripted()
		cli.hold = make(chan struct{})
		join := func(s store.Fleet, change func(*fleet.Options)) *fleet.Fleet {
			return open(t, s, cli, func(o *fleet.Options) {
				o.Bus = bus
				if change != nil {
					change(o)
				}
			})
		}
		owner := join(slowDelete{db}, nil)
		defer closeFleet(t, owner)
		client := join(db, withoutCLIs)
		defer closeFleet(t, client)
		send(t, client, "ada", "hello")
		<-time.After(time.Second)
		asking := join(slowLease{db}, nil) // it finds the prompt, and asks for the lease
		synctest.Wait()
		go closeFleet(t, asking)
		synctest.Wait() // it can delete nothing anymore, and still waits for the store
		begin := time.Now()
		if err := client.Delete(t.Context(), "ada"); err != nil || time.Since(begin) < 3*time.Second {
			t.Errorf("Delete: %v after %v", err, time.Since(begin))
		}
		if _, err := client.Get(t.Context(), "ada"); !errors.Is(err, fleet.ErrUnknown) {
			t.Errorf("Get: %v", err)
		}
		close(cli.hold)
	})
}

// If the process that has the lease is gone before it replies, the one that was asked to
// delete does it.
func TestDeleteAfterTheOwnerLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		client, worker := apart(t, db, newScripted(), nil)
		defer closeFleet(t, worker)
		defer closeFleet(t, client)
		ask(t, client, "ada", "hello")
		<-time.After(time.Hour)
		l := unanswered(t, db)
		time.AfterFunc(time.Second, func() { _ = db.Release(context.WithoutCancel(t.Context()), l) })
		if err := client.Delete(t.Context(), "ada"); err != nil {
			t.Errorf("Delete: %v", err)
		}
		if got := left(t, db); len(got) > 0 {
			t.Errorf("left are %q", got)
		}
	})
}

// damagedDelete is a store in which no session can be deleted.
type damagedDelete struct{ store.Fleet }

func (damagedDelete) Delete(_ context.Context, k store.Key, _ store.Fence) error {
	return fmt.Errorf("%s: %w", k, store.ErrDamaged)
}

// An error that another process has made matches what it would match here, and names the
// conversation and that process.
func TestErrorFromElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, worker := apart(t, damagedDelete{store.Memory()}, newScripted(), nil)
		defer closeFleet(t, worker)
		defer closeFleet(t, client)
		ask(t, client, "ada", "hello")
		err := client.Delete(t.Context(), "ada")
		about, ok := errors.AsType[*fleet.ConversationError](err)
		if !errors.Is(err, store.ErrDamaged) || !ok || about.Key != "ada" || !strings.Contains(err.Error(), "the process that runs it answers") {
			t.Errorf("Delete: %v", err)
		}
	})
}
