package natsfleet

import (
	"cmp"
	"context"

	"github.com/nats-io/nats.go"

	"github.com/claude-agent-go/claude/store"
)

// sideTranscripts keeps transcripts in the side store, under its leases.
type sideTranscripts struct {
	store.Sessions
	leases *leases
}

// Append implements [store.Transcripts]. No server announces writes to the side store,
// so Append does. If the process dies before, its lease expires, and all others poll
// the store now and then.
func (o sideTranscripts) Append(ctx context.Context, k store.Key, b store.Batch) error {
	if err := cmp.Or(b.Check(k), ctx.Err()); err != nil {
		return err
	}
	name := b.Fence.Name
	var err error
	if b.Fence, err = o.leases.other(ctx, b.Fence); err != nil {
		return fail(k, err)
	}
	if err := o.Sessions.Append(ctx, k, b); err != nil {
		return err
	}
	if len(b.Entries) > 0 {
		o.announce(k, name)
	}
	return nil
}

// Delete implements [store.Transcripts].
func (o sideTranscripts) Delete(ctx context.Context, k store.Key, f store.Fence) error {
	if err := cmp.Or(store.Batch{Fence: f}.Check(k), ctx.Err()); err != nil {
		return err
	}
	f, err := o.leases.other(ctx, f)
	if err != nil {
		return fail(k, err)
	}
	return o.Sessions.Delete(ctx, k, f)
}

// announce publishes the announcement that the server would make if it had stored a
// batch itself.
func (o sideTranscripts) announce(k store.Key, lease string) {
	m := &nats.Msg{Subject: o.leases.layout.announced(o.leases.layout.transcript(k.Project, k.Session, k.Sub) + ".e"), Header: make(nats.Header)}
	if lease != "" {
		m.Header.Set(headerLease, lease)
	}
	_ = o.leases.nc.PublishMsg(m) // it can be lost, see store.Notifier
}
