package natsfleet

import "sync/atomic"

// horizon is the highest sequence that a process has stored, read or seen announced. If
// an operator recreates the stream, it counts from the beginning, and no replica
// reaches the horizon of an old process: everything is scanned then.
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
