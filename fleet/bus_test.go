package fleet_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/fleet"
)

// radio is a Bus between the fleets of a test. If it is lossy, it delays what it carries,
// and loses a tenth of the live text and a quarter of the requests.
type radio struct {
	mu     sync.Mutex
	random *rand.Rand // nil unless it is lossy
	ears   map[string]map[*ear]bool
}

// ear is a subscription.
type ear struct{ messages chan []byte }

var _ fleet.Bus = (*radio)(nil)

func newRadio() *radio { return &radio{ears: make(map[string]map[*ear]bool)} }

func newLossyRadio(seed uint64) *radio {
	r := newRadio()
	r.random = rand.New(rand.NewPCG(seed, 0))
	return r
}

func (r *radio) Publish(topic string, message []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for e := range r.ears[topic] {
		if !r.loses(topic) {
			e.messages <- message
		}
	}
}

func (r *radio) loses(topic string) bool {
	switch {
	case r.random == nil:
		return false
	case strings.HasPrefix(topic, "requests/"):
		return r.random.IntN(4) == 0
	}
	return strings.HasPrefix(topic, "live/") && r.random.IntN(10) == 0
}

func (r *radio) Subscribe(_ context.Context, topic string, do func([]byte)) (func(), error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, done := &ear{make(chan []byte, 100_000)}, make(chan struct{})
	if r.ears[topic] == nil {
		r.ears[topic] = make(map[*ear]bool)
	}
	r.ears[topic][e] = true
	go func() {
		defer close(done)
		for message := range e.messages {
			if r.random != nil {
				<-time.After(time.Millisecond)
			}
			do(message)
		}
	}()
	return func() {
		r.mu.Lock()
		delete(r.ears[topic], e)
		r.mu.Unlock()
		close(e.messages)
		<-done
	}, nil
}

// handle is a Bus through which one process uses another.
type handle struct {
	fleet.Bus
	before func(topic string) // is called before each message is published
	cut    func() bool        // reports that the process has neither ears nor a voice
}

func (h handle) Publish(topic string, message []byte) {
	if h.before != nil {
		h.before(topic)
	}
	if h.cut == nil || !h.cut() {
		h.Bus.Publish(topic, message)
	}
}

func (h handle) Subscribe(ctx context.Context, topic string, do func([]byte)) (func(), error) {
	return h.Bus.Subscribe(ctx, topic, func(message []byte) {
		if h.cut == nil || !h.cut() {
			do(message)
		}
	})
}
