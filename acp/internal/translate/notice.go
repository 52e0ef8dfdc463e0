package translate

import (
	"strings"

	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/message"
)

// notice shows what the CLI wants a person to know. An editor that has no place for
// notices gets what may end or block a turn as text, so that no turn ends in silence,
// and nothing of the rest.
func (m *Machine) notice(msg message.Message) []schema.SessionUpdate {
	if !m.Notices {
		return spoken(msg)
	}
	n := &schema.Notice{Severity: schema.NoticeSeverityInfo}
	switch msg := msg.(type) {
	case *message.Informational:
		n.Title = msg.Content
		if msg.Level == message.LevelWarning {
			n.Severity = schema.NoticeSeverityWarning
		}
	case *message.Notification:
		n.Title = msg.Text
	case *message.ModelFallback:
		n.Severity, n.Title = schema.NoticeSeverityWarning, msg.Content
	case *message.APIRetry:
		n.Severity, n.Title = schema.NoticeSeverityWarning, "The API call failed and is tried again."
	}
	if n.Title == "" {
		return nil
	}
	return []schema.SessionUpdate{{Notice: n}}
}

// spoken says what may end or block a turn, as the npm adapter does: with a bold label,
// and marked as words that are not of the model.
func spoken(msg message.Message) []schema.SessionUpdate {
	c := &schema.ContentChunk{MessageID: schema.MessageID(msg.Head().UUID)}
	switch msg := msg.(type) {
	case *message.Informational:
		if msg.Content == "" {
			return nil
		}
		c.Content = TextBlock(labelled(string(msg.Level), msg.Content))
		c.Meta = map[string]any{"claudeCode": map[string]any{"kind": "informational", "level": msg.Level}}
	case *message.ModelFallback:
		if msg.Content == "" {
			return nil
		}
		c.Content = TextBlock(labelled("model fallback", msg.Content))
	default:
		return nil
	}
	return []schema.SessionUpdate{{AgentMessageChunk: c}}
}

// labelled puts a bold label before a text, as the npm adapter does; "info" is the level
// of plain text.
func labelled(label, text string) string {
	if label == "" || label == string(message.LevelInfo) {
		return text
	}
	return "**" + strings.ToUpper(label[:1]) + label[1:] + ":** " + text
}
