package acp

import (
	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/internal/transcript"
	"github.com/claude-agent-go/claude/message"
)

// toldOf returns what a line of a transcript tells people, nil if that is nothing: not the
// summary that a compaction leaves for the model, and of the lines that only people see
// what slash commands have printed, and compactions.
func toldOf(m *history.StoredMessage) message.Message {
	if m.Summary {
		return nil
	}
	if m.Head().Type != "system" {
		return m.Message
	}
	told, _ := message.Decode(transcript.Told(m.Entry)) // what fits is enough
	return told
}
