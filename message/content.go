package message

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// Content is a list of blocks. On the wire, a plain string may replace a list
// with one [TextBlock]; it is accepted everywhere. A [User] and a
// [ToolResultBlock] remember the string and write it again; elsewhere it
// becomes a list.
type Content []Block

// Text joins the text blocks with nothing in between: the model's text may be
// split into blocks in the middle of a sentence.
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

// Bounds of a list. The CLI writes a few blocks, and nests lists only in the
// results of tools; a list beyond these bounds is not content.
const (
	maxBlocks  = 10_000
	maxNesting = 4
)

// UnmarshalJSON decodes a list of blocks or a string.
func (c *Content) UnmarshalJSON(data []byte) error {
	content, err := decodeContent(data, 1)
	if err == nil {
		*c = content
	}
	return err
}

// wireContent is content that is written as a string where possible and wanted.
type wireContent struct {
	Content
	plain bool
}

// IsZero reports whether there is no content.
func (c wireContent) IsZero() bool { return c.Content == nil && !c.plain }

// MarshalJSON writes a string or a list.
func (c wireContent) MarshalJSON() ([]byte, error) {
	if c.plain && len(c.Content) == 0 {
		return jsonx.Marshal("")
	}
	if c.plain && len(c.Content) == 1 {
		if b, ok := c.Content[0].(*TextBlock); ok && b != nil && b.Citations == nil {
			return jsonx.Marshal(b.Text)
		}
	}
	return c.Content.MarshalJSON()
}

// UnmarshalJSON decodes a list of blocks or a string.
func (c *wireContent) UnmarshalJSON(data []byte) error {
	c.plain = kindOf(data) == '"'
	return c.Content.UnmarshalJSON(data)
}

// decodeContent decodes a list at a depth. No block is decoded more than twice,
// however deeply lists are nested and whatever does not fit.
func decodeContent(data []byte, depth int) (Content, error) {
	switch kindOf(data) {
	case 'n', 0:
		return nil, nil
	case '"':
		var s string
		if err := jsonx.Unmarshal(data, &s); err != nil || s == "" {
			return Content{}, err
		}
		return Content{Text(s)}, nil
	}
	if depth > maxNesting || tooMany(data) {
		return nil, jsonx.NewMismatch[Content](fmt.Sprintf("list of more than %d blocks or %d levels", maxBlocks, maxNesting))
	}
	// The common case is a list of known blocks, decoded in one pass.
	var wires []blockWire
	err := jsonx.UnmarshalWhole(data, &wires)
	if err != nil && !(jsonx.Mismatch(err) && kindOf(data) == '[') {
		return nil, err
	}
	if err != nil {
		wires = nil // one does not fit: decode each on its own
	}
	out, known := make(Content, len(wires)), true
	for i := range wires {
		out[i] = wires[i].block(depth)
		known = known && out[i] != nil
	}
	if err == nil && known {
		return out, nil
	}
	return keep(data, out, depth)
}

// keep completes a list with a block that must be kept raw.
func keep(data []byte, out Content, depth int) (Content, error) {
	var raws []json.RawMessage
	if err := jsonx.Unmarshal(data, &raws); err != nil {
		return nil, err
	}
	for i, raw := range raws {
		switch {
		case i >= len(out):
			out = append(out, decodeBlock(raw, depth))
		case out[i] == nil:
			out[i] = unknownBlock(raw)
		}
	}
	return out, nil
}

// tooMany reports whether a list has too many elements. It counts commas first:
// most lists have so few that no closer look is needed.
func tooMany(data []byte) bool {
	if bytes.Count(data, []byte{','}) < maxBlocks {
		return false
	}
	n := 0
	for c, depth := range jsonx.Structure(data) {
		if c == ',' && depth == 1 {
			if n++; n >= maxBlocks {
				return true
			}
		}
	}
	return false
}

// decodeBlock decodes one block of sound JSON. A block that is unknown, or does
// not fit its type, is kept raw: half a tool call is worse than none.
func decodeBlock(raw json.RawMessage, depth int) Block {
	var w blockWire
	if jsonx.UnmarshalWhole(raw, &w) == nil {
		if b := w.block(depth); b != nil {
			return b
		}
	}
	return unknownBlock(raw)
}

func unknownBlock(raw json.RawMessage) Block {
	return &UnknownBlock{Type: jsonx.Text(jsonx.Member(raw, "type")), Raw: raw}
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
	Content   json.RawMessage `json:"content"`
	decoded   wireContent     // replaces Content if it was already read
	IsError   bool            `json:"is_error"`
	Source    Source          `json:"source"`
	Title     string          `json:"title"`
	Context   string          `json:"context"`
}

// block returns the block that w describes, nil for an unknown type and for a
// result whose content does not fit.
func (w *blockWire) block(depth int) Block {
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
		content := w.decoded
		if w.Content != nil {
			var err error
			if content.Content, err = decodeContent(w.Content, depth+1); err != nil {
				return nil
			}
			content.plain = kindOf(w.Content) == '"'
		}
		return &ToolResultBlock{ToolUseID: w.ToolUseID, Content: content.Content, Plain: content.plain, IsError: w.IsError}
	case blockImage:
		return &ImageBlock{Source: w.Source}
	case blockDocument:
		return &DocumentBlock{Source: w.Source, Title: w.Title, Context: w.Context}
	case blockServerToolUse:
		return &ServerToolUseBlock{ID: w.ID, Name: w.Name, Input: w.Input}
	}
	if strings.HasSuffix(w.Type, serverResultSuffix) && w.Content != nil {
		return &ServerToolResultBlock{Type: w.Type, ToolUseID: w.ToolUseID, Content: w.Content}
	}
	return nil
}
