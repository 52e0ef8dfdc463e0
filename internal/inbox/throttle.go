package inbox

import "time"

// throttleTimeout is how long the reader waits for the consumer before a read.
const throttleTimeout = 5 * time.Millisecond

// Throttle holds the reader back, for a moment, if it is far ahead of a consumer
// that is at work. Without it a reader that is faster than the program's loop
// would pass the bound although the loop never stops to read: partial messages
// would be dropped, or the session would end. A consumer that takes nothing is
// not waited for again until it does: control continues whatever the program
// does.
func (b *Inbox) Throttle() {
	if !b.readerIsAhead() {
		return
	}
	t := time.NewTimer(throttleTimeout)
	defer t.Stop()
	before := b.batchesTaken()
	for b.readerIsAhead() {
		select {
		case <-b.taken:
		case <-t.C:
			b.mu.Lock()
			b.stalled = b.batches == before
			b.mu.Unlock()
			return
		}
	}
}

// readerIsAhead reports whether the second half of the bound is in use and the consumer
// is at work.
func (b *Inbox) readerIsAhead() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bytes > b.limit/2 && !b.stalled && !b.closed && len(b.slot) > 0
}

// batchesTaken counts what the consumer has taken.
func (b *Inbox) batchesTaken() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.batches
}
