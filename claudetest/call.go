package claudetest

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// ModelCall is one request from the CLI to the Messages API, as seen by a
// [Model]. It is read-only.
type ModelCall struct {
	// Number counts the calls of the conversations from 1. It is 0 for side
	// calls.
	Number int
	// Side is true if the call does not belong to a conversation. The package
	// documentation explains how to distinguish them.
	Side bool
	// Model is the model the CLI asked for.
	Model string
	// Stream reports whether the answer is streamed.
	Stream bool
	// System is the text of the system prompt.
	System string
	// Messages is the conversation so far.
	Messages []ModelMessage
	// Prompt is the user's latest text: that of the last user message that has
	// any, without the reminders that the CLI puts around it. Prompts that the
	// CLI makes up itself are skipped: that the user has interrupted, and that
	// the model is to continue a turn that broke off. It stays the same while the
	// model works with tools.
	Prompt string
	// ToolResults holds the results in the last user message: those the model
	// is waiting for after it called tools.
	ToolResults []ToolResult
	// Tools holds the names of the tools offered to the model.
	Tools []string
	// Header is the header of the HTTP request.
	Header http.Header
	// Raw is the body of the HTTP request.
	Raw json.RawMessage

	ctx context.Context
}

// Context ends when the client goes away or the [Model] is closed. A function
// that waits before it replies should also wait for it.
func (c *ModelCall) Context() context.Context { return c.ctx }

// ModelMessage is one message of a [ModelCall].
type ModelMessage struct {
	// Role is user, assistant or system.
	Role string
	// Text is the text of the message, reminders included, one line break
	// between blocks.
	Text string
	// Content is the content as sent: a string or a list of blocks.
	Content json.RawMessage
}

// ToolResult is the outcome of one tool call that the CLI reports back.
type ToolResult struct {
	// ToolUseID is the id of the tool call.
	ToolUseID string
	// Text is the text of the result.
	Text string
	// IsError reports whether the tool failed or was denied.
	IsError bool
	// Content is the content as sent: a string or a list of blocks.
	Content json.RawMessage
}

// request is the body of a call.
type request struct {
	Model    string          `json:"model"`
	Stream   bool            `json:"stream"`
	System   json.RawMessage `json:"system"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Name string `json:"name"`
	} `json:"tools"`
	OutputConfig struct {
		Format json.RawMessage `json:"format"`
	} `json:"output_config"`
	Thinking          json.RawMessage `json:"thinking"`
	ContextManagement json.RawMessage `json:"context_management"`
}

// content is one block of a message or system prompt.
type content struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ToolUseID string          `json:"tool_use_id"`
	IsError   bool            `json:"is_error"`
	Content   json.RawMessage `json:"content"`
}

// newCall reads a request. The error means that the body is not a JSON object.
func newCall(ctx context.Context, header http.Header, body []byte) (*ModelCall, error) {
	var req request
	if err := jsonx.Unmarshal(body, &req); err != nil && !jsonx.Mismatch(err) {
		return nil, err
	}
	c := &ModelCall{
		Model:  req.Model,
		Stream: req.Stream,
		System: textOf(req.System),
		Header: header,
		Raw:    body,
		ctx:    ctx,
	}
	for _, t := range req.Tools {
		c.Tools = append(c.Tools, t.Name)
	}
	for _, m := range req.Messages {
		c.Messages = append(c.Messages, ModelMessage{Role: m.Role, Text: textOf(m.Content), Content: m.Content})
		if m.Role != "user" {
			continue
		}
		c.ToolResults = toolResults(m.Content)
		if said := strings.TrimSpace(madeUp.ReplaceAllString(reminder.ReplaceAllString(textOf(m.Content), ""), "")); said != "" {
			c.Prompt = said
		}
	}
	c.Side = isSide(&req, c.Prompt)
	return c, nil
}

// madeUp matches the prompts that the CLI writes itself: when a turn was interrupted, and
// when a session is resumed whose last turn had broken off.
var madeUp = regexp.MustCompile(`(?m)^(?:\[Request interrupted by user(?: for tool use)?\]|Continue from where you left off\.)\s*?$`)

// reminder matches what the CLI adds to the words of the user.
var reminder = regexp.MustCompile(`(?s)<system-reminder>.*?</system-reminder>\s*`)

// blocksOf reads a content that is a string or a list of blocks.
func blocksOf(raw json.RawMessage) []content {
	var text string
	if len(raw) == 0 || jsonx.Unmarshal(raw, &text) == nil {
		return []content{{Type: kindText, Text: text}}
	}
	var blocks []content
	_ = jsonx.Unmarshal(raw, &blocks) // what fits is enough
	return blocks
}

func textOf(raw json.RawMessage) string {
	var texts []string
	for _, b := range blocksOf(raw) {
		if b.Type == kindText && b.Text != "" {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}

func toolResults(raw json.RawMessage) []ToolResult {
	var results []ToolResult
	for _, b := range blocksOf(raw) {
		if b.Type == "tool_result" {
			results = append(results, ToolResult{b.ToolUseID, textOf(b.Content), b.IsError, b.Content})
		}
	}
	return results
}

// isSide recognises the CLI's own errands. Observed with versions 1.0.63,
// 2.0.0, 2.1.0, 2.1.112 and 2.1.325:
//
//   - Conversations offer tools, unless the user switched all of them off.
//   - 2.1.0 sends every kind of subagent the one word Warmup, with tools.
//   - Titles and prompt hooks ask for an answer by a JSON Schema, on whatever
//     model; conversations were not seen to.
//   - The other errands, in older versions, go to a small model without tools
//     and without the context management and thinking of a conversation.
func isSide(req *request, prompt string) bool {
	if len(req.Messages) == 1 && prompt == "Warmup" {
		return true
	}
	if len(req.Tools) > 0 {
		return false
	}
	return req.OutputConfig.Format != nil ||
		strings.Contains(req.Model, "haiku") && req.Thinking == nil && req.ContextManagement == nil
}
