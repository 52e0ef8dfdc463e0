package fleet

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/claude-agent-go/claude/fleet/internal/outcomelog"
	"github.com/claude-agent-go/claude/fleet/internal/shrink"
	"github.com/claude-agent-go/claude/store"
)

// announcer is the store. It notifies the readers of a conversation when this process
// has changed it, and reports the writes that the store fences off because a
// conversation has another owner.
type announcer struct {
	store.Fleet
	fenced func(key string)

	mu     sync.Mutex
	topics map[string]*topic // by place, while it has listeners
	most   int               // see drop
}

// topic is a conversation with at least one listener.
type topic struct {
	listeners int
	version   uint64        // counts the changes
	changed   chan struct{} // closed at the next one
}

func newAnnouncer(s store.Fleet, t *PromptTrace) *announcer {
	a := &announcer{Fleet: s, fenced: func(string) {}, topics: make(map[string]*topic)}
	if t != nil && t.Fenced != nil {
		a.fenced = t.Fenced
	}
	return a
}

// report reports a refusal, if err is one. It returns err.
func (a *announcer) report(f store.Fence, err error) error {
	if at, ok := strings.CutPrefix(f.Name, leasePrefix); ok && errors.Is(err, store.ErrLeaseLost) {
		a.fenced(keyAt(at))
	}
	return err
}

// listen counts the changes of a conversation until end is called.
func (a *announcer) listen(key string) (t *topic, end func()) { return a.listenAt(place(key)) }

// outcomesPlace is where the outcomes of all conversations are announced.
const outcomesPlace = "outcomes"

func (a *announcer) listenAt(at string) (t *topic, end func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t = a.topics[at]
	if t == nil {
		t = &topic{changed: make(chan struct{})}
		a.topics[at] = t
	}
	t.listeners++
	return t, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if t.listeners--; t.listeners == 0 {
			shrink.Drop(&a.topics, &a.most, at)
		}
	}
}

// followed reports whether any conversation has listeners.
func (a *announcer) followed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := len(a.topics)
	if a.topics[outcomesPlace] != nil {
		n--
	}
	return n > 0
}

// now returns how often the conversation has changed, and a channel that is
// closed when it changes again.
func (a *announcer) now(t *topic) (version uint64, changed <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return t.version, t.changed
}

// announce notifies the listeners that the conversation at a place has changed.
func (a *announcer) announce(at string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if t := a.topics[at]; t != nil {
		t.change()
	}
}

// announceAll notifies all listeners: any conversation may have changed.
func (a *announcer) announceAll() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range a.topics {
		t.change()
	}
}

func (t *topic) change() {
	t.version++
	close(t.changed)
	t.changed = make(chan struct{})
}

// leaseName is the name of the lease of the conversation at a place.
func leaseName(at string) string { return leasePrefix + at }

const leasePrefix = "fleet/"

// Append implements [store.Transcripts].
func (a *announcer) Append(ctx context.Context, k store.Key, b store.Batch) error {
	err := a.Fleet.Append(ctx, k, b)
	if at, ok := strings.CutPrefix(b.Fence.Name, leasePrefix); ok && err == nil {
		a.announce(at)
	}
	return a.report(b.Fence, err)
}

// Renew implements [store.Leases].
func (a *announcer) Renew(ctx context.Context, l store.Lease) error {
	return a.report(l.Fence, a.Fleet.Renew(ctx, l))
}

// Change implements [store.Records].
func (a *announcer) Change(ctx context.Context, f store.Fence, changes ...store.RecordChange) ([]int64, error) {
	next, err := a.Fleet.Change(ctx, f, changes...)
	for _, c := range changes {
		if err == nil && !c.Keep && (!c.Drop || c.Key.Kind == kindConversation) {
			a.announceRecord(c.Key)
		}
	}
	return next, a.report(f, err)
}

// announceRecord notifies the listeners of the conversation that a record belongs to.
func (a *announcer) announceRecord(k store.RecordKey) {
	switch k.Kind {
	case kindConversation:
		a.announce(k.Name)
	case outcomelog.KindMark:
		a.announce(outcomesPlace)
	}
}
