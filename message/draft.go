package message

import (
	"encoding/json"
	"strings"
)

// Draft is an answer that is still being written, assembled from [StreamEvent]
// messages. The zero value is ready to use. It is not safe for concurrent use.
type Draft struct {
	// MessageID is the id of the answer, the same as in its [Assistant] lines.
	MessageID string
	Model     string
	// StopReason and Usage are complete when Done is true.
	StopReason string
	Usage      Usage
	// Done reports that the answer is complete.
	Done bool

	parent string
	parts  []*draftPart
}

// draftPart is one block while it grows.
type draftPart struct {
	block     Block
	text      strings.Builder // of text, thinking or tool input
	signature string
	ended     bool
}

// Add takes a message into account and reports whether the draft has changed.
// A new answer starts a new draft. Messages other than stream events change
// nothing.
func (d *Draft) Add(m Message) bool {
	e, ok := m.(*StreamEvent)
	if !ok {
		return false
	}
	if e.EventType == EventMessageStart {
		*d = Draft{MessageID: e.MessageID, Model: e.Model, parent: e.ParentToolUseID}
		if e.Usage != nil {
			d.Usage = *e.Usage
		}
		return true
	}
	if e.ParentToolUseID != d.parent || d.Done {
		return false
	}
	switch e.EventType {
	case EventBlockStart:
		return d.start(e)
	case EventBlockDelta:
		return d.grow(e)
	case EventBlockStop:
		if p := d.part(e.Index); p != nil {
			p.ended = true
			return true
		}
	case EventMessageDelta:
		if e.Delta != nil {
			d.StopReason = e.Delta.StopReason
		}
		if e.Usage != nil {
			d.finish(*e.Usage)
		}
		return true
	case EventMessageStop:
		d.Done = true
		return true
	}
	return false
}

// maxParts bounds the blocks of one answer: an index is not a size to trust.
const maxParts = 10000

func (d *Draft) start(e *StreamEvent) bool {
	if e.Index < 0 || e.Index >= maxParts || e.ContentBlock == nil {
		return false
	}
	for len(d.parts) <= e.Index {
		d.parts = append(d.parts, nil)
	}
	p := &draftPart{block: e.ContentBlock}
	switch b := e.ContentBlock.(type) {
	case *TextBlock:
		p.text.WriteString(b.Text)
	case *ThinkingBlock:
		p.text.WriteString(b.Thinking)
		p.signature = b.Signature
	}
	d.parts[e.Index] = p
	return true
}

func (d *Draft) grow(e *StreamEvent) bool {
	p := d.part(e.Index)
	if p == nil || e.Delta == nil {
		return false
	}
	switch e.Delta.Type {
	case DeltaText:
		p.text.WriteString(e.Delta.Text)
	case DeltaThinking:
		p.text.WriteString(e.Delta.Thinking)
	case DeltaInputJSON:
		p.text.WriteString(e.Delta.PartialJSON)
	case DeltaSignature:
		p.signature += e.Delta.Signature
	default:
		return false
	}
	return true
}

// finish takes the last count, which repeats unchanged numbers of the first, or
// leaves them out.
func (d *Draft) finish(u Usage) {
	first := d.Usage
	d.Usage = u
	if u.InputTokens == 0 {
		d.Usage.InputTokens = first.InputTokens
	}
	if u.CacheCreationInputTokens == 0 {
		d.Usage.CacheCreationInputTokens = first.CacheCreationInputTokens
	}
	if u.CacheReadInputTokens == 0 {
		d.Usage.CacheReadInputTokens = first.CacheReadInputTokens
	}
}

func (d *Draft) part(index int) *draftPart {
	if index < 0 || index >= len(d.parts) {
		return nil
	}
	return d.parts[index]
}

// Content returns the blocks written so far. The input of a tool call is nil
// until it is complete.
func (d *Draft) Content() Content {
	var content Content
	for _, p := range d.parts {
		if p == nil {
			continue
		}
		switch b := p.block.(type) {
		case *TextBlock:
			content = append(content, &TextBlock{Text: p.text.String(), Citations: b.Citations})
		case *ThinkingBlock:
			content = append(content, &ThinkingBlock{Thinking: p.text.String(), Signature: p.signature})
		case *ToolUseBlock:
			content = append(content, &ToolUseBlock{ID: b.ID, Name: b.Name, Input: p.input(b.Input)})
		case *ServerToolUseBlock:
			content = append(content, &ServerToolUseBlock{ID: b.ID, Name: b.Name, Input: p.input(b.Input)})
		default:
			content = append(content, b)
		}
	}
	return content
}

// input returns the whole input of a call, nil while it is being written.
func (p *draftPart) input(first json.RawMessage) json.RawMessage {
	switch text := p.text.String(); {
	case !p.ended:
		return nil
	case text == "":
		return first // a call without arguments has no deltas
	case json.Valid([]byte(text)):
		return json.RawMessage(text)
	}
	return nil
}

// Text joins the text blocks written so far.
func (d *Draft) Text() string { return d.Content().Text() }
