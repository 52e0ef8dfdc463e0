package message

import (
	"encoding/json"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// Block is one piece of [Content]. The set of types behind it is closed; a
// block of another kind is an [UnknownBlock].
type Block interface {
	// BlockType returns the value of "type" on the wire.
	BlockType() string
	block()
}

// The types of content blocks on the wire.
const (
	blockText             = "text"
	blockThinking         = "thinking"
	blockRedactedThinking = "redacted_thinking"
	blockToolUse          = "tool_use"
	blockToolResult       = "tool_result"
	blockImage            = "image"
	blockDocument         = "document"
	blockServerToolUse    = "server_tool_use"

	// Results of tools that the API runs have a type for each tool, such as
	// "web_search_tool_result".
	serverResultSuffix = "_tool_result"
)

// TextBlock is text from the model or the user.
type TextBlock struct {
	Text string `json:"text"`
	// Citations are the sources of the text, nil when there are none.
	Citations json.RawMessage `json:"citations,omitzero"`
}

// Text returns a block of text to send.
func Text(s string) *TextBlock { return &TextBlock{Text: s} }

// ThinkingBlock is the model's reasoning before an answer.
type ThinkingBlock struct {
	Thinking string `json:"thinking"`
	// Signature proves to the API that the text is unchanged.
	Signature string `json:"signature"`
}

// RedactedThinkingBlock is reasoning that only the API can read.
type RedactedThinkingBlock struct {
	Data string `json:"data"`
}

// ToolUseBlock is a tool call by the model.
type ToolUseBlock struct {
	// ID links the call to the [ToolResultBlock] that answers it.
	ID   string `json:"id"`
	Name string `json:"name"`
	// Input holds the arguments as the model wrote them.
	Input json.RawMessage `json:"input"`
}

// ToolResultBlock is the answer to a [ToolUseBlock].
type ToolResultBlock struct {
	ToolUseID string  `json:"tool_use_id"`
	Content   Content `json:"content,omitzero"`
	// Plain reports that Content is a single text, written as a string instead
	// of a list, as the CLI writes the results of its own tools.
	Plain bool `json:"-"`
	// IsError reports that the tool failed or was not allowed to run.
	IsError bool `json:"is_error,omitzero"`
}

// ServerToolUseBlock is the model's call of a tool that the API runs itself,
// such as a web search. It does not ask for permission.
type ServerToolUseBlock struct {
	// ID links the call to the [ServerToolResultBlock] that answers it.
	ID   string `json:"id"`
	Name string `json:"name"`
	// Input holds the arguments as the model wrote them.
	Input json.RawMessage `json:"input"`
}

// ServerToolResultBlock is the answer to a [ServerToolUseBlock].
type ServerToolResultBlock struct {
	// Type is the name of the tool with "_tool_result" after it.
	Type      string `json:"type"`
	ToolUseID string `json:"tool_use_id"`
	// Content is the answer as the API wrote it. Its shape depends on the
	// tool, and on whether it failed.
	Content json.RawMessage `json:"content"`
}

// ImageBlock is a picture.
type ImageBlock struct {
	Source Source `json:"source"`
}

// DocumentBlock is a document, such as a PDF file.
type DocumentBlock struct {
	Source  Source `json:"source"`
	Title   string `json:"title,omitzero"`
	Context string `json:"context,omitzero"`
}

// UnknownBlock is a block of a kind that this package does not know, or one
// with a field of an unexpected kind.
type UnknownBlock struct {
	Type string
	// Raw is the block as received.
	Raw json.RawMessage
}

func (*TextBlock) block()             {}
func (*ThinkingBlock) block()         {}
func (*RedactedThinkingBlock) block() {}
func (*ToolUseBlock) block()          {}
func (*ToolResultBlock) block()       {}
func (*ServerToolUseBlock) block()    {}
func (*ServerToolResultBlock) block() {}
func (*ImageBlock) block()            {}
func (*DocumentBlock) block()         {}
func (*UnknownBlock) block()          {}

// BlockType returns "text".
func (*TextBlock) BlockType() string { return blockText }

// BlockType returns "thinking".
func (*ThinkingBlock) BlockType() string { return blockThinking }

// BlockType returns "redacted_thinking".
func (*RedactedThinkingBlock) BlockType() string { return blockRedactedThinking }

// BlockType returns "tool_use".
func (*ToolUseBlock) BlockType() string { return blockToolUse }

// BlockType returns "tool_result".
func (*ToolResultBlock) BlockType() string { return blockToolResult }

// BlockType returns "server_tool_use".
func (*ServerToolUseBlock) BlockType() string { return blockServerToolUse }

// BlockType returns b.Type.
func (b *ServerToolResultBlock) BlockType() string { return b.Type }

// BlockType returns "image".
func (*ImageBlock) BlockType() string { return blockImage }

// BlockType returns "document".
func (*DocumentBlock) BlockType() string { return blockDocument }

// BlockType returns b.Type.
func (b *UnknownBlock) BlockType() string { return b.Type }

// MarshalJSON encodes the block with its type.
func (b TextBlock) MarshalJSON() ([]byte, error) {
	type plain TextBlock
	return jsonx.Marshal(struct {
		Type string `json:"type"`
		plain
	}{blockText, plain(b)})
}

// MarshalJSON encodes the block with its type.
func (b ThinkingBlock) MarshalJSON() ([]byte, error) {
	type plain ThinkingBlock
	return jsonx.Marshal(struct {
		Type string `json:"type"`
		plain
	}{blockThinking, plain(b)})
}

// MarshalJSON encodes the block with its type.
func (b RedactedThinkingBlock) MarshalJSON() ([]byte, error) {
	type plain RedactedThinkingBlock
	return jsonx.Marshal(struct {
		Type string `json:"type"`
		plain
	}{blockRedactedThinking, plain(b)})
}

// MarshalJSON encodes the block with its type. An absent input is encoded as
// an empty object, because the member is required.
func (b ToolUseBlock) MarshalJSON() ([]byte, error) {
	type plain ToolUseBlock
	if b.Input == nil {
		b.Input = json.RawMessage("{}")
	}
	return jsonx.Marshal(struct {
		Type string `json:"type"`
		plain
	}{blockToolUse, plain(b)})
}

// MarshalJSON encodes the block with its type.
func (b ToolResultBlock) MarshalJSON() ([]byte, error) {
	type plain ToolResultBlock
	content := wireContent{b.Content, b.Plain}
	return jsonx.Marshal(struct {
		Type string `json:"type"`
		plain
		Content wireContent `json:"content,omitzero"`
	}{blockToolResult, plain(b), content})
}

// MarshalJSON encodes the block with its type. An absent input is encoded as
// an empty object, because the member is required.
func (b ServerToolUseBlock) MarshalJSON() ([]byte, error) {
	type plain ServerToolUseBlock
	if b.Input == nil {
		b.Input = json.RawMessage("{}")
	}
	return jsonx.Marshal(struct {
		Type string `json:"type"`
		plain
	}{blockServerToolUse, plain(b)})
}

// MarshalJSON encodes the block with its type.
func (b ImageBlock) MarshalJSON() ([]byte, error) {
	type plain ImageBlock
	return jsonx.Marshal(struct {
		Type string `json:"type"`
		plain
	}{blockImage, plain(b)})
}

// MarshalJSON encodes the block with its type.
func (b DocumentBlock) MarshalJSON() ([]byte, error) {
	type plain DocumentBlock
	return jsonx.Marshal(struct {
		Type string `json:"type"`
		plain
	}{blockDocument, plain(b)})
}

// MarshalJSON returns Raw, or an object with only the type if Raw is nil.
func (b UnknownBlock) MarshalJSON() ([]byte, error) {
	if len(b.Raw) != 0 {
		return b.Raw, nil
	}
	return jsonx.Marshal(struct {
		Type string `json:"type"`
	}{b.Type})
}
