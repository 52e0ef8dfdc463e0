package s3store

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/storeimpl"
)

// Append implements [store.Transcripts].
func (s *Store) Append(ctx context.Context, k store.Key, b store.Batch) error {
	if err := cmp.Or(b.Check(k), ctx.Err()); err != nil {
		return err
	}
	if b.ID == "" {
		b.ID = storeimpl.NewBatchID() // to find it after a lost reply
	}
	return fail(k, s.append(ctx, k, b))
}

func (s *sessions) append(ctx context.Context, k store.Key, b store.Batch) error {
	if err := s.register(ctx, b.Fence, headName(k)); err != nil {
		return err
	}
	t, leave, err := s.enter(ctx, k)
	if err != nil {
		return err
	}
	defer leave()
	a := &appending{s: s, t: t, k: k, b: b, newID: rand.Text()}
	if err := s.change(ctx, t, func(h *head) (bool, error) { return a.edit(ctx, h) }); err != nil {
		if errors.Is(err, store.ErrLeaseLost) || errors.Is(err, store.ErrDeleted) {
			a.discard(ctx) // after any other error a head may name it
		}
		return err
	}
	if a.added != nil {
		t.ids[k.Sub].add(a.added)
	}
	if k.Sub == "" && len(b.Entries) > 0 {
		if err := s.touch(ctx, t); err != nil {
			return err
		}
	}
	// A failure is not one of the append: the parts can be merged later.
	_ = s.merge(ctx, t, k.Sub, trailing)
	s.keep(t)
	return nil
}

// appending is an append under way.
type appending struct {
	s     *sessions
	t     *session
	k     store.Key
	b     store.Batch
	newID string // of the transcript, if there is none

	// What was written, and is named by no head that was read: a part with the
	// entries that this transcript did not have.
	written part
	within  string
	added   *content
}

// edit adds the batch to a head.
func (a *appending) edit(ctx context.Context, h *head) (done bool, err error) {
	if h.Deleted {
		return false, store.ErrDeleted
	}
	if err := h.pass(a.b.Fence); err != nil {
		return false, err
	}
	if len(a.b.Entries) == 0 {
		return true, nil
	}
	t, there := h.Transcripts[a.k.Sub]
	if !there {
		t.ID = a.newID
	}
	known, err := a.s.catchUp(ctx, a.t, a.k, t)
	if err != nil {
		return false, err
	}
	if _, again := known.batches[a.b.ID]; again {
		a.added = nil
		return true, nil
	}
	fresh := known.fresh(a.b)
	if len(fresh.entries) == 0 {
		a.discard(ctx)
		return true, nil
	}
	// What a transcript has only grows, so as many entries are the same ones.
	if a.written.Name == "" || a.within != t.ID || len(fresh.entries) != len(a.added.entries) {
		a.discard(ctx)
		body, err := encode(a.b.ID, fresh.entries)
		if err != nil {
			return false, err
		}
		if a.written, err = a.s.newPart(ctx, a.k, body, int64(len(fresh.entries)), 0); err != nil {
			return false, err
		}
		a.within, a.added = t.ID, fresh
	}
	t.Parts = append(slices.Clip(t.Parts), a.written)
	if a.k.Sub == "" {
		t.Summary = storeimpl.Fold(t.Summary, fresh.entries...)
	}
	h.Transcripts[a.k.Sub] = t
	return false, nil
}

// discard removes a part that no head names. If that fails, or the process dies
// before, it is garbage until the session is deleted, and no reader sees it.
func (a *appending) discard(ctx context.Context) {
	if a.written.Name != "" {
		_ = a.s.remove(context.WithoutCancel(ctx), partsOf(a.k)+a.written.Name)
	}
	a.written, a.within, a.added = part{}, "", nil
}

// content is the decoded content of a part.
type content struct {
	batches []string
	entries []store.Entry
}

