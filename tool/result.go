package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Result is the return value of a tool for which a plain value is not enough: a
// list of texts, images and resources, and an object for programs. Make it with
// [Text], [Image], [Resource] or [Structured] and join pieces with
// [Result.With].
type Result struct {
	// Content is shown to the model, in this order.
	Content []mcp.Content
	// Structured is an object for programs that read the transcript. The CLI
	// accepts only objects here.
	Structured any
	// IsError marks the call as failed. Returning an error does the same.
	IsError bool
	// Meta is passed on unchanged.
	Meta map[string]any
}

// Text returns a text.
func Text(text string) *Result {
	return &Result{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// Image returns an image, for example of the type "image/png".
func Image(mimeType string, data []byte) *Result {
	return &Result{Content: []mcp.Content{&mcp.ImageContent{MIMEType: mimeType, Data: data}}}
}

// Resource returns a text with an address.
func Resource(uri, mimeType, text string) *Result {
	return &Result{Content: []mcp.Content{&mcp.EmbeddedResource{
		Resource: &mcp.ResourceContents{URI: uri, MIMEType: mimeType, Text: text},
	}}}
}

// Structured returns an object for programs. The model sees it as JSON unless
// the result has other content.
func Structured(v any) *Result { return &Result{Structured: v} }

// With returns r followed by the content of more. The last Structured is used.
func (r *Result) With(more ...*Result) *Result {
	joined := *r
	joined.Content = append([]mcp.Content(nil), r.Content...)
	for _, m := range more {
		joined.Content = append(joined.Content, m.Content...)
		if m.Structured != nil {
			joined.Structured = m.Structured
		}
		joined.IsError = joined.IsError || m.IsError
	}
	return &joined
}

// encode turns the return value of a function into a result of MCP.
func encode(out any) (*mcp.CallToolResult, error) {
	switch v := out.(type) {
	case nil:
		return &mcp.CallToolResult{Content: []mcp.Content{}}, nil
	case *mcp.CallToolResult:
		if v == nil {
			return encode(nil)
		}
		return v, nil
	case mcp.Content:
		return &mcp.CallToolResult{Content: []mcp.Content{v}}, nil
	case []mcp.Content:
		return &mcp.CallToolResult{Content: v}, nil
	case Result:
		return v.encode()
	case *Result:
		if v == nil {
			return encode(nil)
		}
		return v.encode()
	}
	if v := reflect.ValueOf(out); v.Kind() == reflect.String {
		return textResult(v.String()), nil
	}
	data, err := marshal(out)
	switch {
	case err != nil:
		return nil, err
	case string(data) == "null":
		return encode(nil)
	case data[0] == '{':
		return Structured(data).encode()
	}
	return textResult(string(data)), nil
}

// textResult returns a text as a result of MCP, in one allocation.
func textResult(text string) *mcp.CallToolResult {
	piece := new(struct {
		result mcp.CallToolResult
		list   [1]mcp.Content
		text   mcp.TextContent
	})
	piece.text.Text = text
	piece.list[0] = &piece.text
	piece.result.Content = piece.list[:]
	return &piece.result
}

func (r *Result) encode() (*mcp.CallToolResult, error) {
	result := &mcp.CallToolResult{Content: r.Content, IsError: r.IsError, Meta: r.Meta}
	if result.Content == nil {
		result.Content = []mcp.Content{}
	}
	if r.Structured == nil {
		return result, nil
	}
	data, err := marshal(r.Structured)
	if err != nil {
		return nil, err
	}
	if data[0] != '{' {
		return nil, fmt.Errorf("the structured content is not a JSON object but %s", data[:min(len(data), 20)])
	}
	result.StructuredContent = data
	if len(result.Content) == 0 {
		result.Content = []mcp.Content{&mcp.TextContent{Text: string(data)}}
	}
	return result, nil
}

// marshal encodes a user's value for a model to read: < stays <. A panic in one
// of its methods is an error.
func marshal(v any) (data json.RawMessage, err error) {
	defer func() {
		if p := recover(); p != nil {
			data, err = nil, fmt.Errorf("the result cannot be encoded: panic: %v", p)
		}
	}()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("the result cannot be encoded: %w", err)
	}
	return bytes.TrimSpace(b.Bytes()), nil
}
