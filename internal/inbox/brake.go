package inbox

import "time"

// brakeBound is how long the reader waits for the consumer before a read.
const brakeBound = 5 * time.Millisecond

// Brake holds the reader back, for a moment, if it is far ahead of a consumer
// that is at work. Without it a reader that is faster than the program's loop
// would pass the bound although the loop never stops to read: partial messages
// would be dropped, or the session would end. A consumer that takes nothing is
// not waited for again until it does: control goes on whatever the program
// does.
func (b *Inbox) Brake() {
	if !b.ahead() {
		return
	}
	t := time.NewTimer(brakeBound)
	defer t.Stop()
	before := b.takes()
	for b.ahead() {
		select {
		case <-b.taken:
		case <-t.C:
			b.mu.Lock()
			b.stalled = b.taking == before
			b.mu.Unlock()
			return
		}
	}
}

// ahead reports whether the second half of the bound is in use and the consumer
// is at work.
func (b *Inbox) ahead() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bytes > b.limit/2 && !b.stalled && !b.closed && len(b.slot) > 0
}

// takes counts what the consumer has taken.
func (b *Inbox) takes() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.taking
}
