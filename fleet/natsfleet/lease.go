package natsfleet

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/storeimpl"
)

// A lease has two subjects. The message on one names the owner and the expiry;
// every renewal replaces it. The message on the other is the epoch, which only
// the next owner replaces. Its sequence is the token: every write under the lease
// carries it, so the server itself refuses an owner that was replaced. The two
// are separate because the server refuses a fenced write while the fence is being
// written, and renewals must not get in the way.

// owner is the message that names the owner of a lease.
type owner struct {
	Nonce string        `json:"nonce"` // of the owner; the epoch has the same one
	Owner string        `json:"owner"`
	TTL   time.Duration `json:"ttl"`
	Free  bool          `json:"free,omitzero"`
}

// epoch is the message that fences writes.
type epoch struct {
	Nonce string `json:"nonce"`
	Free  bool   `json:"free,omitzero"`
	Other int64  `json:"other,omitzero"` // the token of the lease in the other store, see sideStore
}

// freeTTL is how long the messages of a lease stay after it was given back.
const freeTTL = 10 * time.Minute

// leases gives out leases and writes under them: the server refuses a write whose fencing
// token is not that of the present epoch.
type leases struct {
	*stream
	writes *serial
	side   *sideStore // nil if there is none

	mu   sync.Mutex
	held map[store.Fence]holding
}

// take checks a request for a lease, and acquires it.
func (s *leases) take(ctx context.Context, project, name, who string, ttl time.Duration) (store.Lease, error) {
	if err := cmp.Or(storeimpl.CheckAcquire(project, name, who, ttl), ctx.Err()); err != nil {
		return store.Lease{}, err
	}
	return s.acquire(ctx, store.Lease{Fence: store.Fence{Project: project, Name: name}, Owner: who, TTL: ttl}, false)
}

// acquire gives out a lease. With both, it also takes the lease in the archive,
// if there is one.
func (s *leases) acquire(ctx context.Context, l store.Lease, both bool) (store.Lease, error) {
	name, prefix := l.Name, s.layout.lease(l.Project, l.Name)
	me := owner{Nonce: rand.Text(), Owner: l.Owner, TTL: l.TTL}
	for {
		// Read the epoch before taking the lease: an owner that is suspended in
		// between, and wakes after another has taken over, must not replace
		// that one's epoch.
		was, err := s.last(ctx, prefix+".e")
		if err != nil {
			return store.Lease{}, fail(name, err)
		}
		had, err := s.available(ctx, prefix, name)
		if err != nil {
			return store.Lease{}, err
		}
		last, err := s.write(ctx, encoded(prefix+".o", me, had, 0))
		if errors.Is(err, errMoved) {
			continue // another process was faster, or the lease was renewed
		}
		if err != nil {
			return store.Lease{}, fail(name, err)
		}
		e := epoch{Nonce: me.Nonce}
		token, err := s.begin(ctx, l, &e, was, both)
		if errors.Is(err, errMoved) {
			continue
		}
		if err != nil {
			s.yield(ctx, prefix, last)
			return store.Lease{}, err
		}
		l.Token = int64(token)
		s.mu.Lock()
		s.held[l.Fence] = holding{nonce: me.Nonce, last: last, other: e.Other}
		s.mu.Unlock()
		return l, nil
	}
}

// yield releases a lease whose epoch could not begin.
func (s *leases) yield(ctx context.Context, prefix string, last uint64) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptBound)
	defer cancel()
	_, _ = s.write(ctx, encoded(prefix+".o", owner{Free: true}, last, freeTTL)) // or it expires
}

// encoded makes a message that replaces the one with the given sequence.
func encoded(subject string, v any, last uint64, ttl time.Duration) outgoing {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // a struct of texts and numbers
	}
	return outgoing{subject: subject, data: data, expect: true, last: last, replace: true, ttl: ttl}
}

// available returns the sequence of the message that a new owner replaces, or a
// HeldError.
func (s *leases) available(ctx context.Context, prefix, name string) (uint64, error) {
	m, err := s.last(ctx, prefix+".o")
	if err != nil || m == nil {
		return 0, fail(name, err)
	}
	var o owner
	if err := json.Unmarshal(m.data, &o); err != nil {
		return 0, fail(name, fmt.Errorf("%w: %w", store.ErrDamaged, err))
	}
	if o.Free {
		return m.seq, nil
	}
	now, err := s.clock(ctx)
	if err != nil {
		return 0, err
	}
	if left := m.at.Add(o.TTL).Sub(now); left > 0 {
		return 0, &store.HeldError{Name: name, Owner: o.Owner, For: min(left, o.TTL)}
	}
	return m.seq, nil
}

