package redisstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/storeimpl"
)

// channel returns the name of the channel on which the changes of a project are announced. It is
// a channel of a shard, with the hash tag of the project, so only the node that makes a change
// passes it on.
func (s *Store) channel(project string) string { return s.key(project, "changes") }

// Watch implements [store.Records]. Each change is published by the script that makes it, so
// changes come in the order in which they are made. The loops of this store over a project share
// a connection. If the user may not use the channel, or a proxy does not know shard channels,
// Watch yields the zero Changed every few seconds instead.
func (s *Store) Watch(ctx context.Context, project string) iter.Seq2[store.Changed, error] {
	return func(yield func(store.Changed, error) bool) {
		h, err := s.hub(project)
		if err != nil {
			yield(store.Changed{}, err)
			return
		}
		h.Watch(ctx, project)(yield)
	}
}

// hub returns the hub of a project.
func (s *Store) hub(project string) (*storeimpl.Hub, error) {
	if err := store.CheckProject(project); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hubs == nil {
		return nil, fail(project, redis.ErrClosed)
	}
	h := s.hubs[project]
	if h == nil {
		l := s.listener(project)
		h = storeimpl.NewHub(l.Run)
		l.Hub, s.hubs[project] = h, h
	}
	return h, nil
}

// listener listens to the channel of a project.
func (s *Store) listener(project string) *storeimpl.Listener {
	l := &storeimpl.Listener{
		Dial: func(ctx context.Context) (storeimpl.Line, error) { return s.subscribe(ctx, project) },
		Send: func(ctx context.Context, text string) error {
			err := s.db.SPublish(ctx, s.channel(project), text).Err()
			if refused(err) {
				return nil // it will not come back, and the listener draws its conclusion
			}
			return err
		},
		Fatal: func(err error) bool {
			return errors.Is(err, redis.ErrClosed) || errors.Is(err, store.ErrNewer) || errors.Is(err, store.ErrDamaged)
		},
	}
	l.Take = func(text string) {
		var changes []store.Changed
		for line := range strings.SplitSeq(text, "\n") {
			c, err := storeimpl.ParseText(project, line)
			if err != nil { // of a newer program: something has changed
				l.Hub.Missed()
				return
			}
			changes = append(changes, c)
		}
		l.Hub.Send(changes...)
	}
	return l
}

// refused reports whether a server does not let this user publish or subscribe, or cannot do it
// at all.
func refused(err error) bool {
	return redis.HasErrorPrefix(err, "NOPERM") || redis.HasErrorPrefix(err, "ERR unknown command")
}

// subscribe subscribes to the channel of a project.
func (s *Store) subscribe(ctx context.Context, project string) (storeimpl.Line, error) {
	db, err := s.client(ctx)
	if err == nil {
		// A client of a cluster learns by an ordinary command that a slot has moved, and not
		// by a subscription.
		err = db.Exists(ctx, s.channel(project)).Err()
	}
	if err != nil {
		return nil, fail(project, err)
	}
	sub := &subscription{p: db.SSubscribe(ctx, s.channel(project))}
	switch _, ok, err := sub.next(ctx, subscribing); {
	case refused(err):
		sub.Close()
		return mute{}, nil
	case err != nil:
		sub.Close()
		return nil, fail(project, err)
	case !ok:
		sub.Close()
		return nil, fail(project, fmt.Errorf("the server does not confirm a subscription within %v", subscribing))
	}
	return sub, nil
}

// subscribing is how long a server may take to confirm a subscription.
const subscribing = 10 * time.Second

// subscription is a [storeimpl.Line].
type subscription struct{ p *redis.PubSub }

var errMoved = errors.New("the subscription has ended: its slot has moved to another node")

// Receive implements [storeimpl.Line]. The client makes a connection that is lost again by itself,
// and confirms it with another subscription: by then changes may have been missed, so that ends
// the line, as does the loss of the slot.
func (s *subscription) Receive(ctx context.Context, within time.Duration) (string, bool, error) {
	switch m, ok, err := s.next(ctx, within); m := m.(type) {
	case *redis.Message:
		return m.Payload, ok, err
	case *redis.Subscription:
		return "", false, errMoved
	default:
		return "", false, err
	}
}

// next returns what comes next: false if nothing does within a time.
func (s *subscription) next(ctx context.Context, within time.Duration) (any, bool, error) {
	defer context.AfterFunc(ctx, s.Close)() // reading does not end with its context
	m, err := s.p.ReceiveTimeout(ctx, max(within, time.Millisecond))
	if ctx.Err() != nil {
		return nil, false, ctx.Err()
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return nil, false, nil
	}
	return m, err == nil, err
}

// Close implements [storeimpl.Line].
func (s *subscription) Close() { _ = s.p.Close() } // it may be closed

// mute is a line on which nothing comes.
type mute struct{}

// Receive implements [storeimpl.Line].
func (mute) Receive(ctx context.Context, within time.Duration) (string, bool, error) {
	t := time.NewTimer(within)
	defer t.Stop()
	select {
	case <-t.C:
		return "", false, nil
	case <-ctx.Done():
		return "", false, ctx.Err()
	}
}

// Close implements [storeimpl.Line].
func (mute) Close() {}
