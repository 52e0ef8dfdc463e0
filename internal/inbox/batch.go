package inbox

import "github.com/claude-agent-go/claude/internal/wire"

// batch holds the frames that the consumer has taken and not yet returned, so
// that it need not lock for each frame. The chunk changes only under the lock;
// its frames and the other fields belong to the consumer.
type batch struct {
	chunk         *chunk
	next          int    // of its items
	wantedVersion uint64 // Inbox.wanted when they were last looked at
}

// nextWanted returns the next wanted item: from the batch, as long as all of it is
// wanted, or else from the queue.
func (b *Inbox) nextWanted() (it Item, ok, end bool, err error) {
	t := &b.batch
	if t.chunk != nil && t.next < t.chunk.n-1 && t.wantedVersion == b.wantedVersion.Load() {
		return t.nextItem(), true, false, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	t.wantedVersion = b.wantedVersion.Load()
	if back := b.back; back != nil {
		b.back = nil
		if !back.unwanted() {
			return *back, true, false, nil
		}
	}
	for t.chunk != nil || b.takeBatch() {
		t.chunk.keep(t.next, func(it *Item) bool { return !it.unwanted() })
		if ok = t.next < t.chunk.n; ok {
			it = t.nextItem()
		}
		if t.next >= t.chunk.n {
			if b.turns.busy() {
				b.queue.reuse(t.chunk)
			} else {
				b.queue.spare, b.queue.spares = nil, 0 // a session that waits keeps nothing
			}
			t.chunk = nil
		}
		if ok {
			return it, true, false, nil
		}
	}
	return Item{}, false, b.closed, b.err
}

// nextItem returns the next item of the batch, which does not keep it.
func (t *batch) nextItem() Item {
	own := &t.chunk.items[t.next]
	t.next++
	it := *own
	own.Frame = wire.Frame{}
	return it
}

// takeBatch makes a batch of the front of the queue.
func (b *Inbox) takeBatch() bool {
	c := b.queue.take()
	if c == nil {
		return false
	}
	b.bytes -= c.bytes
	for i := range c.n {
		if c.items[i].partial() {
			b.partial--
		}
	}
	b.batch.chunk, b.batch.next = c, 0
	b.batches++
	b.stalled = 0
	if b.nearlyEmpty() {
		signal(b.taken)
	}
	return true
}
