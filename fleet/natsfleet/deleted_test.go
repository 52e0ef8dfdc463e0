package natsfleet_test

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/claude-agent-go/claude/fleet/natsfleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet/natstest"
	"github.com/claude-agent-go/claude/store"
)

// deletedBeside are ways to write to a session that another process deletes. Each
// writes until it is refused, and reports every write. None checks again later: an
// owner that dies must not leave anything behind either.
var deletedBeside = map[string]func(s *natsfleet.Store, t *testing.T, k store.Key, wrote func() error) error{
	"unfenced": func(s *natsfleet.Store, t *testing.T, k store.Key, wrote func() error) error {
		return appendUntilRefused(s, t, k, store.Fence{}, -1, wrote)
	},
	"fenced": func(s *natsfleet.Store, t *testing.T, k store.Key, wrote func() error) error {
		l, err := s.Acquire(t.Context(), "p", k.Session, "me", time.Hour)
		if err != nil {
			return err
		}
		return appendUntilRefused(s, t, k, l.Fence, -1, wrote)
	},
	"written anew": func(s *natsfleet.Store, t *testing.T, k store.Key, wrote func() error) error {
		for {
			l, err := s.Acquire(t.Context(), "p", k.Session, "me", time.Hour)
			if err != nil {
				return err
			}
			err = appendUntilRefused(s, t, k, l.Fence, 3, wrote)
			if err := errors.Join(err, s.Release(t.Context(), l)); err != nil {
				return err
			}
		}
	},
}

// appendUntilRefused appends so many batches, without end if n is negative.
func appendUntilRefused(s *natsfleet.Store, t *testing.T, k store.Key, f store.Fence, n int, wrote func() error) error {
	for ; n != 0; n-- {
		line := fmt.Appendf(nil, `{"uuid":%q}`, newID())
		if err := s.Append(t.Context(), k, store.Batch{ID: newID(), Fence: f, Entries: []store.Entry{line}}); err != nil {
			return err
		}
		if err := wrote(); err != nil {
			return err
		}
	}
	return nil
}

// A session that is deleted while others write to it leaves no entry in the stream,
// neither on one server nor on three whose leader changes. Nothing is written once
// Delete has returned.
func TestDeletedBesideAppend(t *testing.T) {
	t.Parallel()
	for _, nodes := range []int{1, 3} {
		t.Run(fmt.Sprint(nodes), func(t *testing.T) {
			t.Parallel()
			c := natstest.Start(t, natstest.Options{Nodes: nodes})
			reader := openStore(t, c.URL())
			if nodes > 1 {
				defer changeLeaders(t, c)()
			}
			var all sync.WaitGroup
			for how, write := range deletedBeside {
				writer := newKeeper(t, c.URL(), "", func(o *natsfleet.Options) { o.CompactAt(2) })
				deleter := openStore(t, c.URL())
				all.Go(func() {
					for i := range 12 {
						k := store.Key{Project: "p", Session: newID()}
						if i%3 == 2 {
							k.Sub = "subagents/agent-1"
						}
						if err := deleteBeside(t, deleter, k, i%4, func(wrote func() error) error { return write(writer.Store, t, k, wrote) }); err != nil {
							t.Errorf("%s, deleted after %d: %v", how, i%4, err)
						}
					}
				})
			}
			all.Wait()
			left, err := reader.Everything(t.Context(), "t", "p")
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range left {
				t.Errorf("message %d of %s is left: %s", m.Seq, m.Subject, m.Data)
			}
		})
	}
}

// deleteBeside deletes a session when so much of it was written, and returns when the
// writer has noticed.
func deleteBeside(t *testing.T, s *natsfleet.Store, k store.Key, after int, write func(wrote func() error) error) error {
	enough := make(chan struct{})
	if after == 0 {
		close(enough)
	}
	var written, late atomic.Int64
	var deleted atomic.Bool
	wrote := func() error {
		if written.Add(1) == int64(after) {
			close(enough)
		}
		if deleted.Load() && late.Add(1) > 1 { // the answer to one that was stored before may come late
			return errors.New("written after it was deleted")
		}
		return nil
	}
	refused := make(chan error, 1)
	go func() { refused <- write(wrote) }()
	select {
	case <-enough:
	case err := <-refused:
		return fmt.Errorf("refused before it was deleted: %w", err)
	}
	if err := s.Delete(t.Context(), store.Key{Project: k.Project, Session: k.Session}, store.Fence{}); err != nil {
		return err
	}
	deleted.Store(true)
	if err := <-refused; !errors.Is(err, store.ErrDeleted) {
		return fmt.Errorf("the writer got %w", err)
	}
	return nil
}

// Once a deletion has left its tombstone, nothing more is written to the session,
// neither entries nor a compacted transcript, even if the deleting process gets no
// further.
func TestNothingBehindTheMark(t *testing.T) {
	t.Parallel()
	for _, nodes := range []int{1, 3} {
		t.Run(fmt.Sprint(nodes), func(t *testing.T) {
			t.Parallel()
			c := natstest.Start(t, natstest.Options{Nodes: nodes})
			k := newKeeper(t, c.URL(), "", func(o *natsfleet.Options) { o.CompactAt(2) })
			sub := chainKey
			sub.Sub = "subagents/agent-1"
			var before []natsfleet.StoredMessage
			k.session(func(f store.Fence) {
				k.say(chainKey, f, 5)
				newStranger(t, c.URL()).store("claude.d.p."+chainKey.Session, nats.Header{"Nonce": {newID()}}, nil)
				before = k.everything()
				for _, f := range []store.Fence{f, {}} {
					for _, to := range []store.Key{chainKey, sub} {
						err := k.Append(t.Context(), to, store.Batch{ID: newID(), Fence: f, Entries: []store.Entry{[]byte(`{"late":true}`)}})
						if !errors.Is(err, store.ErrDeleted) {
							t.Errorf("Append to %v under %v = %v; want ErrDeleted", to, f, err)
						}
					}
				}
			}) // and would write it anew
			if after := k.everything(); !reflect.DeepEqual(after, before) {
				t.Errorf("after the mark the stream has %v, before it had %v", after, before)
			}
			if err := k.Delete(t.Context(), chainKey, store.Fence{}); err != nil {
				t.Fatal(err)
			}
			if left := k.everything(); len(left) > 0 {
				t.Errorf("deleted again, it has %v", left)
			}
		})
	}
}

// everything are all messages of transcripts.
func (k *keeper) everything() []natsfleet.StoredMessage {
	k.t.Helper()
	all, err := k.Everything(k.t.Context(), "t", "p")
	if err != nil {
		k.t.Fatal(err)
	}
	return all
}

// changeLeaders lets another node lead the stream, again and again, until stop is called.
func changeLeaders(t *testing.T, c *natstest.Cluster) (stop func()) {
	nc := newStranger(t, c.URL()).nc
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			case <-time.After(300 * time.Millisecond):
				_, _ = nc.Request("$JS.API.STREAM.LEADER.STEPDOWN.claude", nil, time.Second) // there may be none just now
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}
