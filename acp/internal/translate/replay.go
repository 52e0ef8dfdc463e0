package translate

import (
	"encoding/json"
	"strings"

	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/message"
)

// Replay returns the updates of a message of an earlier conversation: prompts
// are also shown, and results without the tool's own output. Of a compaction there is
// only the end, so the editor sees it begin and end at once.
func (m *Machine) Replay(id string, msg message.Message) (out []schema.SessionUpdate) {
	switch msg := msg.(type) {
	case *message.User:
		return m.replayUser(id, msg)
	case *message.LocalCommandOutput:
		return m.chunk(msg.Content, false, msg.UUID)
	case *message.Informational:
		return spoken(msg) // a notice would be about now
	case *message.CompactBoundary:
		out = m.Add(&message.Status{Header: msg.Header, Status: "compacting"})
		out = append(out, m.Add(&message.Status{Header: msg.Header, CompactResult: "success"})...)
		return append(out, m.Add(msg)...)
	}
	return m.Add(msg)
}

func (m *Machine) replayUser(id string, user *message.User) (out []schema.SessionUpdate) {
	if user.ToolResults() != nil {
		plain := *user
		plain.ToolUseResult = nil
		m.progress.Add(user) // which needs it
		out = m.results(&plain)
		if plan, ok := m.plan(); ok && len(out) == 0 {
			out = append(out, plan)
		}
		return out
	}
	if user.IsSynthetic || user.ParentToolUseID != "" {
		return nil
	}
	for _, b := range user.Content {
		c := &schema.ContentChunk{MessageID: schema.MessageID(id)}
		switch b := b.(type) {
		case *message.TextBlock:
			shown, ok := prompt(b.Text)
			if !ok {
				continue
			}
			c.Content = TextBlock(shown)
		case *message.ImageBlock:
			c.Content = schema.ContentBlock{Image: &schema.ImageContent{Data: b.Source.Data, MimeType: b.Source.MediaType}}
		default:
			continue
		}
		out = append(out, schema.SessionUpdate{UserMessageChunk: c})
	}
	return out
}

// prompt returns a prompt as the person wrote it. The CLI stores a slash command
// in its own form, and adds texts of its own.
func prompt(s string) (shown string, ok bool) {
	if name, found := between(s, "<command-name>", "</command-name>"); found {
		args, _ := between(s, "<command-args>", "</command-args>")
		return strings.TrimSpace(name + " " + args), true
	}
	for _, own := range []string{"<local-command-", "<system-reminder>", "<command-message>"} {
		if strings.HasPrefix(s, own) {
			return "", false
		}
	}
	switch s {
	case "", "[Request interrupted by user]", "[Request interrupted by user for tool use]":
		return "", false
	}
	return s, true
}

func between(s, from, to string) (string, bool) {
	_, rest, ok := strings.Cut(s, from)
	if !ok {
		return "", false
	}
	return strings.CutSuffix(rest[:strings.Index(rest+to, to)]+to, to)
}

// Update returns how a permission request shows a call.
func (s Shown) Update(id, tool string, raw json.RawMessage) schema.ToolCallUpdate {
	c := s.Describe(id, tool, raw)
	return schema.ToolCallUpdate{
		ToolCallID: schema.ToolCallID(id), Name: &tool, Status: schema.ToolCallStatusPending, RawInput: raw,
		Title: &c.Title, Kind: c.Kind, Content: orEmpty(c.Content), Locations: c.Locations,
	}
}
