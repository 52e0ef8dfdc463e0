package natsfleet

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// streamed keeps transcripts in the stream.
type streamed struct {
	*leases
	archive    store.Sessions // nil if there is none
	archiveTTL time.Duration
	compactAt  int
}

// Acquire implements [store.Leases].
func (s *streamed) Acquire(ctx context.Context, project, name, who string, ttl time.Duration) (store.Lease, error) {
	return s.take(ctx, project, name, who, ttl)
}

// Renew implements [store.Leases].
func (s *streamed) Renew(ctx context.Context, l store.Lease) error { return s.extend(ctx, l) }

// Release implements [store.Leases]. Transcripts of many messages are compacted before.
func (s *streamed) Release(ctx context.Context, l store.Lease) error {
	if err := cmp.Or(store.CheckLease(l.Project, l.Name), ctx.Err()); err != nil {
		return err
	}
	return s.release(ctx, l, func(touched map[store.Key]bool) { s.compactAll(ctx, l.Fence, touched) })
}

// Now implements [store.Leases].
func (s *streamed) Now(ctx context.Context) (time.Time, error) { return s.clock(ctx) }

// Append implements [store.Transcripts]. A batch is one message, or several if it is
// too large, and under a fence one more: a message carries only one condition, so the
// fence is on a message of its own, and the entries require that the session was not
// deleted. The server stores all of them or none. Batches and entries that are already
// there are stored again, and left out by Load.
func (s *streamed) Append(ctx context.Context, k store.Key, b store.Batch) error {
	if err := cmp.Or(b.Check(k), ctx.Err()); err != nil {
		return err
	}
	if len(b.Entries) == 0 {
		if err := s.lost(ctx, b.Fence); err != nil {
			return fail(k, err)
		}
		return fail(k, s.gone(ctx, k))
	}
	messages := s.parts(k, b)
	s.unlessDeleted(k, &messages[0])
	if b.Fence.IsZero() { // those under a fence wait for it
		unlock, err := s.writes.lock(ctx, messages[0].guard)
		if err != nil {
			return fail(k, err)
		}
		defer unlock()
	}
	err := s.withRetry(ctx, patience+boundFor(size(messages)), func(ctx context.Context) error {
		_, err := s.change(ctx, b.Fence, messages...)
		if errors.Is(err, errMoved) {
			// If it was not deleted, the mark was foreign, and looking at it has
			// removed it.
			err = cmp.Or(s.gone(ctx, k), errStale)
		}
		return err
	})
	if err == nil {
		s.touch(b.Fence, k)
	}
	return fail(k, err)
}

// unlessDeleted lets the server store a message only while a session is not deleted. It
// also refuses the message while the mark of a deletion is being stored, so nothing
// lands behind the mark, and Delete removes what landed before it.
func (s *streamed) unlessDeleted(k store.Key, m *outgoing) {
	m.expect, m.last, m.guard = true, 0, s.layout.deleted(k.Project, k.Session)
}

// isDeleted reports whether a session was deleted.
func (s *streamed) isDeleted(ctx context.Context, k store.Key) (bool, error) {
	m, err := s.last(ctx, s.layout.deleted(k.Project, k.Session))
	return m != nil, err
}

// gone returns ErrDeleted if a session was deleted.
func (s *streamed) gone(ctx context.Context, k store.Key) error {
	deleted, err := s.isDeleted(ctx, k)
	if deleted {
		err = store.ErrDeleted
	}
	return err
}

// parts makes messages of a batch.
func (s *streamed) parts(k store.Key, b store.Batch) []outgoing {
	lines := make([][]byte, len(b.Entries))
	for i, e := range b.Entries {
		lines[i] = e
	}
	data := bytes.Join(lines, []byte("\n"))
	id := b.ID
	if id == "" {
		id = onceMark + rand.Text() // a write that is repeated may land twice
	}
	part := s.part()
	n := (len(data) + part - 1) / part
	var out []outgoing
	for i := range n {
		m := outgoing{subject: s.layout.transcript(k.Project, k.Session, k.Sub) + ".e", header: writtenUnder(b.Fence, headerID, id), data: data[i*part : min((i+1)*part, len(data))]}
		if n > 1 {
			m.header[headerPart] = fmt.Sprintf("%d/%d", i+1, n)
		}
		out = append(out, m)
	}
	return out
}

