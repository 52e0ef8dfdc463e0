package natsfleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/store"
)

// A lease is two subjects. One message says who has it and until when; every
// renewal replaces it. Its epoch is a message that only another owner replaces: its
// sequence is the token, and what is written under the lease carries it, so that
// the server itself refuses an owner that was replaced. They are apart because the
// server refuses a fenced write while the fence is being written.

// owner is the message that says who has a lease.
type owner struct {
	Nonce string        `json:"nonce"` // of the owner; the epoch has the same
	Owner string        `json:"owner"`
	TTL   time.Duration `json:"ttl"`
	Free  bool          `json:"free,omitzero"`
}

// epoch is the message that fences.
type epoch struct {
	Nonce string `json:"nonce"`
	Free  bool   `json:"free,omitzero"`
}

// holding is what this process knows of a lease that it has.
type holding struct {
	nonce string
	last  uint64 // the message that says so
}

// freeTTL is how long the messages of a lease stay that nobody has.
const freeTTL = 10 * time.Minute

// Acquire implements [store.Leaser].
func (s *Store) Acquire(ctx context.Context, project, name, who string, ttl time.Duration) (store.Lease, error) {
	if err := cmp.Or(store.CheckAcquire(project, name, who, ttl), ctx.Err()); err != nil {
		return store.Lease{}, err
	}
	prefix := s.layout.lease(project, name)
	me := owner{Nonce: uuid.New(), Owner: who, TTL: ttl}
	for {
		// The epoch is read before the lease is taken: an owner that
		// sleeps in between and wakes after another has come must not succeed it.
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
			continue // somebody was faster, or it was renewed
		}
		if err != nil {
			return store.Lease{}, fail(name, err)
		}
		token, err := s.begin(ctx, prefix, me.Nonce, was)
		if errors.Is(err, errMoved) {
			continue
		}
		if err != nil {
			return store.Lease{}, fail(name, err)
		}
		l := store.Lease{Fence: store.Fence{Project: project, Name: name, Token: int64(token)}, Owner: who, TTL: ttl}
		s.mu.Lock()
		s.held[l.Fence] = holding{me.Nonce, last}
		s.mu.Unlock()
		return l, nil
	}
}

// encoded makes a message that replaces another, of a given sequence.
func encoded(subject string, v any, last uint64, ttl time.Duration) outgoing {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // a struct of texts and numbers
	}
	return outgoing{subject: subject, data: data, expect: true, last: last, replace: true, ttl: ttl}
}

// available returns the message that a new owner replaces, or a HeldError.
func (s *Store) available(ctx context.Context, prefix, name string) (uint64, error) {
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
	now, err := s.Now(ctx)
	if err != nil {
		return 0, err
	}
	if left := m.at.Add(o.TTL).Sub(now); left > 0 {
		return 0, &store.HeldError{Name: name, Owner: o.Owner, For: min(left, o.TTL)}
	}
	return m.seq, nil
}

// begin begins an epoch. One who has the lease repeats it if a former owner, who
// slept, was faster with this step only.
func (s *Store) begin(ctx context.Context, prefix, nonce string, was *stored) (uint64, error) {
	for {
		var last uint64
		if was != nil {
			last = was.seq
		}
		token, err := s.write(ctx, encoded(prefix+".e", epoch{Nonce: nonce}, last, 0))
		if !errors.Is(err, errMoved) {
			return token, err
		}
		m, err := s.last(ctx, prefix+".o")
		if err != nil {
			return 0, err
		}
		if m == nil || nonceOf(m) != nonce {
			return 0, errMoved // it is not ours any more
		}
		if was, err = s.last(ctx, prefix+".e"); err != nil {
			return 0, err
		}
	}
}

// nonceOf is the nonce in a message of a lease.
func nonceOf(m *stored) string {
	var v epoch
	_ = json.Unmarshal(m.data, &v) // an odd one is nobody's
	return v.Nonce
}

// holding finds the message that says that a lease is held.
func (s *Store) holding(ctx context.Context, f store.Fence) (holding, error) {
	s.mu.Lock()
	h, ok := s.held[f]
	s.mu.Unlock()
	if ok {
		return h, nil
	}
	prefix := s.layout.lease(f.Project, f.Name)
	e, err := s.last(ctx, prefix+".e")
	if err != nil {
		return h, err
	}
	o, err := s.last(ctx, prefix+".o")
	switch {
	case err != nil:
		return h, err
	case e != nil && e.seq < uint64(f.Token):
		return h, errStale
	case e == nil || o == nil || e.seq != uint64(f.Token) || nonceOf(e) != nonceOf(o):
		return h, store.ErrLeaseLost
	}
	return holding{nonceOf(o), o.seq}, nil
}

// Renew implements [store.Leaser].
func (s *Store) Renew(ctx context.Context, l store.Lease) error {
	if err := cmp.Or(store.CheckAcquire(l.Project, l.Name, l.Owner, l.TTL), ctx.Err()); err != nil {
		return err
	}
	for {
		h, err := s.holding(ctx, l.Fence)
		if err != nil {
			return fail(l.Name, err)
		}
		subject := s.layout.lease(l.Project, l.Name) + ".o"
		last, err := s.write(ctx, encoded(subject, owner{Nonce: h.nonce, Owner: l.Owner, TTL: l.TTL}, h.last, 0))
		if err == nil {
			s.mu.Lock()
			s.held[l.Fence] = holding{h.nonce, last}
			s.mu.Unlock()
			return nil
		}
		s.mu.Lock()
		delete(s.held, l.Fence) // what is known of it may be wrong
		s.mu.Unlock()
		if !errors.Is(err, errMoved) {
			return fail(l.Name, err)
		}
	}
}

// Release implements [store.Leaser]. The epoch ends first, so that the token is
// void when the lease is free.
func (s *Store) Release(ctx context.Context, l store.Lease) error {
	if err := cmp.Or(store.CheckLease(l.Project, l.Name), ctx.Err()); err != nil {
		return err
	}
	h, err := s.holding(ctx, l.Fence)
	s.mu.Lock()
	delete(s.held, l.Fence)
	s.mu.Unlock()
	if errors.Is(err, store.ErrLeaseLost) {
		return nil
	}
	if err != nil {
		return fail(l.Name, err)
	}
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
	if err == nil {
		_, err = s.write(ctx, encoded(prefix+".o", owner{Free: true}, h.last, freeTTL))
		if errors.Is(err, errMoved) {
			err = nil
		}
	}
	return fail(l.Name, err)
}

// fenced returns the fence of a write, and holds other writes under it back until
// unlock is called.
func (s *Store) fenced(ctx context.Context, f store.Fence) (guard string, unlock func(), err error) {
	if f.IsZero() {
		return "", func() {}, nil
	}
	if f.Token < 1 {
		return "", nil, store.ErrLeaseLost // the server takes 0 for none
	}
	prefix := s.layout.lease(f.Project, f.Name)
	unlock, err = s.writes.lock(ctx, prefix)
	return prefix + ".e", unlock, err
}

// lost reports whether a fence is void, when nothing else says so.
func (s *Store) lost(ctx context.Context, f store.Fence) error {
	if f.IsZero() {
		return nil
	}
	m, err := s.last(ctx, s.layout.lease(f.Project, f.Name)+".e")
	if err == nil && (m == nil || m.seq != uint64(f.Token)) {
		err = store.ErrLeaseLost
	}
	return err
}
