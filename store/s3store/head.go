package s3store

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"sync"

	"github.com/claude-agent-go/claude/store"
)

// head is all that is known of a session but for the entries themselves. What it
// does not name does not exist, and it changes by compare-and-set: so a session
// has one order of events for all who write, compact or delete.
type head struct {
	stamp
	Deleted     bool                  `json:"deleted,omitempty"`
	Transcripts map[string]transcript `json:"transcripts,omitempty"` // by Sub
}

// transcript is a transcript in a head.
type transcript struct {
	ID      string          `json:"id"` // another one after it was deleted and came back
	Parts   []part          `json:"parts"`
	Summary json.RawMessage `json:"summary,omitempty"` // of the session's own
}

// entries returns how many entries a transcript has.
func (t transcript) entries() (n int64) {
	for _, p := range t.Parts {
		n += p.Entries
	}
	return n
}

func headName(k store.Key) string { return k.Project + "/heads/" + k.Session }

// session caches what this process has read of a session.
type session struct {
	key     store.Key
	head    head
	etag    string // of the head, "" if there is none
	current bool   // it was read by the call that has it now
	ids     map[string]*ids
	index   string // tag of the entry in the index
}

// ids are the IDs of a transcript's first entries, to recognise which entries are
// new.
type ids struct {
	transcript string
	entries    int64
	uuids      map[string]struct{}
	batches    map[string]struct{}
}

// maxKnown is how many sessions are remembered.
const maxKnown = 64

var seed = maphash.MakeSeed()

// sessions reads and writes sessions, each through its head. It remembers those that were
// used last.
type sessions struct {
	*leases
	gates []chan struct{} // for one writer of a session at a time

	mu     sync.Mutex
	known  map[store.Key]*session
	recent []store.Key // the last used last
}

func newSessions(l *leases) *sessions {
	s := &sessions{leases: l, gates: make([]chan struct{}, 64)}
	for i := range s.gates {
		s.gates[i] = make(chan struct{}, 1)
	}
	return s
}

// enter makes other writers of a session in this process wait, and returns its
// cached state.
func (s *sessions) enter(ctx context.Context, k store.Key) (*session, func(), error) {
	k = k.Main()
	gate := s.gates[maphash.Comparable(seed, k)%uint64(len(s.gates))]
	select {
	case gate <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	s.mu.Lock()
	t := s.known[k]
	delete(s.known, k) // if the call fails it is read again
	s.mu.Unlock()
	if t == nil {
		t = &session{key: k, ids: make(map[string]*ids)}
		if err := s.readHead(ctx, t); err != nil {
			<-gate
			return nil, nil, err
		}
	}
	return t, func() { <-gate }, nil
}

// keep remembers a session, and forgets the one that was not used for longest.
func (s *sessions) keep(t *session) {
	t.current = false
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = make(map[store.Key]*session)
	}
	s.known[t.key] = t
	s.recent = append(slices.DeleteFunc(s.recent, func(k store.Key) bool { return k == t.key }), t.key)
	if len(s.recent) > maxKnown {
		delete(s.known, s.recent[0])
		s.recent = slices.Delete(s.recent, 0, 1)
	}
}

// readHead reads the head of a session.
func (s *sessions) readHead(ctx context.Context, t *session) error {
	var h head
	o, err := s.getJSON(ctx, headName(t.key), &h)
	if errors.Is(err, store.ErrNotFound) {
		h, o, err = head{}, object{}, nil
	}
	if err != nil {
		return err
	}
	t.head, t.etag, t.current = h, o.etag, true
	return nil
}

// errStale means that a part is missing: since the head was read, another process
// has compacted or deleted its transcript, or the part is lost.
var errStale = errors.New("a part is missing")

// change changes the head of a session. edit changes a copy, or returns true if
// there is nothing to change. It is called again if another writer was faster,
// and may then find its own change already there: the reply to a write can be
// lost.
func (s *sessions) change(ctx context.Context, t *session, edit func(*head) (done bool, err error)) error {
	for {
		next := t.head
		next.Transcripts = maps.Clone(next.Transcripts)
		if next.Transcripts == nil {
			next.Transcripts = make(map[string]transcript)
		}
		done, err := edit(&next)
		switch {
		case errors.Is(err, errStale):
			before := t.head.Nonce
			if err := s.readHead(ctx, t); err != nil {
				return err
			}
			if before == t.head.Nonce {
				return fmt.Errorf("%w: %w", store.ErrDamaged, err)
			}
			continue
		case err != nil, done && t.current:
			return err
		case done: // as far as this process knew
			if err := s.readHead(ctx, t); err != nil {
				return err
			}
			continue
		}
		next.Nonce = rand.Text()
		etag, err := s.putJSON(ctx, headName(t.key), next, t.etag)
		if err == nil {
			t.head, t.etag, t.current = next, etag, true
			return nil
		}
		if !errors.Is(err, errTaken) {
			return err
		}
		if err := pause(ctx); err != nil {
			return err
		}
		if err := s.readHead(ctx, t); err != nil {
			return err
		}
	}
}
