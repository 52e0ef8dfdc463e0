package acp

import (
	"github.com/claude-agent-go/claude/acp/schema"
	"github.com/claude-agent-go/claude/message"
)

// compacted shows a compaction. A transcript has its end only, so the editor sees it begin
// and end at once.
func (s *remoteSession) compacted(m *message.CompactBoundary) (out []schema.SessionUpdate) {
	for _, step := range [...]message.Message{
		&message.Status{Header: m.Header, Status: "compacting"},
		&message.Status{Header: m.Header, CompactResult: "success"},
		m,
	} {
		out = append(out, s.machine.Add(step)...)
	}
	return out
}