// begin begins an epoch, and takes the lease in the other store. It tries again
// if a former owner woke up and got its epoch in first: that owner has lost the
// lease itself, which is still ours.
func (s *leases) begin(ctx context.Context, l store.Lease, e *epoch, was *stored, both bool) (token uint64, err error) {
	prefix := s.layout.lease(l.Project, l.Name)
	defer func() {
		if err != nil {
			_ = s.side.release(context.WithoutCancel(ctx), l, e.Other) // the first error matters more
		}
	}()
	for {
		var last uint64
		if was != nil {
			last = was.seq
		}
		if e.Other == 0 && s.side.needed(was, both) {
			if e.Other, err = s.side.acquire(ctx, l); err != nil {
				return 0, err
			}
		}
		token, err := s.write(ctx, encoded(prefix+".e", e, last, 0))
		if !errors.Is(err, errMoved) {
			return token, fail(l.Name, err)
		}
		m, err := s.last(ctx, prefix+".o")
		if err != nil {
			return 0, err
		}
		if m == nil || epochOf(m).Nonce != e.Nonce {
			return 0, errMoved // another owner has the lease now
		}
		if was, err = s.last(ctx, prefix+".e"); err != nil {
			return 0, err
		}
	}
}

// epochOf reads a message of a lease. Both of its messages have a nonce.
func epochOf(m *stored) epoch {
	var v epoch
	_ = json.Unmarshal(m.data, &v) // an odd one has no owner
	return v
}

// extend renews a lease.
func (s *leases) extend(ctx context.Context, l store.Lease) error {
	if err := cmp.Or(storeimpl.CheckAcquire(l.Project, l.Name, l.Owner, l.TTL), ctx.Err()); err != nil {
		return err
	}
	for {
		h, err := s.holding(ctx, l.Fence)
		if err != nil {
			return fail(l.Name, err)
		}
		subject := s.layout.lease(l.Project, l.Name) + ".o"
		last, err := s.write(ctx, encoded(subject, owner{Nonce: h.nonce, Owner: l.Owner, TTL: l.TTL}, h.last, 0))
		h.last = last // 0 after an error: what we know may be wrong
		s.mu.Lock()
		now := s.held[l.Fence]
		h.touched, h.empty = now.touched, now.empty
		s.held[l.Fence] = h
		s.mu.Unlock()
		if err == nil {
			// The other store comes second: an owner that was replaced must not
			// extend its lease there and block its successor.
			return s.side.renew(ctx, l, h.other)
		}
		if !errors.Is(err, errMoved) {
			return fail(l.Name, err)
		}
	}
}

// release gives a lease back. The lease in the other store ends first, then the epoch, so
// that both tokens are void by the time the lease is free. While the lease still holds,
// last is called with the transcripts that were written to.
func (s *leases) release(ctx context.Context, l store.Lease, last func(touched map[store.Key]bool)) error {
	h, err := s.holding(ctx, l.Fence)
	s.mu.Lock()
	touched := s.held[l.Fence].touched
	delete(s.held, l.Fence)
	s.mu.Unlock()
	if err == nil {
		last(touched)
	}
	otherErr := s.side.release(ctx, l, h.other)
	if errors.Is(err, store.ErrLeaseLost) {
		return otherErr
	}
	if err != nil {
		return errors.Join(fail(l.Name, err), otherErr)
	}
	return errors.Join(s.free(ctx, l, h), otherErr)
}

// free ends the epoch of a lease, and then the lease itself.
func (s *leases) free(ctx context.Context, l store.Lease, h holding) error {
	prefix := s.layout.lease(l.Project, l.Name)
	unlock, err := s.writes.lock(ctx, prefix)
	if err != nil {
		return fail(l.Name, err)
	}
	defer unlock()
	_, err = s.write(ctx, encoded(prefix+".e", epoch{Free: true}, uint64(l.Token), freeTTL))
	if errors.Is(err, errMoved) {
		return nil
	}
	if err != nil {
		return fail(l.Name, err)
	}
	for range freeAttempts {
		free := encoded(prefix+".o", owner{Free: true}, h.last, freeTTL)
		free.header = writtenUnder(l.Fence, headerFree, "1") // for workers that listen
		if _, err = s.write(ctx, free); !errors.Is(err, errMoved) {
			return fail(l.Name, err)
		}
		// The lease has another owner, or another program has renewed it for us.
		now, err := s.last(ctx, prefix+".o")
		if err != nil || now == nil || epochOf(now).Nonce != h.nonce {
			return fail(l.Name, err)
		}
		h.last = now.seq
	}
	return nil // it expires
}

// freeAttempts is how often we try to give a lease back while others renew it.
const freeAttempts = 5
