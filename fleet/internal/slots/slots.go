// Package slots decides which conversation of a fleet gets the next CLI.
//
// A slot is the right to run one CLI. A [List] has the conversations that need one, in the
// order in which they get it. It has no clock, no lock and no goroutine: the caller tells it
// what has changed, and when.
package slots

import (
	"cmp"
	"container/heap"
	"time"

	"github.com/claude-agent-go/claude/fleet/internal/shrink"
)

// Seat is the state of a conversation in a List; the conversation embeds it. After a
// member has changed, [List.Put] must be called. The lock that guards the List also
// guards the Seat.
type Seat struct {
	Tenant string
	// Wanted means that there may be something to do that the goroutine which runs the
	// conversation has not seen.
	Wanted bool
	// Since is its place among those that are wanted.
	Since uint64
	// After is when it may be woken.
	After time.Time
	// Held means that another process had its lease when it was last tried, and Asking
	// that the store is being asked for it.
	Held, Asking bool
	// Awake means that it has a slot.
	Awake bool
	// Stopped means that nothing may begin.
	Stopped bool

	in remover // where it waits for a slot; nil: nowhere
	at int     // its place there
}

func (s *Seat) seat() *Seat { return s }

// Sitter is a conversation: a pointer to a struct that embeds a Seat.
type Sitter interface {
	comparable
	seat() *Seat
}

// remover is a heap of any members.
type remover interface{ remove(i int) }

// List has the conversations that need a slot, in the order in which they get one. A step
// costs as little with ten thousand of them as with ten. It is not safe for concurrent use.
type List[C Sitter] struct {
	lines     map[string]*line[C]   // by tenant, those that have a slot or need one
	mostLines int                   // see [shrink.Drop]
	order     indexedHeap[*line[C]] // those in which a conversation waits
	served    uint64                // when a slot was last given, by the fleet's count
	// later must not be woken before their time. leased are conversations that
	// another process has, and whose leases must not be asked for before their time.
	later, leased indexedHeap[C]
	// refused holds the conversations that this process may not run, as of its
	// last answer.
	refused     map[C]bool
	mostRefused int
}

// line is a tenant.
type line[C Sitter] struct {
	tenant string
	slots  int    // that it has
	served uint64 // when it last got one, by the fleet's count
	ready  indexedHeap[C]
	at     int // in the order of lines
}

// New returns an empty List.
func New[C Sitter]() *List[C] {
	w := &List[C]{lines: make(map[string]*line[C]), refused: make(map[C]bool)}
	// The tenant with the fewest slots comes first, of several the one that has waited
	// longest since its last slot.
	w.order.init(func(a, b *line[C]) bool {
		return cmp.Or(cmp.Compare(a.slots, b.slots), cmp.Compare(a.served, b.served), cmp.Compare(a.ready.items[0].seat().Since, b.ready.items[0].seat().Since)) < 0
	}, func(l *line[C]) *int { return &l.at })
	for _, l := range []*indexedHeap[C]{&w.later, &w.leased} {
		l.init(func(a, b C) bool { return a.seat().After.Before(b.seat().After) }, place[C])
	}
	return w
}

func place[C Sitter](c C) *int { return &c.seat().at }

// line returns the line of a conversation's tenant, which is made if there is none. The
// list does not remember when a tenant that comes, or comes back, last got a slot. It
// counts as served just before the one that got the last slot: it need not wait for
// that one again, and overtakes no other.
func (w *List[C]) line(c C) *line[C] {
	tenant := c.seat().Tenant
	l := w.lines[tenant]
	if l == nil {
		l = &line[C]{tenant: tenant, served: max(w.served, 1) - 1, at: -1}
		l.ready.init(func(a, b C) bool { return a.seat().Since < b.seat().Since }, place[C])
		w.lines[tenant] = l
	}
	return l
}

// Put puts a conversation where it belongs now. Call it whenever anything that matters
// here has changed.
func (w *List[C]) Put(c C, now time.Time) {
	w.remove(c)
	switch s := c.seat(); {
	case !s.Wanted || s.Awake || s.Stopped || s.Asking:
	case s.Held:
		w.leased.add(c)
		s.in = &w.leased
	case s.After.After(now):
		w.later.add(c)
		s.in = &w.later
	default:
		l := w.line(c)
		l.ready.add(c)
		s.in = &l.ready
		w.sort(l)
	}
}

