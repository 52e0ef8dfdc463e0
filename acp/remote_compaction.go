package acp

import (
	"cmp"

	"github.com/claude-agent-go/claude/acp/internal/translate"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/serve/api"
)

// remoteCompaction shows the compactions of a conversation on a server. The server
// reports a running or failed compaction only while it happens; the transcript has the
// end of a successful one. The two arrive in any order. Its zero value is ready. It is
// not safe for concurrent use.
type remoteCompaction struct {
	state api.CompactionState // of the last that was shown; empty: it is complete
}

// add returns the updates of what the server reports of a compaction.
func (r *remoteCompaction) add(m *translate.Machine, c *api.Compaction) (out []schema.SessionUpdate) {
	if c.State == api.CompactionDone && r.state == "" {
		return nil // the transcript was faster
	}
	if r.state == api.CompactionDone && c.State == api.CompactionRunning { // the line of the last one never came
		m.Add(&message.CompactBoundary{})
		r.state = ""
	}
	if r.state == "" {
		out = m.Add(&message.Status{Header: message.Header{UUID: c.ID}, Status: "compacting"})
	}
	switch before := r.state; c.State {
	case api.CompactionRunning:
		r.state = c.State
	case api.CompactionDone:
		if r.state = c.State; before != c.State {
			out = append(out, m.Add(&message.Status{CompactResult: "success"})...)
		}
	case api.CompactionFailed:
		r.state = ""
		out = append(out, m.Add(&message.Status{CompactError: cmp.Or(c.Error, "the compaction failed")})...)
	}
	return out
}

// stored returns the updates of the line that a compaction leaves.
func (r *remoteCompaction) stored(m *translate.Machine, line *message.CompactBoundary) (out []schema.SessionUpdate) {
	for _, state := range [...]api.CompactionState{api.CompactionRunning, api.CompactionDone} {
		if r.state != api.CompactionDone {
			out = append(out, r.add(m, &api.Compaction{ID: line.UUID, State: state})...)
		}
	}
	r.state = ""
	return append(out, m.Add(line)...)
}

// ended returns the updates of a compaction whose end was still missing at the end of its
// turn.
func (r *remoteCompaction) ended(m *translate.Machine) []schema.SessionUpdate {
	if r.state != api.CompactionRunning {
		return nil
	}
	return r.add(m, &api.Compaction{State: api.CompactionFailed, Error: "the turn has ended"})
}