// fresh returns the entries that a batch would add.
func (known *ids) fresh(b store.Batch) *content {
	c := &content{batches: []string{b.ID}}
	own := make(map[string]struct{})
	for _, e := range b.Entries {
		if id := e.ID(); id != "" {
			_, old := known.uuids[id]
			if _, twice := own[id]; old || twice {
				continue
			}
			own[id] = struct{}{}
		}
		c.entries = append(c.entries, e)
	}
	return c
}

// add takes up the content of a part.
func (known *ids) add(c *content) {
	for _, id := range c.batches {
		known.batches[id] = struct{}{}
	}
	for _, e := range c.entries {
		if id := e.ID(); id != "" {
			known.uuids[id] = struct{}{}
		}
	}
	known.entries += int64(len(c.entries))
}

// catchUp reads the entries of a transcript that are not cached yet.
func (s *sessions) catchUp(ctx context.Context, t *session, k store.Key, tr transcript) (*ids, error) {
	known := t.ids[k.Sub]
	if known == nil || known.transcript != tr.ID {
		known = &ids{transcript: tr.ID, uuids: make(map[string]struct{}), batches: make(map[string]struct{})}
		t.ids[k.Sub] = known
	}
	rest, skip := after(tr.Parts, known.entries)
	return known, s.read(ctx, k, rest, func(c *content) error {
		c.entries = c.entries[skip:]
		skip = 0
		known.add(c)
		return nil
	})
}

// after returns the parts that have the entries from a number on, and how many of
// the first part come before.
func after(parts []part, n int64) (rest []part, skip int64) {
	for i, p := range parts {
		if n < p.Entries {
			return parts[i:], n
		}
		n -= p.Entries
	}
	return nil, 0
}

// Load implements [store.Transcripts].
func (s *Store) Load(ctx context.Context, k store.Key, after store.Place) iter.Seq2[store.PlacedEntry, error] {
	return func(yield func(store.PlacedEntry, error) bool) {
		err := cmp.Or(k.Check(), ctx.Err())
		if err == nil {
			err = fail(k, s.load(ctx, k, max(int64(after), 0), yield))
		}
		if err != nil {
			yield(store.PlacedEntry{}, err)
		}
	}
}

// Delete implements [store.Transcripts]. A process that dies in the middle of a
// write can leave an object behind that belongs to nothing; deleting the session
// again removes it.
func (s *Store) Delete(ctx context.Context, k store.Key, f store.Fence) error {
	if err := cmp.Or(store.Batch{Fence: f}.Check(k), ctx.Err()); err != nil {
		return err
	}
	return fail(k, s.delete(ctx, k, f))
}

// errLeft means that a loop was left, or has all it wants.
var errLeft = errors.New("the loop is over")

// load yields the entries behind the first done ones.
func (s *sessions) load(ctx context.Context, k store.Key, done int64, yield func(store.PlacedEntry, error) bool) error {
	t := &session{key: k.Main()}
	var id, nonce string
	var end int64 // how many entries there are
	for {
		if err := s.readHead(ctx, t); err != nil {
			return err
		}
		tr, there := t.head.Transcripts[k.Sub]
		if !there || id != "" && tr.ID != id {
			return store.ErrNotFound // or it is not what it was
		}
		if id == "" {
			id, end = tr.ID, tr.entries()
			done = min(done, end)
		}
		rest, skip := after(tr.Parts, done)
		err := s.read(ctx, k, rest, func(c *content) error {
			for _, e := range c.entries[skip:] {
				if err := ctx.Err(); err != nil {
					return err
				}
				if done == end {
					return errLeft
				}
				done++
				if !yield(store.PlacedEntry{Entry: e, Place: store.Place(done)}, nil) {
					return errLeft
				}
			}
			skip = 0
			return nil
		})
		if errors.Is(err, errLeft) {
			return nil
		}
		if !errors.Is(err, errStale) {
			return err
		}
		// Compacted or deleted since the head was read, or lost.
		if nonce == t.head.Nonce {
			return fmt.Errorf("%w: %w", store.ErrDamaged, err)
		}
		nonce = t.head.Nonce
	}
}
