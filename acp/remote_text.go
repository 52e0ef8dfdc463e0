package acp

import (
	"strings"
	"unicode/utf16"

	"github.com/claude-agent-go/claude/acp/internal/translate"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/serve/api"
)

// remoteText turns the text of a conversation on a server into updates: while it is
// written, and then whatever was missing once it is stored. A text comes once,
// however often a stream that was cut repeats it. Its zero value is ready. It is not
// safe for concurrent use.
//
// An answer that is being written may overtake the stored lines of the one before it.
// It is held back until those lines and the results of their calls have arrived.
type remoteText struct {
	live  map[textAt]*liveText // that is not stored yet
	order []textAt             // of live
	lines map[string]int       // of the answer that is being stored: its blocks
	last  string               // that answer
	calls map[string]bool      // without a result
	spoke bool                 // the last line was the model's
}

// textAt is the place of a text.
type textAt struct {
	message string
	block   int
}

// liveText is a text that is being written.
type liveText struct {
	kind api.BlockKind
	text string
	sent int // bytes
}

// partial takes texts as they are so far.
func (t *remoteText) partial(blocks []api.Block) []schema.SessionUpdate {
	for _, b := range blocks {
		at := textAt{b.Message, b.Block}
		if l := t.at(at, b.Kind); strings.HasPrefix(b.Text, l.text) {
			l.text = b.Text
		}
	}
	return t.release()
}

// delta takes more of a text. A delta that does not fit is left to the stored
// line.
func (t *remoteText) delta(d *api.Delta) []schema.SessionUpdate {
	l := t.at(textAt{d.Message, d.Block}, d.Kind)
	if d.Offset == len(utf16.Encode([]rune(l.text))) {
		l.text += d.Text
	}
	return t.release()
}

func (t *remoteText) at(at textAt, kind api.BlockKind) *liveText {
	if t.live == nil {
		t.live = make(map[textAt]*liveText)
	}
	if t.live[at] == nil {
		t.live[at] = &liveText{kind: kind}
		t.order = append(t.order, at)
	}
	return t.live[at]
}

// release returns what may be shown now: the first answer that is being written, if
// everything before it is stored.
func (t *remoteText) release() (out []schema.SessionUpdate) {
	for _, at := range t.order {
		l := t.live[at]
		if at.message != t.order[0].message || at.message != t.last && (t.spoke || len(t.calls) > 0) {
			break
		}
		if more := l.text[l.sent:]; more != "" {
			out = append(out, textUpdate(at.message, l.kind, more))
			l.sent = len(l.text)
		}
	}
	return out
}

func textUpdate(id string, kind api.BlockKind, text string) schema.SessionUpdate {
	c := &schema.ContentChunk{Content: translate.TextBlock(text), MessageID: schema.MessageID(id)}
	if kind == api.BlockThinking {
		return schema.SessionUpdate{AgentThoughtChunk: c}
	}
	return schema.SessionUpdate{AgentMessageChunk: c}
}

// stored takes a line of the model's answer and returns the part of its texts
// that was not shown yet. A line has one block or several.
func (t *remoteText) stored(m *message.Assistant) (out []schema.SessionUpdate) {
	if m.ID != t.last || t.lines == nil {
		t.last, t.lines = m.ID, make(map[string]int)
	}
	t.spoke = true
	for _, b := range m.Content {
		at := textAt{m.ID, t.lines[m.ID]}
		t.lines[m.ID]++
		switch b := b.(type) {
		case *message.TextBlock:
			out = append(out, t.rest(at, api.BlockText, b.Text)...)
		case *message.ThinkingBlock:
			out = append(out, t.rest(at, api.BlockThinking, b.Thinking)...)
		case *message.ToolUseBlock:
			if t.calls == nil {
				t.calls = make(map[string]bool)
			}
			t.calls[b.ID] = true
		}
	}
	return out
}

// rest returns the part of a stored text that was not shown yet.
func (t *remoteText) rest(at textAt, kind api.BlockKind, whole string) []schema.SessionUpdate {
	sent := ""
	if l := t.live[at]; l != nil {
		sent = l.text[:l.sent]
		delete(t.live, at)
		for i := range t.order {
			if t.order[i] == at {
				t.order = append(t.order[:i:i], t.order[i+1:]...)
				break
			}
		}
	}
	more, ok := strings.CutPrefix(whole, sent)
	if !ok || more == "" {
		return nil
	}
	return []schema.SessionUpdate{textUpdate(at.message, kind, more)}
}

// answered takes a line of the user, such as a result, and returns the text that may
// be shown after it.
func (t *remoteText) answered(m *message.User) []schema.SessionUpdate {
	for _, r := range m.ToolResults() {
		delete(t.calls, r.ToolUseID)
	}
	t.spoke = false
	return t.release()
}

// ended forgets the text that a finished turn never stored.
func (t *remoteText) ended() {
	t.live, t.order, t.calls, t.spoke = nil, nil, nil, false
}
