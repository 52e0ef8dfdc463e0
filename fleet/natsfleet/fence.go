package natsfleet

import (
	"context"
	"errors"
	"hash/maphash"
	"strconv"
	"strings"

	"github.com/claude-agent-go/claude/store"
)

// fenced returns the subject that fences a write, and holds back other writes
// under the same fence until unlock is called.
func (s *leases) fenced(ctx context.Context, f store.Fence) (guard string, unlock func(), err error) {
	if f.IsZero() {
		return "", func() {}, nil
	}
	if f.Token < 1 {
		return "", nil, store.ErrLeaseLost // to the server, 0 means no condition
	}
	prefix := s.layout.lease(f.Project, f.Name)
	unlock, err = s.writes.lock(ctx, prefix)
	return prefix + ".e", unlock, err
}

// lost returns ErrLeaseLost if a fence is void. A refused write asks it, to see
// whether the lease was the reason.
func (s *leases) lost(ctx context.Context, f store.Fence) error {
	if f.IsZero() {
		return nil
	}
	m, err := s.last(ctx, s.layout.lease(f.Project, f.Name)+".e")
	if err == nil && (m == nil || m.seq != uint64(f.Token)) {
		err = store.ErrLeaseLost
	}
	return err
}

// change writes messages by compare-and-set, under a fence. A message can carry
// only one condition, so the fence is on a message of its own, in the same
// batch.
func (s *leases) change(ctx context.Context, f store.Fence, messages ...outgoing) (uint64, error) {
	guard, unlock, err := s.fenced(ctx, f)
	if err != nil {
		return 0, err
	}
	defer unlock()
	if guard != "" {
		messages = append([]outgoing{s.guardMessage(guard, f)}, messages...)
	}
	seq, err := s.write(ctx, messages...)
	if errors.Is(err, errMoved) {
		if lost := s.lost(ctx, f); lost != nil {
			return 0, lost
		}
	}
	return seq, err
}

// guardMessage is a message that the server accepts only while the fence holds.
// It makes the whole batch depend on the fence.
func (s *leases) guardMessage(guard string, f store.Fence) outgoing {
	subject := strings.TrimSuffix(guard, ".e") + ".g"
	return outgoing{subject: subject, expect: true, last: uint64(f.Token), guard: guard, replace: true, ttl: markTTL}
}

// writtenUnder makes headers that name a fence, if there is one, with further names and
// values.
func writtenUnder(f store.Fence, more ...string) map[string]string {
	h := make(map[string]string)
	if !f.IsZero() {
		h[headerLease], h[headerToken] = f.Name, strconv.FormatInt(f.Token, 10)
	}
	for i := 1; i < len(more); i += 2 {
		h[more[i-1]] = more[i]
	}
	return h
}

// serial allows one write under a lease at a time: the server refuses a fenced
// write while another with the same fence is in flight.
type serial struct {
	seed  maphash.Seed
	locks [256]chan struct{}
}

func newSerial() *serial {
	l := &serial{seed: maphash.MakeSeed()}
	for i := range l.locks {
		l.locks[i] = make(chan struct{}, 1)
	}
	return l
}

func (l *serial) lock(ctx context.Context, name string) (unlock func(), err error) {
	c := l.locks[maphash.String(l.seed, name)%uint64(len(l.locks))]
	select {
	case c <- struct{}{}:
		return func() { <-c }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
