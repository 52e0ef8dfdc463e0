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

// stamp is in every object that is written under fences.
type stamp struct {
	// Nonce differs in each write, so that no two states are equal: the tag of an
	// object is a digest of its content.
	Nonce string `json:"nonce"`
	// Fences are the lowest tokens that may still write, by lease.
	Fences map[string]int64 `json:"fences,omitempty"`
}

// pass wants a fence to be as new as all that were here, and notes it.
func (s *stamp) pass(f store.Fence) error {
	if f.IsZero() {
		return nil
	}
	if f.Token < s.Fences[f.Name] {
		return store.ErrLeaseLost
	}
	s.Fences = maps.Clone(s.Fences)
	if s.Fences == nil {
		s.Fences = make(map[string]int64)
	}
	s.Fences[f.Name] = f.Token
	return nil
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

// enter makes other writers of a session in this process wait, and returns its
// cached state.
func (s *Store) enter(ctx context.Context, k store.Key) (*session, func(), error) {
	k = k.Main()
	gate := s.gates[maphash.Comparable(seed, k)%uint64(len(s.gates))]
	select {
	case gate <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	s.mu.Lock()
	t := s.sessions[k]
	delete(s.sessions, k) // if the call fails it is read again
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
func (s *Store) keep(t *session) {
	t.current = false
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions == nil {
		s.sessions = make(map[store.Key]*session)
	}
	s.sessions[t.key] = t
	s.recent = append(slices.DeleteFunc(s.recent, func(k store.Key) bool { return k == t.key }), t.key)
	if len(s.recent) > maxKnown {
		delete(s.sessions, s.recent[0])
		s.recent = slices.Delete(s.recent, 0, 1)
	}
}

// readHead reads the head of a session.
func (s *Store) readHead(ctx context.Context, t *session) error {
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
func (s *Store) change(ctx context.Context, t *session, edit func(*head) (done bool, err error)) error {
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

// close writes into an object that no token below one may write it any more.
// A writer that is about to finds it changed.
func (s *Store) close(ctx context.Context, name, lease string, token int64) error {
	for {
		body := make(map[string]json.RawMessage)
		o, err := s.getJSON(ctx, name, &body)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		var st stamp
		if fences := body["fences"]; fences != nil {
			if err := json.Unmarshal(fences, &st.Fences); err != nil {
				return fmt.Errorf("%w: %s", store.ErrDamaged, name)
			}
		}
		if st.Fences[lease] >= token {
			return nil
		}
		if err := st.pass(store.Fence{Name: lease, Token: token}); err != nil {
			return err
		}
		if body["fences"], err = json.Marshal(st.Fences); err != nil {
			return err
		}
		body["nonce"] = json.RawMessage(`"` + rand.Text() + `"`)
		if _, err = s.putJSON(ctx, name, body, o.etag); !errors.Is(err, errTaken) {
			return err
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}
