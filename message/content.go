package message

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// Content is a list of blocks. On the wire a string may stand for a list with
// one [TextBlock]; it is accepted everywhere and always encoded as a list.
type Content []Block

// Text joins the text blocks, without anything in between: the model's text may
// be cut into blocks in the middle of a sentence.
func (c Content) Text() string {
	return join(c, func(b *TextBlock) string { return b.Text })
}

// Thinking joins the thinking blocks.
func (c Content) Thinking() string {
	return join(c, func(b *ThinkingBlock) string { return b.Thinking })
}

// ToolUses returns the tool calls in order.
func (c Content) ToolUses() []*ToolUseBlock { return pick[*ToolUseBlock](c) }

// ToolResults returns the tool results in order.
func (c Content) ToolResults() []*ToolResultBlock { return pick[*ToolResultBlock](c) }

func pick[B Block](c Content) []B {
	var out []B
	for _, b := range c {
		if b, ok := b.(B); ok {
			out = append(out, b)
		}
	}
	return out
}

// join copies only when there is more than one block, which is rare: the CLI
// writes one line per block.
func join[B Block](c Content, text func(B) string) string {
	blocks := pick[B](c)
	if len(blocks) == 1 {
		return text(blocks[0])
	}
	var sb strings.Builder
	for _, b := range blocks {
		sb.WriteString(text(b))
	}
	return sb.String()
}

// MarshalJSON encodes the list, never as null. A nil block is an error.
func (c Content) MarshalJSON() ([]byte, error) {
	for i, b := range c {
		if b == nil {
			return nil, fmt.Errorf("message: content block %d is nil", i)
		}
	}
	return jsonx.Marshal([]Block(c))
}

// UnmarshalJSON decodes a list of blocks or a string.
func (c *Content) UnmarshalJSON(data []byte) error {
	switch kindOf(data) {
	case 'n':
		*c = nil
		return nil
	case '"':
		var s string
		if err := jsonx.Unmarshal(data, &s); err != nil {
			return err
		}
		*c = Content{}
		if s != "" {
			*c = Content{Text(s)}
		}
		return nil
	}
	// The common case is a list of known blocks, decoded in one pass.
	var wires []blockWire
	err := jsonx.Unmarshal(data, &wires)
	if err == nil {
		out := make(Content, len(wires))
		for i := range wires {
			if out[i] = wires[i].block(); out[i] == nil {
				return c.keep(data)
			}
		}
		*c = out
		return nil
	}
	if jsonx.Mismatch(err) && kindOf(data) == '[' {
		return c.keep(data)
	}
	return err
}

// keep decodes a list block by block. It is for lists with a block that must be
// kept raw.
func (c *Content) keep(data []byte) error {
	var raws []json.RawMessage
	if err := jsonx.Unmarshal(data, &raws); err != nil {
		return err
	}
	out := make(Content, len(raws))
	for i, raw := range raws {
		out[i] = decodeBlock(raw)
	}
	*c = out
	return nil
}

// decodeBlock decodes one block of sound JSON. A block that is unknown, or does
// not fit its type, is kept raw: half a tool call is worse than none.
func decodeBlock(raw json.RawMessage) Block {
	var w blockWire
	err := jsonx.Unmarshal(raw, &w)
	if err == nil {
		if b := w.block(); b != nil {
			return b
		}
	}
	return &UnknownBlock{Type: w.Type, Raw: raw}
}

// kindOf returns the first byte of a JSON value, 0 for none.
func kindOf(data []byte) byte {
	for _, b := range data {
		switch b {
		case ' ', '\t', '\r', '\n':
		default:
			return b
		}
	}
	return 0
}

// blockWire has the fields of all known blocks, so that a list decodes without
// a first pass for the types.
type blockWire struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Citations json.RawMessage `json:"citations"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   Content         `json:"content"`
	IsError   bool            `json:"is_error"`
	Source    Source          `json:"source"`
	Title     string          `json:"title"`
	Context   string          `json:"context"`
}

// block returns the block that w describes, nil for an unknown type.
func (w *blockWire) block() Block {
	switch w.Type {
	case blockText:
		if string(w.Citations) == "null" {
			w.Citations = nil
		}
		return &TextBlock{Text: w.Text, Citations: w.Citations}
	case blockThinking:
		return &ThinkingBlock{Thinking: w.Thinking, Signature: w.Signature}
	case blockRedactedThinking:
		return &RedactedThinkingBlock{Data: w.Data}
	case blockToolUse:
		return &ToolUseBlock{ID: w.ID, Name: w.Name, Input: w.Input}
	case blockToolResult:
		return &ToolResultBlock{ToolUseID: w.ToolUseID, Content: w.Content, IsError: w.IsError}
	case blockImage:
		return &ImageBlock{Source: w.Source}
	case blockDocument:
		return &DocumentBlock{Source: w.Source, Title: w.Title, Context: w.Context}
	}
	return nil
}
