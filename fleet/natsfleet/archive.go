package natsfleet

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/storeimpl"
)

// An archived transcript has its entries in the archive, and in the stream one small
// message with their number. Later entries follow that message in the stream, until
// they are archived as well. The archive has at least as many entries as the stream
// records, in the same order. It may have more, if an archiver died before it
// updated the stream; those are read from the stream.

// withArchived puts the entries that are in the archive before the others.
func (s *streamed) withArchived(ctx context.Context, k store.Key, w whole) ([]store.Entry, error) {
	if w.archived == 0 {
		return w.entries(), nil
	}
	if s.archive == nil {
		return nil, errNoArchive
	}
	first, err := loadFirst(ctx, s.archive, k, w.archived)
	if err != nil {
		return nil, err
	}
	if len(first) < w.archived {
		if m, err := s.last(ctx, s.layout.deleted(k.Project, k.Session)); err != nil || m != nil {
			return nil, err // it was deleted in the meantime
		}
		return nil, fmt.Errorf("%w: the archive has %d entries of %d", store.ErrDamaged, len(first), w.archived)
	}
	return append(first, newEntries(w.entries(), first)...), nil
}

var errNoArchive = fmt.Errorf("%w: this transcript is in an archive, which Options.Archive must name", ErrOtherTranscripts)

