package translate

import (
	"strings"

	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/message"
)

// Summary shows what a compaction has left of the conversation, in an editor that shows
// compactions as such. The CLI writes it as a message to the model, after the boundary.
func (m *Machine) Summary(user *message.User) []schema.SessionUpdate {
	id := m.compacted
	m.compacted = ""
	text := summaryOf(user.Text())
	if id == "" || text == "" || !m.Compaction {
		return nil
	}
	return []schema.SessionUpdate{{CompactionUpdate: &schema.CompactionUpdate{
		CompactionID: schema.CompactionID(id), Status: schema.CompactionStatusCompleted, Summary: []schema.ContentBlock{TextBlock(text)},
	}}}
}

// The CLI puts a summary between words for the model: these begin the message, the summary
// is below the line, and some of the others follow it.
const (
	summaryBegins = "This session is being continued from a previous conversation"
	summaryLine   = "\nSummary:\n"
)

var summaryEnds = [...]string{
	"\n\nIf you need specific details from before compaction",
	"\n\nText from before compaction is no longer in your context.",
	"\n\nNote: part of the earlier conversation was too large",
	"\n\nThe messages after this summary are the most recent messages",
	"\n\nRecent messages are preserved verbatim.",
	"\nContinue the conversation from where it left off",
	"\nPlease continue the conversation from where",
}

// summaryOf returns the summary in a message for the model, without the words around it. It
// is empty if they are not known: then it is unknown what is for people.
func summaryOf(text string) string {
	_, after, begins := strings.Cut(text, summaryBegins)
	_, summary, found := strings.Cut(after, summaryLine)
	if !begins || !found {
		return ""
	}
	for _, end := range summaryEnds {
		summary, _, _ = strings.Cut(summary, end)
	}
	return strings.TrimSpace(summary)
}

// isSummary reports whether a message of a running session is a summary: there it has no
// mark but that no person wrote it.
func isSummary(user *message.User) bool {
	return user.IsSynthetic && user.ParentToolUseID == "" && strings.Contains(user.Text(), summaryBegins)
}
