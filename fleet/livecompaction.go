package fleet

import "github.com/claude-agent-go/claude/message"

// compaction is the last compaction of a context that this process knows. The zero
// value stands for none.
type compaction struct {
	number int             // of those that are known here
	status *message.Status // how it began or, once ended, how it ended
	ended  bool
}

// runs reports whether it has begun and not ended.
func (c *compaction) runs() bool { return c.number > 0 && !c.ended }

// failed reports whether it ended without a result, which the store never gets.
func (c *compaction) failed() bool { return c.ended && c.status.CompactError != "" }

// take processes a status of the CLI, and reports whether a compaction begins or ends
// with it. Status messages in between report its progress, and changes of the mode.
func (c *compaction) take(m *message.Status) bool {
	switch begins := m.Status == "compacting"; {
	case begins && !c.runs():
		c.number++
		c.status, c.ended = m, false
	case c.runs() && m.EndsCompaction():
		c.status, c.ended = m, true
		if m.CompactResult == "" && m.CompactError == "" { // a hook may have blocked it
			given := *m
			given.CompactResult, given.CompactError = "failed", "the compaction was given up: a hook may have blocked it"
			c.status = &given
		}
	default:
		return false
	}
	return true
}

// cut ends a compaction whose end will not come, because its CLI or its turn has ended.
func (c *compaction) cut() {
	if c.runs() {
		c.status = &message.Status{Header: message.Header{UUID: c.status.UUID, SessionID: c.status.SessionID}, CompactResult: "failed", CompactError: "the compaction was cut off"}
		c.ended = true
	}
}

// listenCompaction yields that a compaction runs, or how it ended. One that is over
// before it was seen is yielded only if it failed: otherwise the store has all of it. So
// has the store if its boundary was read before its beginning was seen.
func (r *eventReader) listenCompaction(c *compaction) bool {
	stored := r.compacted
	r.compacted = false
	seen := c.number == r.yielded.compaction.number
	if seen && c.ended == r.yielded.compaction.ended {
		return true
	}
	r.yielded.compaction = *c
	if !seen && (stored || c.ended && !c.failed()) {
		return true
	}
	return r.yield(ConversationEvent{Live: true, Message: c.status, Session: c.status.SessionID}, nil)
}
