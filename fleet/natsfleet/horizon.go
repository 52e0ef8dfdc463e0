package natsfleet

import "sync/atomic"

// horizon is the highest sequence that a process has stored, read or seen announced.
type horizon struct{ seq atomic.Uint64 }

// reach takes note of a sequence.
func (h *horizon) reach(seq uint64) {
	for {
		known := h.seq.Load()
		if seq <= known || h.seq.CompareAndSwap(known, seq) {
			return
		}
	}
}

// lower takes note that the highest sequence of all is a lower one. An operator who
// recreates the stream lets it count from the beginning, and no replica would ever reach
// the horizon of an old process.
func (h *horizon) lower(seq uint64) (lowered bool) {
	for {
		known := h.seq.Load()
		if seq >= known {
			return false
		}
		if h.seq.CompareAndSwap(known, seq) {
			return true
		}
	}
}
