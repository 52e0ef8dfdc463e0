package natsfleet

import (
	"context"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/claude-agent-go/claude/fleet"
)

// live carries live text over subjects that are not stored. It implements
// [fleet.Live].
type live struct {
	s       *Store
	project string
	queue   chan *nats.Msg
	done    chan struct{}
	once    sync.Once
	wg      sync.WaitGroup
}

// maxUnsent is how many frames may wait for the connection. Those that do not fit
// are lost, and listeners ask for the whole.
const maxUnsent = 4096

func (s *Store) newLive(project string) *live {
	l := &live{s: s, project: project, queue: make(chan *nats.Msg, maxUnsent), done: make(chan struct{})}
	l.wg.Go(l.send)
	return l
}

// close may be called again.
func (l *live) close() {
	l.once.Do(func() { close(l.done) })
	l.wg.Wait()
}

// send sends what was published. A connection that hangs delays no other
// publisher.
func (l *live) send() {
	for {
		select {
		case m := <-l.queue:
			_ = l.s.nc.PublishMsg(m) // listeners notice that it is missing
		case <-l.done:
			return
		}
	}
}

// Publish implements [fleet.Live].
func (l *live) Publish(key string, frame []byte) {
	for _, m := range pieces(l.s.layout.live(l.project, key), frame, l.s.part()) {
		select {
		case l.queue <- m:
		default:
			return
		}
	}
}

// Listen implements [fleet.Live].
func (l *live) Listen(ctx context.Context, key string, do func([]byte)) (stop func(), err error) {
	var frames joiner
	sub, err := l.s.nc.Subscribe(l.s.layout.live(l.project, key), func(m *nats.Msg) {
		if frame, whole := frames.add(m); whole {
			do(frame)
		}
	})
	if err != nil {
		return nil, fail(key, err)
	}
	ctx, cancel := context.WithTimeout(ctx, attemptBound)
	defer cancel()
	if err := l.s.nc.FlushWithContext(ctx); err != nil {
		_ = sub.Unsubscribe() // the first error matters more
		return nil, fail(key, err)
	}
	done := make(chan struct{})
	sub.SetClosedHandler(func(string) { close(done) })
	return func() {
		if sub.Unsubscribe() == nil {
			<-done
		}
	}, nil
}

// Ask implements [fleet.Live]. All workers are asked, and only the one that runs the
// conversation answers.
func (l *live) Ask(ctx context.Context, key string) ([]byte, error) {
	nc := l.s.nc
	inbox := nc.NewInbox()
	sub, err := nc.SubscribeSync(inbox)
	if err != nil {
		return nil, fail(key, err)
	}
	defer func() { _ = sub.Unsubscribe() }() // the connection may be gone
	if err := nc.PublishRequest(l.s.layout.spoken(l.project, key), inbox, nil); err != nil {
		return nil, fail(key, err)
	}
	for frames := (joiner{}); ; {
		m, err := sub.NextMsgWithContext(ctx)
		if err == nil && m.Header.Get("Status") == statusNoResponse {
			err = nats.ErrNoResponders
		}
		if err != nil {
			return nil, fail(key, err)
		}
		if state, whole := frames.add(m); whole {
			return state, nil
		}
	}
}

// tell answers requests for the live text of the conversations that run here.
func (l *live) tell(f *fleet.Fleet) (stop func(), err error) {
	sub, err := l.s.nc.Subscribe(l.s.layout.spoken(l.project, "*"), func(m *nats.Msg) {
		if state, here := f.LiveState(untoken(m.Subject[strings.LastIndexByte(m.Subject, '.')+1:])); here {
			for _, piece := range pieces(m.Reply, state, l.s.part()) {
				_ = l.s.nc.PublishMsg(piece) // the client gives up by itself
			}
		}
	})
	if err != nil {
		return nil, fail("subscribe", err)
	}
	return func() { _ = sub.Unsubscribe() }, nil // the connection may be gone
}
