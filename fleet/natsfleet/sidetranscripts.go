package natsfleet

import (
	"cmp"
	"context"
	"iter"

	"github.com/nats-io/nats.go"

	"github.com/claude-agent-go/claude/store"
)

// sideTranscripts keeps transcripts in the side store, under its leases.
type sideTranscripts struct {
	store.Sessions
	s *Store
}

// Append implements [store.Transcripts]. No server announces what is stored there,
// so this does. If the process dies before, its lease expires, and all others poll
// the store now and then.
func (o sideTranscripts) Append(ctx context.Context, k store.Key, b store.Batch) error {
	if err := cmp.Or(b.Check(k), ctx.Err()); err != nil {
		return err
	}
	name := b.Fence.Name
	var err error
	if b.Fence, err = o.s.other(ctx, b.Fence); err != nil {
		return fail(k, err)
	}
	if err := o.Sessions.Append(ctx, k, b); err != nil {
		return err
	}
	if len(b.Entries) > 0 {
		o.s.announce(k, name)
	}
	return nil
}

// Delete implements [store.Transcripts].
func (o sideTranscripts) Delete(ctx context.Context, k store.Key, f store.Fence) error {
	if err := cmp.Or(store.Batch{Fence: f}.Check(k), ctx.Err()); err != nil {
		return err
	}
	f, err := o.s.other(ctx, f)
	if err != nil {
		return fail(k, err)
	}
	return o.Sessions.Delete(ctx, k, f)
}

// announce publishes what the server would announce if it had stored a batch
// itself.
func (s *Store) announce(k store.Key, lease string) {
	m := &nats.Msg{Subject: s.layout.announced(s.layout.transcript(k.Project, k.Session, k.Sub) + ".e"), Header: make(nats.Header)}
	if lease != "" {
		m.Header.Set(headerLease, lease)
	}
	_ = s.nc.PublishMsg(m) // it can be lost, see store.Notifier
}

// Append implements [store.Transcripts].
func (s *Store) Append(ctx context.Context, k store.Key, b store.Batch) error {
	return s.transcripts.Append(ctx, k, b)
}

// Load implements [store.Transcripts].
func (s *Store) Load(ctx context.Context, k store.Key, after store.Place) iter.Seq2[store.PlacedEntry, error] {
	return s.transcripts.Load(ctx, k, after)
}

// List implements [store.Transcripts].
func (s *Store) List(ctx context.Context, project string) iter.Seq2[store.Summary, error] {
	return s.transcripts.List(ctx, project)
}

// Subagents implements [store.Transcripts].
func (s *Store) Subagents(ctx context.Context, project, session string) iter.Seq2[string, error] {
	return s.transcripts.Subagents(ctx, project, session)
}

// Delete implements [store.Transcripts].
func (s *Store) Delete(ctx context.Context, k store.Key, f store.Fence) error {
	return s.transcripts.Delete(ctx, k, f)
}