// loadFirst loads some entries of a transcript, none if the transcript does not exist.
func loadFirst(ctx context.Context, from store.Transcripts, k store.Key, n int) ([]store.Entry, error) {
	var first []store.Entry
	for e, err := range store.Entries(ctx, from, k) {
		if errors.Is(err, store.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if first = append(first, e); len(first) == n {
			break
		}
	}
	return first, nil
}

// reachesArchive returns an error if a transcript, or one of its subagents, is in an
// archive that is not known here.
func (s *streamed) reachesArchive(ctx context.Context, k store.Key) error {
	if s.archive != nil {
		return nil
	}
	subs := []string{k.Sub}
	if k.Sub == "" { // those of its subagents go with it
		more, err := s.subs(ctx, k)
		if err != nil {
			return err
		}
		subs = append(subs, more...)
	}
	for _, sub := range subs {
		// A single look could be answered by a replica that is behind.
		w, err := s.whole(ctx, store.Key{Project: k.Project, Session: k.Session, Sub: sub})
		if err != nil {
			return err
		}
		if w.archived > 0 {
			return errNoArchive
		}
	}
	return nil
}

// usualArchiveTTL is the duration of the lease under which a transcript is
// archived. A worker that wants to wake the conversation meanwhile waits for it.
const usualArchiveTTL = 5 * time.Second

// moveCold moves transcripts that have not been appended to since the given time to the
// archive, see Store.Archive.
func (s *streamed) moveCold(ctx context.Context, project string, before time.Time) (moved int, err error) {
	cold, err := s.cold(ctx, project, before)
	if err != nil {
		return 0, fail(project, err)
	}
	var errs []error
	for _, c := range cold {
		done, err := s.archiveSession(ctx, c, before)
		if done {
			moved++
		}
		if ctx.Err() != nil {
			return moved, fail(project, ctx.Err())
		}
		errs = append(errs, err)
	}
	return moved, errors.Join(errs...)
}

// archiveNowAndThen lets one of its callers archive cold transcripts, until stop is
// called.
func (s *streamed) archiveNowAndThen(project string, after time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	every := max(min(after/4, maxArchivePause), minArchivePause)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for wait := every; pause(ctx, wait+rand.N(every/10)); {
			wait = every
			// The lease is not released: until it expires, no worker archives
			// again.
			_, err := s.take(ctx, project, archiving, "archive", every)
			if held, ok := errors.AsType[*store.HeldError](err); ok {
				wait = min(held.For, every)
				continue
			}
			moved := 0
			if err == nil {
				moved, err = s.archiveColder(ctx, project, after)
			}
			if err != nil && ctx.Err() == nil {
				s.log.Warn("some conversations could not be archived yet", "error", err)
			}
			if moved > 0 {
				s.log.Info("conversations were archived", "count", moved)
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

const (
	archiving       = "natsfleet/archiving" // the name of a lease
	maxArchivePause = 6 * time.Hour
	minArchivePause = time.Second
)

// pause waits, and reports whether ctx has not ended.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// archiveColder archives transcripts that have had no append for some time.
func (s *streamed) archiveColder(ctx context.Context, project string, than time.Duration) (int, error) {
	now, err := s.clock(ctx)
	if err != nil {
		return 0, err
	}
	return s.moveCold(ctx, project, now.Add(-than))
}

// coldSession is a session that has had no append for a while.
type coldSession struct {
	store.Key
	lease string // under which it was written
}

// cold finds the sessions that could be archived.
func (s *streamed) cold(ctx context.Context, project string, before time.Time) ([]coldSession, error) {
	last, err := s.lastOfSessions(ctx, project)
	if err != nil {
		return nil, err
	}
	var found []coldSession
	for subject, m := range last {
		if m.cold(before) {
			found = append(found, coldSession{store.Key{Project: project, Session: sessionOf(subject)}, m.header.Get(headerLease)})
		}
	}
	slices.SortFunc(found, func(a, b coldSession) int { return cmp.Compare(a.Session, b.Session) })
	return found, nil
}

// cold reports whether a transcript with this last message should be archived.
func (m *stored) cold(before time.Time) bool {
	return m.header.Get(headerLease) != "" && m.header.Get(headerGone) == "" && m.header.Get(headerEmpty) == "" && m.modified().Before(before)
}

// archiveSession archives a session with its subagents, under the lease of its
// conversation in both stores.
func (s *streamed) archiveSession(ctx context.Context, c coldSession, before time.Time) (done bool, err error) {
	l, err := s.acquire(ctx, store.Lease{Fence: store.Fence{Project: c.Project, Name: c.lease}, Owner: "archive", TTL: s.archiveTTL}, true)
	if errors.Is(err, store.ErrLeased) {
		return false, nil // a worker runs it
	}
	if err != nil {
		return false, err
	}
	defer func() {
		release, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptBound)
		defer cancel()
		err = errors.Join(err, s.release(release, l, func(map[store.Key]bool) {}))
	}()
	// It may have been used before the lease was taken.
	m, err := s.last(ctx, s.layout.transcript(c.Project, c.Session, "")+".e")
	if err != nil || m == nil || !m.cold(before) {
		return false, fail(c.Key, err)
	}
	subs, err := s.subs(ctx, c.Key)
	if err != nil {
		return false, fail(c.Key, err)
	}
	a := archiver{streamed: s, lease: l, renewed: time.Now()}
	for _, sub := range append(subs, "") { // the session itself is the last
		k := c.Key
		k.Sub = sub
		if err := a.transcript(ctx, k); err != nil {
			return false, fail(k, err)
		}
	}
	return true, nil
}

// archiver archives transcripts under a lease.
type archiver struct {
	*streamed
	lease   store.Lease
	renewed time.Time
}

// renew renews the lease, when it is time to.
func (a *archiver) renew(ctx context.Context) error {
	if time.Since(a.renewed) < a.lease.TTL/3 {
		return nil
	}
	a.renewed = time.Now()
	return a.extend(ctx, a.lease)
}

// transcript moves the entries of a transcript to the archive. They leave the stream
// once they were read back from the archive.
func (a *archiver) transcript(ctx context.Context, k store.Key) error {
	w, err := a.whole(ctx, k)
	if err != nil {
		return err
	}
	all, err := a.withArchived(ctx, k, w)
	if err != nil || len(all) == 0 || w.last.header.Get(headerEmpty) != "" {
		return err // nothing is in the stream only
	}
	has, err := a.there(ctx, k, w.archived, all)
	if err != nil {
		return err
	}
	if err := a.copy(ctx, k, all[has:]); err != nil {
		return err
	}
	if has, err = a.there(ctx, k, w.archived, all); err != nil {
		return err
	}
	if has != len(all) {
		return fmt.Errorf("%w: the archive has %d entries of %d that were stored there", store.ErrDamaged, has, len(all))
	}
	return a.rewrite(ctx, k, a.lease.Fence, w.without(len(all)))
}

// there returns how many entries of a transcript the archive has: those that the
// stream records, and those of an archiver that died before it updated the stream.
// Leftovers of a deleted subagent are removed; anything else there stays, and is
// an error.
func (a *archiver) there(ctx context.Context, k store.Key, known int, all []store.Entry) (int, error) {
	has, err := loadFirst(ctx, a.archive, k, len(all)+1)
	if err != nil {
		return 0, err
	}
	same := len(has) <= len(all) && slices.EqualFunc(has, all[:min(len(has), len(all))], func(a, b store.Entry) bool { return bytes.Equal(a, b) })
	switch {
	case same:
		return len(has), nil
	case k.Sub == "" || known > 0:
		return 0, fmt.Errorf("%w: the archive has other entries than the stream", store.ErrDamaged)
	}
	fence, err := a.other(ctx, a.lease.Fence)
	if err != nil {
		return 0, err
	}
	return 0, a.archive.Delete(ctx, k, fence)
}

// Bounds of a batch in the archive.
const (
	archiveEntries = 500
	archiveBytes   = 1 << 20
)

// copy appends entries to the archive.
func (a *archiver) copy(ctx context.Context, k store.Key, entries []store.Entry) error {
	for len(entries) > 0 {
		if err := a.renew(ctx); err != nil {
			return err
		}
		fence, err := a.other(ctx, a.lease.Fence)
		if err != nil {
			return err
		}
		n, size := 0, 0
		for n < len(entries) && n < archiveEntries && (n == 0 || size+len(entries[n]) <= archiveBytes) {
			size += len(entries[n])
			n++
		}
		if err := a.archive.Append(ctx, k, store.Batch{ID: storeimpl.NewBatchID(), Fence: fence, Entries: entries[:n]}); err != nil {
			return err
		}
		entries = entries[n:]
	}
	return a.renew(ctx)
}
