package eventlog

import (
	"cmp"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/serve/api"
)

// compaction is the last compaction that is known. It is not stored: the transcript
// has the end of those that succeed. The zero value stands for none.
type compaction struct{ api.Compaction }

// take takes in how one stands.
func (c *compaction) take(m *message.Status) {
	switch {
	case m.Status == "compacting":
		c.Compaction = api.Compaction{ID: m.UUID, State: api.CompactionRunning}
	case m.CompactError != "" && m.UUID == c.ID && c.running() == "": // its end is known
	case m.CompactError != "":
		c.Compaction = api.Compaction{ID: cmp.Or(c.running(), m.UUID), State: api.CompactionFailed, Error: m.CompactError}
	default:
		c.said()
	}
}

// running returns the id of the one that runs, empty if none does.
func (c *compaction) running() string {
	if c.State != api.CompactionRunning {
		return ""
	}
	return c.ID
}

// heard takes in a line of the transcript: the one that a compaction leaves ends it.
func (c *compaction) heard(line []byte) {
	if jsonx.Text(jsonx.Member(line, "subtype")) == "compact_boundary" {
		c.said()
	}
}

// lost ends one whose end will not come, because nothing runs any more.
func (c *compaction) lost() {
	if c.running() != "" {
		c.State, c.Error = api.CompactionFailed, "the turn has ended"
	}
}

func (c *compaction) said() {
	if c.running() != "" {
		c.State = api.CompactionDone
	}
}

// news returns the changes that a reader has not been sent yet. A compaction that was
// over before its beginning was sent is news only if it failed, and never to a reader
// that has just come.
func (c *compaction) news(sent *compaction, first bool) []Event {
	before := *sent
	*sent = *c
	if *c == before || before.ID != c.ID && (c.State == api.CompactionDone || first && c.State == api.CompactionFailed) {
		return nil
	}
	now := c.Compaction
	return []Event{{Event: api.Event{Type: api.EventCompaction, Compaction: &now}}}
}
