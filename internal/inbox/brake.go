package inbox

import "time"

// A reader that is faster than the program's loop would pass the bound, although
// the loop never stops to read: partial messages would be dropped, or the
// session would end. So the reader is held back in the second half of the bound,
// for as long as the loop takes frames. It is not held back for a loop that does
// not: control goes on whatever the program does.

// brakeBound is how long the reader waits for the consumer to take some.
const brakeBound = 5 * time.Millisecond

// ahead reports whether the reader is too far ahead of a consumer at work.
func (b *Inbox) ahead() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bytes > b.limit/2 && !b.stalled && !b.closed && len(b.slot) > 0
}

// pause waits until the consumer has taken some, or has not in time.
func (b *Inbox) pause() {
	t := time.NewTimer(brakeBound)
	defer t.Stop()
	select {
	case <-b.taken:
	case <-t.C:
		b.mu.Lock()
		b.stalled = true
		b.mu.Unlock()
	}
}