// remove takes a conversation out of the list.
func (w *List[C]) remove(c C) {
	shrink.Drop(&w.refused, &w.mostRefused, c)
	s := c.seat()
	if s.in == nil {
		return
	}
	s.in.remove(s.at)
	if l := w.lines[s.Tenant]; l != nil && s.in == remover(&l.ready) {
		w.sort(l)
	}
	s.in = nil
}

// sort finds the place of a line that has changed. One that has no slot and needs none
// is dropped.
func (w *List[C]) sort(l *line[C]) {
	switch waits := l.ready.Len() > 0; {
	case waits && l.at < 0:
		w.order.add(l)
	case waits:
		heap.Fix(&w.order, l.at)
	case l.at >= 0:
		w.order.remove(l.at)
		l.at = -1
	}
	if l.slots == 0 && l.at < 0 {
		shrink.Drop(&w.lines, &w.mostLines, l.tenant)
	}
}

// Next returns the conversation that gets the next slot, the zero one if none needs it. runs
// reports whether this process may run a conversation.
func (w *List[C]) Next(now time.Time, runs func(C) bool) (next C) {
	for w.later.Len() > 0 && !w.later.items[0].seat().After.After(now) {
		w.Put(w.later.items[0], now)
	}
	for w.order.Len() > 0 {
		c := w.order.items[0].ready.items[0]
		if runs(c) {
			return c
		}
		w.remove(c)
		w.refused[c] = true
	}
	return next
}

// Reconsider lets conversations that this process could not run be looked at again.
func (w *List[C]) Reconsider(now time.Time) {
	for c := range w.refused {
		w.Put(c, now)
	}
}

// Tenants is how many tenants have a slot or need one.
func (w *List[C]) Tenants() int { return len(w.lines) }

// TakeLeased takes out a conversation whose lease is to be asked for. It returns the
// zero one if there is none.
func (w *List[C]) TakeLeased(now time.Time) (next C) {
	if w.leased.Len() == 0 || w.leased.items[0].seat().After.After(now) {
		return next
	}
	next = w.leased.items[0]
	w.remove(next)
	return next
}

// Due is when the next conversation that has to wait for its time is to be looked at,
// false if there is none. With leases, that includes those that another process has.
func (w *List[C]) Due(leases bool) (at time.Time, ok bool) {
	for _, l := range []*indexedHeap[C]{&w.later, &w.leased} {
		if l.Len() > 0 && (l == &w.later || leases) && (!ok || l.items[0].seat().After.Before(at)) {
			at, ok = l.items[0].seat().After, true
		}
	}
	return at, ok
}

// Slot counts the slots of a conversation's tenant. With served, it just got one.
func (w *List[C]) Slot(c C, change int, served uint64) {
	l := w.line(c)
	l.slots += change
	l.served, w.served = max(l.served, served), max(w.served, served)
	w.sort(l)
}

// indexedHeap is a heap whose members know their places in it.
type indexedHeap[T any] struct {
	items  []T
	before func(a, b T) bool
	place  func(T) *int
}

func (l *indexedHeap[T]) init(before func(a, b T) bool, place func(T) *int) {
	l.before, l.place = before, place
}

func (l *indexedHeap[T]) add(x T)      { heap.Push(l, x) }
func (l *indexedHeap[T]) remove(i int) { heap.Remove(l, i) }

// Len, Less, Swap, Push and Pop implement [heap.Interface].
func (l *indexedHeap[T]) Len() int { return len(l.items) }

func (l *indexedHeap[T]) Less(i, j int) bool { return l.before(l.items[i], l.items[j]) }

func (l *indexedHeap[T]) Swap(i, j int) {
	l.items[i], l.items[j] = l.items[j], l.items[i]
	*l.place(l.items[i]), *l.place(l.items[j]) = i, j
}

func (l *indexedHeap[T]) Push(x any) {
	*l.place(x.(T)) = len(l.items)
	l.items = append(l.items, x.(T))
}

func (l *indexedHeap[T]) Pop() any { return shrink.Last(&l.items) }
