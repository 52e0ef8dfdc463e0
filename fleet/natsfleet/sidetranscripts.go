package natsfleet

import (
	"cmp"
	"context"
	"iter"

	"github.com/nats-io/nats.go"

	"github.com/claude-agent-go/claude/store"
)

// transcripts is where the transcripts of a fleet are.
type transcripts interface {
	store.Store
	LoadAfter(ctx context.Context, k store.Key, place int64) iter.Seq2[store.PlacedEntry, error]
	store.Lister
	store.SubLister
	store.Deleter
}

// sideTranscripts keeps transcripts in the side store, under its leases.
type sideTranscripts struct {
	leased
	s *Store
}

// Append implements [store.Store]. Nobody announces what is stored there, so this
// does; a process that dies before is one whose lease will expire, and everybody
// looks at the store now and then.
func (o sideTranscripts) Append(ctx context.Context, k store.Key, b store.Batch) error {
	if err := cmp.Or(b.Check(k), ctx.Err()); err != nil {
		return err
	}
	name := b.Fence.Name
	var err error
	if b.Fence, err = o.s.other(ctx, b.Fence); err != nil {
		return fail(k, err)
	}
	if err := o.leased.Append(ctx, k, b); err != nil {
		return err
	}
	if len(b.Entries) > 0 {
		o.s.announce(k, name)
	}
	return nil
}

// LoadAfter reads on as [store.Tailer] says.
func (o sideTranscripts) LoadAfter(ctx context.Context, k store.Key, place int64) iter.Seq2[store.PlacedEntry, error] {
	return store.LoadAfter(ctx, o.leased, k, place)
}

// Delete implements [store.Deleter].
func (o sideTranscripts) Delete(ctx context.Context, k store.Key, f store.Fence) error {
	if err := cmp.Or(store.Batch{Fence: f}.Check(k), ctx.Err()); err != nil {
		return err
	}
	f, err := o.s.other(ctx, f)
	if err != nil {
		return fail(k, err)
	}
	return o.leased.Delete(ctx, k, f)
}

// announce says what the server would say if it had stored a batch itself.
func (s *Store) announce(k store.Key, lease string) {
	m := &nats.Msg{Subject: s.layout.announced(s.layout.transcript(k.Project, k.Session, k.Sub) + ".e"), Header: make(nats.Header)}
	if lease != "" {
		m.Header.Set(headerLease, lease)
	}
	_ = s.nc.PublishMsg(m) // it can be lost, see store.Notifier
}

// Append implements [store.Store].
func (s *Store) Append(ctx context.Context, k store.Key, b store.Batch) error {
	return s.transcripts.Append(ctx, k, b)
}

// Load implements [store.Store].
func (s *Store) Load(ctx context.Context, k store.Key) iter.Seq2[store.Entry, error] {
	return s.transcripts.Load(ctx, k)
}

// LoadAfter implements [store.Tailer].
func (s *Store) LoadAfter(ctx context.Context, k store.Key, place int64) iter.Seq2[store.PlacedEntry, error] {
	return s.transcripts.LoadAfter(ctx, k, place)
}

// Tails implements [store.Tailer].
func (s *Store) Tails(of store.Store) bool { return of == store.Store(s) }

// List implements [store.Lister].
func (s *Store) List(ctx context.Context, project string) iter.Seq2[store.Session, error] {
	return s.transcripts.List(ctx, project)
}

// ListSubs implements [store.SubLister].
func (s *Store) ListSubs(ctx context.Context, project, session string) iter.Seq2[string, error] {
	return s.transcripts.ListSubs(ctx, project, session)
}

// Delete implements [store.Deleter].
func (s *Store) Delete(ctx context.Context, k store.Key, f store.Fence) error {
	return s.transcripts.Delete(ctx, k, f)
}
