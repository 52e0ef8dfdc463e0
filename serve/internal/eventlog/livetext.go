package eventlog

import (
	"slices"
	"unicode/utf16"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/serve/api"
)

// liveText holds the text that is being written: the blocks that the transcript does
// not have yet. The lock of its log guards it.
type liveText struct {
	message string // the id of the model's message
	done    int    // how many of its blocks are in the transcript
	blocks  []api.Block
	calls   []int    // the blocks that are calls of tools
	past    []string // the messages before it, the newest last
}

// keepPast is how many finished messages are remembered. Their lines may come after the
// next message has begun.
const keepPast = 8

// turnTo begins another message.
func (t *liveText) turnTo(id string) {
	if t.message != "" && t.message != id {
		t.past = append(t.past[max(0, len(t.past)-keepPast+1):], t.message)
	}
	t.message, t.done, t.blocks, t.calls = id, 0, nil, nil
}

// before returns the message before the one that is being written, empty if it is not
// known.
func (t *liveText) before() string {
	if len(t.past) == 0 {
		return ""
	}
	return t.past[len(t.past)-1]
}

// take takes a piece of the stream that begins at an offset in its block, in bytes, and
// reports whether there is more to see. A reading that begins again repeats the open
// blocks from their beginning.
func (t *liveText) take(e *message.StreamEvent, offset int) bool {
	if e.ParentToolUseID != "" {
		return false // of a subagent
	}
	if e.EventType == message.EventMessageStart {
		t.turnTo(e.MessageID)
		return false
	}
	if e.MessageID != "" && e.MessageID != t.message {
		t.turnTo(e.MessageID)
	}
	if _, call := e.ContentBlock.(*message.ToolUseBlock); call && !slices.Contains(t.calls, e.Index) {
		t.calls = append(t.calls, e.Index)
	}
	if e.EventType != message.EventBlockDelta || e.Delta == nil || e.Index < t.done {
		return false
	}
	kind, text := api.BlockText, e.Delta.Text
	if e.Delta.Thinking != "" {
		kind, text = api.BlockThinking, e.Delta.Thinking
	}
	if text == "" {
		return false
	}
	i := slices.IndexFunc(t.blocks, func(b api.Block) bool { return b.Block == e.Index })
	if i < 0 && offset > 0 {
		return false // its beginning is not known here: it is shown once its line has all of it
	}
	if i < 0 {
		t.blocks = append(t.blocks, api.Block{Message: t.message, Block: e.Index, Kind: kind})
		i = len(t.blocks) - 1
	}
	repeated := max(0, len(t.blocks[i].Text)-offset)
	if repeated >= len(text) {
		return false
	}
	t.blocks[i].Text += text[repeated:]
	return true
}

// said removes the text that a line of the transcript now has. The CLI writes a line
// for each block of a message, in order. Other lines remove nothing: a prompt's line
// may come after its answer has begun.
func (t *liveText) said(line []byte) {
	if jsonx.Text(jsonx.Member(line, "type")) != "assistant" {
		return
	}
	inner := jsonx.Member(line, "message")
	id := jsonx.Text(jsonx.Member(inner, "id"))
	if slices.Contains(t.past, id) {
		return // a late line: the next message is being written
	}
	if id != t.message {
		t.turnTo(id)
	}
	for range jsonx.Elements(jsonx.Member(inner, "content")) {
		t.done++
	}
	t.blocks = slices.DeleteFunc(t.blocks, func(b api.Block) bool { return b.Block < t.done })
}

// open returns the blocks that readers may see: a text behind a call waits until the
// transcript has the call, which is shown from there.
func (t *liveText) open() []api.Block {
	return slices.DeleteFunc(slices.Clone(t.blocks), func(b api.Block) bool {
		return slices.ContainsFunc(t.calls, func(call int) bool { return t.done <= call && call < b.Block })
	})
}

// seen is how much of the live text a reader has been sent.
type seen struct {
	message string
	lengths map[int]int // bytes of each block
}

// news returns the text that a reader has not been sent yet: at first, and after it
// has lost its position, all blocks; then the additions to each.
func (t *liveText) news(s *seen) []Event {
	open := t.open()
	if len(open) == 0 {
		*s = seen{message: t.message, lengths: map[int]int{}}
		return nil
	}
	if s.lengths == nil || s.message != t.message {
		*s = seen{message: t.message, lengths: make(map[int]int)}
		for _, b := range open {
			s.lengths[b.Block] = len(b.Text)
		}
		return []Event{{Event: api.Event{Type: api.EventPartial, Partial: open}, Before: t.before()}}
	}
	var events []Event
	for _, b := range open {
		had := s.lengths[b.Block]
		if had == len(b.Text) {
			continue
		}
		s.lengths[b.Block] = len(b.Text)
		events = append(events, Event{Event: api.Event{Type: api.EventDelta, Delta: &api.Delta{
			Message: b.Message, Block: b.Block, Kind: b.Kind, Offset: units(b.Text[:had]), Text: b.Text[had:],
		}}, Before: t.before()})
	}
	return events
}

// units returns the length of a text as JavaScript counts it.
func units(text string) int {
	n := 0
	for _, r := range text {
		n += max(1, utf16.RuneLen(r))
	}
	return n
}
