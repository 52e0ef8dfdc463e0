package mirror

import (
	"slices"
	"time"
)

// gatherFor is how long a frame may wait for others, to be stored with them. The CLI
// writes the frames of a short turn within a few milliseconds, and each batch costs
// a round trip to the store.
const gatherFor = 5 * time.Millisecond

// gather waits until there is something to store, or the end. It is called when the
// queue is empty: frames that did not fit into a batch follow it directly. Frames
// that come while a batch is being stored are gathered as well. Often it is the
// line that the CLI writes behind the result, and storing it at once would delay
// the outcome of the turn.
//
// A token in wake may be old, so it only means to look again. That also makes it
// safe to take one here that was meant for run: run looks at everything anew.
func (m *Mirror) gather(late *time.Timer) {
	defer late.Stop()
	for began := false; ; {
		come, urgent := m.gathered()
		if urgent {
			return
		}
		if come && !began {
			late.Reset(gatherFor) // from the first frame on, however many follow
			began = true
		}
		select {
		case <-m.wake:
		case <-late.C:
			return
		}
	}
}

// gathered reports whether frames have come, and whether they, or the end of the
// mirror, must not be delayed: a caller waits or is in a hurry, or they fill a
// batch.
func (m *Mirror) gathered() (come, urgent bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	come = len(m.arrived) > 0
	full := len(m.arrived) >= maxEntries || m.size >= maxBytes
	awaited := m.hurried > m.stored || slices.ContainsFunc(m.awaited, func(count uint64) bool { return count > m.stored })
	return come, m.closing || m.ended != nil || come && (awaited || full)
}
