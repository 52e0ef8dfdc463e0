package fleet

import (
	"slices"
	"strings"
	"sync"

	"github.com/claude-agent-go/claude/message"
)

// spoken is what is being said in a conversation and may not be stored yet: the
// blocks of the current answer, and the result of the last turn. Readers keep
// their own places in it, so nobody is held up, and a slow reader gets more at a
// time.
type spoken struct {
	mu      sync.Mutex
	answer  string // the id of the API message
	blocks  []spokenBlock
	result  *message.Result
	results int           // how many there were
	changed chan struct{} // closed at the next change; nil: nobody waits

	// What other processes are sent has the name of this run, and a number.
	run    string
	number uint64
}

// spokenBlock is a content block of the answer, as far as it has come.
type spokenBlock struct {
	start *message.StreamEvent
	delta string // the type of its deltas
	text  *strings.Builder
	full  bool // nothing more is added
}

// maxSpoken is how much of a block is shown before it is stored.
const maxSpoken = 1 << 20

// add takes note of what the CLI says in the main conversation, and returns its
// number, 0 if it shows nothing.
func (s *spoken) add(m message.Message) (run string, number uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch m := m.(type) {
	case *message.Result:
		s.answer, s.blocks = "", nil
		s.result = m
		s.results++
		s.wake()
	case *message.StreamEvent:
		if m.ParentToolUseID != "" {
			return "", 0
		}
		if s.grow(m) {
			s.wake()
		}
	default:
		return "", 0
	}
	s.number++
	return s.named(), s.number
}

// grow takes up an event, and reports whether there is more to show now.
func (s *spoken) grow(m *message.StreamEvent) bool {
	switch m.EventType {
	case message.EventMessageStart:
		s.answer, s.blocks = m.MessageID, nil
		return false
	case message.EventBlockStart:
		if s.answer == "" {
			return false // which answer it belongs to is not known
		}
		m.MessageID = s.answer
		s.blocks = append(s.blocks, spokenBlock{start: m, text: new(strings.Builder)})
		return true
	case message.EventBlockDelta:
		return s.growBlock(m)
	}
	return false
}

// growBlock adds a delta to its block.
func (s *spoken) growBlock(m *message.StreamEvent) bool {
	piece := deltaText(m.Delta)
	for i := range s.blocks {
		b := &s.blocks[i]
		if b.start.Index != m.Index || b.full || piece == "" {
			continue
		}
		if b.text.Len()+len(piece) > maxSpoken {
			b.full = true
			return false
		}
		b.delta = m.Delta.Type
		b.text.WriteString(piece)
		return true
	}
	return false
}

// deltaText is what a delta adds to what people see of a block.
func deltaText(d *message.Delta) string {
	if d == nil {
		return ""
	}
	switch d.Type {
	case message.DeltaText:
		return d.Text
	case message.DeltaThinking:
		return d.Thinking
	case message.DeltaInputJSON:
		return d.PartialJSON
	}
	return ""
}

// newDelta is a delta of a type with a text.
func newDelta(kind, text string) *message.Delta {
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

// end forgets the answer of a CLI that has ended. What was not stored is lost.
func (s *spoken) end() (run string, number uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer, s.blocks = "", nil
	s.wake()
	s.number++
	return s.named(), s.number
}

func (s *spoken) wake() {
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// liveAnswer is what had been said at a moment.
type liveAnswer struct {
	answer  string
	blocks  []liveTextBlock
	result  *message.Result
	results int
}

type liveTextBlock struct {
	start *message.StreamEvent
	delta string
	text  string
}

// now returns what there is, and a channel that is closed when there is more.
func (s *spoken) now() (u liveAnswer, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	u = liveAnswer{answer: s.answer, result: s.result, results: s.results}
	for _, b := range s.blocks {
		u.blocks = append(u.blocks, liveTextBlock{b.start, b.delta, b.text.String()})
	}
	return u, s.changed
}

// yielded is what a reader has yielded of what was spoken.
type yielded struct {
	answer  string
	blocks  map[int]int // bytes by block
	results int
}

// listen yields what is new, except for what the reader has from the store;
// false if the loop was left.
func (r *eventReader) listen(u liveAnswer) bool {
	if u.answer != r.yielded.answer {
		r.yielded.answer, r.yielded.blocks = u.answer, make(map[int]int)
	}
	for _, b := range u.blocks {
		if slices.Contains(r.past, u.answer) || u.answer == r.stored.answer && b.start.Index < r.stored.blocks {
			continue
		}
		if !r.yieldBlock(b) {
			return false
		}
	}
	if u.results == r.yielded.results {
		return true
	}
	r.yielded.results = u.results
	return r.yield(ConversationEvent{Live: true, Message: u.result, Session: u.result.SessionID}, nil)
}

// yieldBlock yields what is new of a block: that it has begun, and its text.
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
