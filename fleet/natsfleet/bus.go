package natsfleet

import (
	"context"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/claude-agent-go/claude/fleet"
)

// bus carries messages over subjects that are not stored. It implements [fleet.Bus].
type bus struct {
	s     *Store
	queue chan *nats.Msg
	done  chan struct{}
	once  sync.Once
	wg    sync.WaitGroup
}

var _ fleet.Bus = (*bus)(nil)

// maxUnsent is how many messages may wait for the connection. Those that do not fit are
// lost, which a Bus may do.
const maxUnsent = 4096

func (s *Store) newBus() *bus {
	b := &bus{s: s, queue: make(chan *nats.Msg, maxUnsent), done: make(chan struct{})}
	b.wg.Go(b.send)
	return b
}

// close may be called again.
func (b *bus) close() {
	b.once.Do(func() { close(b.done) })
	b.wg.Wait()
}

// send sends what was published. A connection that hangs delays no publisher.
func (b *bus) send() {
	for {
		select {
		case m := <-b.queue:
			_ = b.s.nc.PublishMsg(m) // it may be lost
		case <-b.done:
			return
		}
	}
}

// Publish implements [fleet.Bus].
func (b *bus) Publish(topic string, message []byte) {
	for _, m := range pieces(b.s.layout.bus(topic), message, b.s.part()) {
		select {
		case b.queue <- m:
		default:
			return
		}
	}
}

// Subscribe implements [fleet.Bus].
func (b *bus) Subscribe(ctx context.Context, topic string, do func([]byte)) (stop func(), err error) {
	var messages joiner
	sub, err := b.s.nc.Subscribe(b.s.layout.bus(topic), func(m *nats.Msg) {
		if message, whole := messages.add(m); whole {
			do(message)
		}
	})
	if err != nil {
		return nil, fail(topic, err)
	}
	ctx, cancel := context.WithTimeout(ctx, attemptBound)
	defer cancel()
	if err := b.s.nc.FlushWithContext(ctx); err != nil {
		_ = sub.Unsubscribe() // the first error matters more
		return nil, fail(topic, err)
	}
	done := make(chan struct{})
	sub.SetClosedHandler(func(string) { close(done) })
	return func() {
		if sub.Unsubscribe() == nil {
			<-done
		}
	}, nil
}
