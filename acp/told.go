package acp

import (
	"github.com/claude-agent-go/claude/acp/internal/translate"
	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/internal/transcript"
	"github.com/claude-agent-go/claude/message"
)

// replayed returns what a line of a transcript shows: of the lines that only people see what
// slash commands have printed, and compactions.
func replayed(m *translate.Machine, line *history.StoredMessage) []schema.SessionUpdate {
	told := line.Message
	if told.Head().Type == "system" {
		told, _ = message.Decode(transcript.Told(line.Entry)) // what fits is enough
	}
	switch user, _ := told.(*message.User); {
	case told == nil, line.Summary && user == nil:
		return nil
	case line.Summary:
		return m.Summary(user)
	}
	return m.Replay(line.UUID, told)
}
