package fleet

import (
	"slices"
	"time"

	"github.com/claude-agent-go/claude/message"
)

// yielded is the part of the live text that a reader has yielded.
type yielded struct {
	answer     string
	blocks     map[int]int // bytes by block
	results    int
	compaction compaction
}

// comes notes the turns and the compaction that were over before the reader
// arrived.
func (r *eventReader) comes(u liveAnswer) {
	r.yielded.results = u.results
	if u.compact.ended {
		r.yielded.compaction = u.compact
	}
}

// listen yields new events, except those that the reader has from the store. The text of
// an answer waits until the answer before it was read from there, because its calls come
// first, but only for a while. It returns false if the loop was left.
func (r *eventReader) listen(u liveAnswer) bool {
	if u.answer != r.yielded.answer {
		r.yielded.answer, r.yielded.blocks = u.answer, make(map[int]int)
	}
	if !r.hasRead(u.before) && !r.hasWaited(u.answer) {
		u.blocks = nil
	}
	for _, b := range u.blocks {
		if slices.Contains(r.past, u.answer) || u.answer == r.stored.answer && b.start.Index < r.stored.blocks {
			continue
		}
		if !r.yieldBlock(b) {
			return false
		}
	}
	if !r.listenCompaction(&u.compact) {
		return false
	}
	if u.results == r.yielded.results {
		return true
	}
	r.yielded.results = u.results
	return r.yield(ConversationEvent{Live: true, Message: u.result, Session: u.result.SessionID}, nil)
}

// hasRead reports whether an answer was read from the store to its end.
func (r *eventReader) hasRead(a wholeAnswer) bool {
	return a.ID == "" || slices.Contains(r.past, a.ID) || a.ID == r.stored.answer && r.stored.blocks >= a.Blocks
}

// beforeBound is how long the text of an answer waits for the answer before it. The store
// usually has that one a moment later. It is not certain to get it, and a reader that
// begins far behind it does not read it.
const beforeBound = 5 * time.Second

// hasWaited reports whether the text of an answer has waited long enough.
func (r *eventReader) hasWaited(answer string) bool {
	if r.waits.answer != answer {
		r.waits.answer, r.waits.since = answer, time.Now()
	}
	return time.Since(r.waits.since) >= beforeBound
}

// yieldBlock yields the new part of a block: its beginning, and its text.
func (r *eventReader) yieldBlock(b liveTextBlock) bool {
	e := ConversationEvent{Live: true, Message: b.start, Session: b.start.SessionID, Block: b.start.Index}
	offset, begun := r.yielded.blocks[e.Block]
	if !begun {
		r.yielded.blocks[e.Block] = 0
		if !r.yield(e, nil) {
			return false
		}
	}
	if len(b.text) == offset {
		return true
	}
	r.yielded.blocks[e.Block] = len(b.text)
	e.Offset = offset
	e.Message = &message.StreamEvent{
		Header: message.Header{SessionID: b.start.SessionID}, EventType: message.EventBlockDelta, Index: e.Block,
		Delta: newDelta(b.delta, b.text[offset:]), MessageID: r.yielded.answer,
	}
	return r.yield(e, nil)
}

// newDelta is a delta of a type with a text.
func newDelta(kind message.DeltaType, text string) *message.Delta {
	d := &message.Delta{Type: kind}
	switch kind {
	case message.DeltaText:
		d.Text = text
	case message.DeltaThinking:
		d.Thinking = text
	case message.DeltaInputJSON:
		d.PartialJSON = text
	}
	return d
}
