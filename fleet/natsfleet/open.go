package natsfleet

import (
	"context"
	"crypto/rand"
	"errors"
)

// OpenStore connects to the servers, and makes the stream of the fleet if there is
// none. Options.Project is not needed. A server that cannot be reached is an error,
// as are one that is too old and a stream that another version made.
func OpenStore(ctx context.Context, o Options) (*Store, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if err := o.checkLeases(ctx); err != nil {
		return nil, err
	}
	nc, err := dial(ctx, &o)
	if err != nil {
		return nil, err
	}
	c := &connection{nc: nc, log: o.Logger}
	c.refusals.watch(nc, func() error {
		if !nc.IsConnected() {
			return nil // it is gone again; the server of the next connection is looked at
		}
		err := c.checkServer()
		if err != nil {
			c.log.Error("NATS: the connection was made to a server that cannot be used", "error", err)
		}
		return err
	})
	s := &stream{connection: c, layout: layout{o.Name}, id: rand.Text()}
	err = errors.Join(c.checkServer(), ctx.Err())
	if err == nil {
		err = s.ensure(ctx, &o)
	}
	if err == nil {
		s.replies, err = newReplies(nc)
		err = fail("subscribe", err)
	}
	if err != nil {
		nc.Close()
		return nil, err
	}
	c.stopWaiting = c.waiting.watch(nc)
	return newStore(s, &o), nil
}
