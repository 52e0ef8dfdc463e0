package inbox

import "slices"

// kept is how many places an empty queue keeps for what comes next. It is twice
// what a consumer that waits is left alone with.
const kept = 2 * enough

// queue is a queue of items. It reuses its places: a session that keeps up
// with its reader does not allocate for it.
type queue struct {
	items []Item
	head  int // the first one that was not taken
}

func (q *queue) len() int { return len(q.items) - q.head }

// all are the items from first to last.
func (q *queue) all() []Item { return q.items[q.head:] }

func (q *queue) push(it Item) {
	if len(q.items) == cap(q.items) {
		q.room()
	}
	q.items = append(q.items, it)
}

// room makes a place: that of items that were taken, or a new one.
func (q *queue) room() {
	waiting := q.all()
	if q.head > len(q.items)/2 {
		n := copy(q.items, waiting)
		clear(q.items[n:])
		q.items = q.items[:n]
	} else {
		q.items = append(make([]Item, 0, max(8, 2*len(q.items))), waiting...)
	}
	q.head = 0
}

// pop takes the first item out of a queue that has one.
func (q *queue) pop() Item {
	it := q.items[q.head]
	q.items[q.head] = Item{} // so that it can be freed
	q.head++
	if q.len() == 0 {
		q.head, q.items = 0, q.items[:0]
		if cap(q.items) > kept {
			q.items = nil
		}
	}
	return it
}

// remove drops the items that drop says.
func (q *queue) remove(drop func(Item) bool) {
	q.items = q.items[:q.head+len(slices.DeleteFunc(q.all(), drop))]
}
