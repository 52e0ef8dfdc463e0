package natsfleet

import (
	"context"

	"github.com/claude-agent-go/claude/store"
)

// holding is this process's knowledge of a lease that it owns.
type holding struct {
	nonce string
	last  uint64 // the sequence of the owner's message, 0 if it is not known
	other int64  // the token in the other store, if there is one

	touched map[store.Key]bool // the transcripts that were written to
	empty   map[string]uint64  // folders that had nothing up to a sequence, see records.ifEmpty
}

// holding returns the state of a lease that this process holds, from memory or
// from the stream.
func (s *leases) holding(ctx context.Context, f store.Fence) (holding, error) {
	s.mu.Lock()
	h := s.held[f]
	s.mu.Unlock()
	if h.last != 0 {
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
	case e == nil || o == nil || e.seq != uint64(f.Token) || epochOf(e).Nonce != epochOf(o).Nonce:
		return h, store.ErrLeaseLost
	}
	return holding{nonce: epochOf(e).Nonce, last: o.seq, other: epochOf(e).Other}, nil
}

// touch notes that a transcript was written to under a lease.
func (s *leases) touch(f store.Fence, k store.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h, ok := s.held[f]; ok {
		if h.touched == nil {
			h.touched = make(map[store.Key]bool)
			s.held[f] = h
		}
		h.touched[k] = true
	}
}

// knownEmpty returns the sequence up to which a folder is known to be empty.
func (s *leases) knownEmpty(in string, f store.Fence) (last uint64, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, known = s.held[f].empty[in]
	return last, known
}

// maxEmpty is how many empty folders are remembered under a lease. Usually there is
// one.
const maxEmpty = 8

func (s *leases) rememberEmpty(in string, last uint64, f store.Fence) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, ok := s.held[f]
	if !ok {
		return
	}
	if h.empty == nil || len(h.empty) >= maxEmpty {
		h.empty = make(map[string]uint64)
		s.held[f] = h
	}
	h.empty[in] = last
}

// forgetEmpty is called after a refusal: a folder may have got something.
func (s *leases) forgetEmpty(f store.Fence) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.held[f].empty)
}
