package fleet

import (
	"cmp"
	"container/heap"
	"time"
)

// A slot is the right to run one CLI. A fleet has as many as Options.MaxLive says.

// waitlist has the conversations that need a slot, in the order in which they get
// one. A step costs as little with ten thousand of them as with ten.
type waitlist struct {
	lines     map[string]*line   // by tenant, those that have a slot or need one
	mostLines int                // see drop
	order     indexedHeap[*line] // those in which somebody waits
	served    uint64             // when a slot was last given, by the fleet's count
	// later must not be woken before their time. leased are conversations that
	// another process has, and whose leases must not be asked for before their time.
	later, leased indexedHeap[*conversation]
	// refused are those that this process may not run, as far as it last said.
	refused     map[*conversation]bool
	mostRefused int // see drop
}

// line is a tenant.
type line struct {
	tenant string
	slots  int    // that it has
	served uint64 // when it last got one, by the fleet's count
	ready  indexedHeap[*conversation]
	at     int // in the order of lines
}

func newWaitlist() *waitlist {
	w := &waitlist{lines: make(map[string]*line), refused: make(map[*conversation]bool)}
	// The tenant with the fewest slots comes first, of several the one that has not
	// got any for longest.
	w.order.init(func(a, b *line) bool {
		return cmp.Or(cmp.Compare(a.slots, b.slots), cmp.Compare(a.served, b.served), cmp.Compare(a.ready.items[0].since, b.ready.items[0].since)) < 0
	}, func(l *line) *int { return &l.at })
	for _, l := range []*indexedHeap[*conversation]{&w.later, &w.leased} {
		l.init(func(a, b *conversation) bool { return a.after.Before(b.after) }, (*conversation).place)
	}
	return w
}

func (c *conversation) place() *int { return &c.at }

// line returns the line of a conversation's tenant, which is made if there is none.
// Nobody remembers when a tenant that comes, or comes back, last got a slot. It counts
// as served just before the one that got the last slot: it need not wait for that one
// again, and passes nobody else by.
func (w *waitlist) line(c *conversation) *line {
	tenant := TenantOf(c.key)
	l := w.lines[tenant]
	if l == nil {
		l = &line{tenant: tenant, served: max(w.served, 1) - 1, at: -1}
		l.ready.init(func(a, b *conversation) bool { return a.since < b.since }, (*conversation).place)
		w.lines[tenant] = l
	}
	return l
}

// put puts a conversation where it belongs now. It is called whenever anything
// changes that matters here.
func (w *waitlist) put(c *conversation, now time.Time) {
	w.remove(c)
	switch {
	case !c.wanted || c.awake || c.stopped || c.asking:
	case c.held:
		w.leased.add(c)
		c.in = &w.leased
	case c.after.After(now):
		w.later.add(c)
		c.in = &w.later
	default:
		l := w.line(c)
		l.ready.add(c)
		c.in = &l.ready
		w.sort(l)
	}
}

// remove takes a conversation out of the list.
func (w *waitlist) remove(c *conversation) {
	drop(&w.refused, &w.mostRefused, c)
	if c.in == nil {
		return
	}
	c.in.remove(c.at)
	if l := w.lines[TenantOf(c.key)]; l != nil && c.in == &l.ready {
		w.sort(l)
	}
	c.in = nil
}

// sort finds the place of a line that has changed. One that has no slot and needs none
// is forgotten.
func (w *waitlist) sort(l *line) {
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
		drop(&w.lines, &w.mostLines, l.tenant)
	}
}

// next returns the conversation that gets the next slot, nil if none needs one. runs
// says whether this process may run a conversation.
func (w *waitlist) next(now time.Time, runs func(key string) bool) *conversation {
	for w.later.Len() > 0 && !w.later.items[0].after.After(now) {
		w.put(w.later.items[0], now)
	}
	for w.order.Len() > 0 {
		c := w.order.items[0].ready.items[0]
		if runs(c.key) {
			return c
		}
		w.remove(c)
		w.refused[c] = true
	}
	return nil
}

// reconsider lets conversations be looked at again that this process could not run.
func (w *waitlist) reconsider(now time.Time) {
	for c := range w.refused {
		w.put(c, now)
	}
}

// takeLeased takes a conversation out whose lease is to be asked for, nil if there
// is none.
func (w *waitlist) takeLeased(now time.Time) *conversation {
	if w.leased.Len() == 0 || w.leased.items[0].after.After(now) {
		return nil
	}
	c := w.leased.items[0]
	w.remove(c)
	return c
}

// due is when the next conversation is to be looked at that has to wait for its time,
// false if there is none.
func (w *waitlist) due(leases bool) (at time.Time, ok bool) {
	for _, l := range []*indexedHeap[*conversation]{&w.later, &w.leased} {
		if l.Len() > 0 && (l == &w.later || leases) && (!ok || l.items[0].after.Before(at)) {
			at, ok = l.items[0].after, true
		}
	}
	return at, ok
}

// slot counts the slots of a conversation's tenant. With served, it just got one.
func (w *waitlist) slot(c *conversation, change int, served uint64) {
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

func (l *indexedHeap[T]) Pop() any { return dropLast(&l.items) }
