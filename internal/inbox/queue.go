package inbox

import "iter"

// A chunk has room for as many items as are worth waking the consumer for, and
// takes no more when it is heavy: what the consumer has taken is outside the
// bound.
const (
	chunkItems = wakeThreshold
	chunkBytes = 64 << 10
)

// chunk is a stretch of the queue. The consumer takes it as a whole.
type chunk struct {
	items [chunkItems]Item
	n     int
	bytes int
	next  *chunk
}

func (c *chunk) full() bool { return c.n == len(c.items) || c.bytes >= chunkBytes }

// queue is a queue of items in chunks. It keeps some that are empty: in a turn, a
// session that keeps up with its reader does not allocate for it.
type queue struct {
	first, last *chunk
	count       int
	spare       *chunk
	spares      int
}

// maxSpares are the chunks of a reader that is ahead, with those at both ends.
const maxSpares = leadFrames/chunkItems + 2

// all are the items from first to last.
func (q *queue) all() iter.Seq[*Item] {
	return func(yield func(*Item) bool) {
		for c := q.first; c != nil; c = c.next {
			for i := range c.n {
				if !yield(&c.items[i]) {
					return
				}
			}
		}
	}
}

func (q *queue) push(it Item) {
	if q.last == nil || q.last.full() {
		q.extend()
	}
	c := q.last
	c.items[c.n] = it
	c.n++
	c.bytes += it.size()
	q.count++
}

// extend puts an empty chunk at the end.
func (q *queue) extend() {
	c := q.spare
	if c == nil {
		c = new(chunk)
	} else {
		q.spare, c.next = c.next, nil
		q.spares--
	}
	if q.last == nil {
		q.first = c
	} else {
		q.last.next = c
	}
	q.last = c
}

// take takes the first chunk out, nil if there is none.
func (q *queue) take() *chunk {
	c := q.first
	if c == nil {
		return nil
	}
	q.first = c.next
	if q.first == nil {
		q.last = nil
	}
	c.next = nil
	q.count -= c.n
	return c
}

// reuse recycles a chunk that was taken, so that its items can be freed.
func (q *queue) reuse(c *chunk) {
	if q.spares == maxSpares {
		return
	}
	clear(c.items[:c.n])
	c.n, c.bytes = 0, 0
	q.spare, c.next = c, q.spare
	q.spares++
}

// keep drops the items of a chunk, from one on, that wanted does not want.
func (c *chunk) keep(from int, wanted func(*Item) bool) {
	kept := from
	for i := from; i < c.n; i++ {
		if it := &c.items[i]; wanted(it) {
			if kept != i {
				c.items[kept] = *it
			}
			kept++
		}
	}
	clear(c.items[kept:c.n])
	c.n = kept
}

// keep drops the items that wanted does not want.
func (q *queue) keep(wanted func(*Item) bool) {
	old := *q
	*q = queue{}
	for it := range old.all() {
		if wanted(it) {
			q.push(*it)
		}
	}
}
