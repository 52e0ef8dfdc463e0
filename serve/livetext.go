package serve

import (
	"slices"
	"unicode/utf16"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/serve/api"
)

// liveText is what is being written: the blocks that the transcript does not have
// yet. It is guarded by the lock of its log.
type liveText struct {
	message string // the id of the model's message
	done    int    // how many of its blocks are in the transcript
	blocks  []api.Block
}

// take takes a piece of the stream. It reports whether there is more to see.
func (t *liveText) take(e *message.StreamEvent) bool {
	if e.ParentToolUseID != "" {
		return false // of a subagent
	}
	if e.EventType == message.EventMessageStart {
		t.message, t.done, t.blocks = e.MessageID, 0, nil
		return false
	}
	if e.MessageID != "" && e.MessageID != t.message {
		t.message, t.done, t.blocks = e.MessageID, 0, nil
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
	if i < 0 {
		t.blocks = append(t.blocks, api.Block{Message: t.message, Block: e.Index, Kind: kind})
		i = len(t.blocks) - 1
	}
	t.blocks[i].Text += text
	return true
}

// said removes what a line of the transcript has now. The CLI writes a line for
// each block of a message, in order. Other lines remove nothing: that of a prompt
// may come when its answer has already begun.
func (t *liveText) said(line []byte) {
	if jsonx.Text(jsonx.Member(line, "type")) != "assistant" {
		return
	}
	inner := jsonx.Member(line, "message")
	if id := jsonx.Text(jsonx.Member(inner, "id")); id != t.message {
		t.message, t.done, t.blocks = id, 0, nil
	}
	for range jsonx.Elements(jsonx.Member(inner, "content")) {
		t.done++
	}
	t.blocks = slices.DeleteFunc(t.blocks, func(b api.Block) bool { return b.Block < t.done })
}

// seen is how much of the live text a reader was sent.
type seen struct {
	message string
	lengths map[int]int // bytes of each block
}

// news returns what a reader has not been sent yet: all blocks at first or after
// it lost its place, and then what was added to each.
func (t *liveText) news(s *seen) []api.Event {
	if len(t.blocks) == 0 {
		*s = seen{message: t.message, lengths: map[int]int{}}
		return nil
	}
	if s.lengths == nil || s.message != t.message {
		*s = seen{message: t.message, lengths: make(map[int]int)}
		for _, b := range t.blocks {
			s.lengths[b.Block] = len(b.Text)
		}
		return []api.Event{{Type: api.EventPartial, Partial: slices.Clone(t.blocks)}}
	}
	var events []api.Event
	for _, b := range t.blocks {
		had := s.lengths[b.Block]
		if had == len(b.Text) {
			continue
		}
		s.lengths[b.Block] = len(b.Text)
		events = append(events, api.Event{Type: api.EventDelta, Delta: &api.Delta{
			Message: b.Message, Block: b.Block, Kind: b.Kind, Offset: units(b.Text[:had]), Text: b.Text[had:],
		}})
	}
	return events
}

// units is the length of a text as JavaScript counts it.
func units(text string) int {
	n := 0
	for _, r := range text {
		n += max(1, utf16.RuneLen(r))
	}
	return n
}