// Load implements [store.Transcripts]. It reads the whole transcript before it yields
// the first entry, even one in the middle: the place of an entry is its number.
func (s *streamed) Load(ctx context.Context, k store.Key, after store.Place) iter.Seq2[store.PlacedEntry, error] {
	return func(yield func(store.PlacedEntry, error) bool) {
		if err := cmp.Or(k.Check(), ctx.Err()); err != nil {
			yield(store.PlacedEntry{}, err)
			return
		}
		entries, err := s.load(ctx, k)
		if err == nil && len(entries) == 0 {
			err = store.ErrNotFound
		}
		if err != nil {
			yield(store.PlacedEntry{}, fail(k, err))
			return
		}
		for i := max(after, 0); i < store.Place(len(entries)); i++ {
			if err := ctx.Err(); err != nil {
				yield(store.PlacedEntry{}, fail(k, err))
				return
			}
			if !yield(store.PlacedEntry{Entry: entries[i], Place: i + 1}, nil) {
				return
			}
		}
	}
}

func (s *streamed) load(ctx context.Context, k store.Key) ([]store.Entry, error) {
	w, err := s.whole(ctx, k)
	if err != nil {
		return nil, err
	}
	if deleted, err := s.isDeleted(ctx, k); err != nil || deleted {
		return nil, err
	}
	return s.withArchived(ctx, k, w)
}

// whole reads a transcript as far as the stream holds it.
func (s *streamed) whole(ctx context.Context, k store.Key) (w whole, err error) {
	err = s.withRetry(ctx, loadBound, func(ctx context.Context) error {
		all, err := s.readSubject(ctx, s.layout.transcript(k.Project, k.Session, k.Sub)+".e")
		if err == nil {
			w, err = assemble(all)
		}
		return err
	})
	return w, err
}

// Delete implements [store.Transcripts].
func (s *streamed) Delete(ctx context.Context, k store.Key, f store.Fence) error {
	if err := cmp.Or(store.Batch{Fence: f}.Check(k), ctx.Err()); err != nil {
		return err
	}
	if err := s.reachesArchive(ctx, k); err != nil {
		return fail(k, err)
	}
	guard, unlock, err := s.fenced(ctx, f)
	if err != nil {
		return fail(k, err)
	}
	defer unlock()
	m := outgoing{subject: s.layout.deleted(k.Project, k.Session), header: writtenUnder(f), replace: true}
	if k.Sub != "" {
		// Only a message can be fenced, so one takes the place of all others.
		m = outgoing{subject: s.layout.transcript(k.Project, k.Session, k.Sub) + ".e", header: writtenUnder(f, headerGone, "1"), replace: true, ttl: markTTL}
	}
	if guard != "" {
		m.expect, m.last, m.guard = true, uint64(f.Token), guard
	}
	_, err = s.write(ctx, m)
	if errors.Is(err, errMoved) {
		err = store.ErrLeaseLost
	}
	if err == nil && s.archive != nil {
		// The decision was made under the lease; any process may carry it out in the
		// archive.
		err = s.archive.Delete(ctx, k, store.Fence{})
	}
	if err == nil && k.Sub == "" {
		err = s.purge(ctx, k)
	}
	return fail(k, err)
}

// purge removes all messages of a session. The stream has no consumers that
// acknowledge: with one, a purge could strand messages that it has delivered.
func (s *streamed) purge(ctx context.Context, k store.Key) error {
	filter := strings.TrimSuffix(s.layout.transcript(k.Project, k.Session, ""), mainToken) + ">"
	return s.withRetry(ctx, attemptBound, func(ctx context.Context) error {
		return s.request(ctx, "STREAM.PURGE."+s.layout.name, map[string]string{"filter": filter}, new(struct{}))
	})
}
