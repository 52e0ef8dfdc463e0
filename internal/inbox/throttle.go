package inbox

import "time"

// How long the reader waits for the consumer before a read.
const (
	leadTimeout     = time.Millisecond
	throttleTimeout = 5 * time.Millisecond
)

// leadFrames is how many frames the reader may be ahead of a consumer that is at
// work. Lines that it reads further ahead have left the processor's cache when
// they are decoded, and until then the collector has to look at all of them.
const leadFrames = 128

// Throttle holds the reader back, for a moment, if it is ahead of a consumer
// that is at work, and for longer if it is so far ahead that it would pass the
// bound although the loop never stops reading: partial messages would be
// dropped, or the session would end. If the consumer takes nothing during such
// a wait, the reader does not wait that long again until it does, so control
// continues whatever the program does.
func (b *Inbox) Throttle() {
	wait, before := b.lead()
	if wait == 0 {
		return
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	for {
		select {
		case <-b.taken:
			if b.caughtUp() {
				return
			}
		case <-t.C:
			b.mu.Lock()
			if b.batches == before {
				b.stalled = wait
			}
			b.mu.Unlock()
			return
		}
	}
}

// lead returns how long the reader is to wait for the consumer, and how many
// batches the consumer has taken so far.
func (b *Inbox) lead() (wait time.Duration, batches int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed || len(b.slot) == 0:
	case b.bytes > b.limit/2:
		wait = throttleTimeout
	case b.queue.count > leadFrames:
		wait = leadTimeout
	}
	if wait <= b.stalled {
		wait = 0
	}
	return wait, b.batches
}

// caughtUp reports whether the consumer has taken so much that the reader is to
// read on before it has the rest, or nothing more is to be read.
func (b *Inbox) caughtUp() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed || b.nearlyEmpty()
}

// nearlyEmpty reports whether it is time to read on.
func (b *Inbox) nearlyEmpty() bool { return b.bytes <= b.limit/2 && b.queue.count <= leadFrames/2 }
