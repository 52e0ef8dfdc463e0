package fleet

import (
	"strings"
	"sync"

	"github.com/claude-agent-go/claude/message"
)

// liveText is what is being said in a conversation and may not be stored yet: the
// blocks of the current answer, the result of the last turn, and whether the context is
// being compacted. Readers keep their own
// places in it, so a slow reader delays no other and gets more at a time.
type liveText struct {
	mu      sync.Mutex
	answer  string // the id of the API message
	blocks  []growingBlock
	before  wholeAnswer // the one before it in its turn
	whole   wholeAnswer // the last that was received to its end
	result  *message.Result
	results int           // how many there were
	compact compaction    // the last
	changed chan struct{} // closed at the next change; nil: no reader waits

	// Frames for other processes carry the name of this run, and a number.
	run    string
	number uint64
}

// wholeAnswer is an answer that the CLI has received to its end, so the store will have all
// of it. The zero value stands for no answer.
type wholeAnswer struct {
	ID     string `json:"id"`
	Blocks int    `json:"blocks"`
}

// growingBlock is a content block of the answer, as far as it was received.
type growingBlock struct {
	start *message.StreamEvent
	delta message.DeltaType
	text  *strings.Builder
	full  bool // nothing more is added
}

// maxLiveText is how much of a block is shown before it is stored.
const maxLiveText = 1 << 20

// add takes in a message of the CLI in the main conversation, and returns its number, 0
// if it shows nothing.
func (t *liveText) add(m message.Message) (run string, number uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch m := m.(type) {
	case *message.Result:
		t.forget()
		t.result = m
		t.results++
		t.wake()
	case *message.StreamEvent:
		if m.ParentToolUseID != "" {
			return "", 0
		}
		if t.grow(m) {
			t.wake()
		}
	case *message.Status:
		if !t.compact.take(m) {
			return "", 0
		}
		t.wake()
	default:
		return "", 0
	}
	t.number++
	return t.named(), t.number
}

// grow takes in an event, and reports whether there is more to show now.
func (t *liveText) grow(m *message.StreamEvent) bool {
	switch m.EventType {
	case message.EventMessageStart:
		t.answer, t.blocks, t.before = m.MessageID, nil, t.whole
		return false
	case message.EventBlockStart:
		if t.answer == "" {
			return false // the answer that it belongs to is not known
		}
		m.MessageID = t.answer
		t.blocks = append(t.blocks, growingBlock{start: m, text: new(strings.Builder)})
		return true
	case message.EventBlockDelta:
		return t.growBlock(m)
	case message.EventMessageStop:
		n := len(t.blocks)
		if a := m.AbandonedBlocks; a != nil && a.MessageID == t.answer {
			n = min(n, a.FromBlockIndex)
		}
		if t.answer != "" && n > 0 {
			t.whole = wholeAnswer{t.answer, n}
		}
	}
	return false
}

// forget drops the answer, and the blocks that were to come before the next one: a
// result comes after all of them.
func (t *liveText) forget() {
	t.compact.cut()
	t.answer, t.blocks, t.before, t.whole = "", nil, wholeAnswer{}, wholeAnswer{}
}

// growBlock adds a delta to its block.
func (t *liveText) growBlock(m *message.StreamEvent) bool {
	piece := deltaText(m.Delta)
	for i := range t.blocks {
		b := &t.blocks[i]
		if b.start.Index != m.Index || b.full || piece == "" {
			continue
		}
		if b.text.Len()+len(piece) > maxLiveText {
			b.full = true
			return false
		}
		b.delta = m.Delta.Type
		b.text.WriteString(piece)
		return true
	}
	return false
}

// deltaText is the text that a delta adds to what people see of a block.
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

// end drops the answer of a CLI that has ended. Text that was not stored is lost.
func (t *liveText) end() (run string, number uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget()
	t.wake()
	t.number++
	return t.named(), t.number
}

func (t *liveText) wake() {
	if t.changed != nil {
		close(t.changed)
		t.changed = nil
	}
}

// liveAnswer is a snapshot of the live text.
type liveAnswer struct {
	answer  string
	blocks  []liveTextBlock
	before  wholeAnswer
	result  *message.Result
	results int
	compact compaction
}

type liveTextBlock struct {
	start *message.StreamEvent
	delta message.DeltaType
	text  string
}

// now returns a snapshot, and a channel that is closed when there is more.
func (t *liveText) now() (u liveAnswer, changed <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.changed == nil {
		t.changed = make(chan struct{})
	}
	u = liveAnswer{answer: t.answer, before: t.before, result: t.result, results: t.results, compact: t.compact}
	for _, b := range t.blocks {
		u.blocks = append(u.blocks, liveTextBlock{b.start, b.delta, b.text.String()})
	}
	return u, t.changed
}
