package inspect

import (
	"encoding/json"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/brief"
)

// Tool is a tool call, what was asked about it and how it ended.
type Tool struct {
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
	// Asked holds the permission questions, hook calls and MCP messages that
	// were about it.
	Asked []*Exchange `json:"asked,omitzero"`
	// Decision is the client's answer, allow or deny; "" if it was not asked.
	Decision string `json:"decision,omitzero"`
	Message  string `json:"message,omitzero"`
	// Done is true if there is a result, Ran if the tool really ran.
	Done    bool   `json:"done"`
	Ran     bool   `json:"ran"`
	IsError bool   `json:"is_error"`
	Output  string `json:"output,omitzero"`
	// Withdrawn is true if an interrupt came while the question about it was
	// open.
	Withdrawn bool `json:"withdrawn,omitzero"`

	StartMS float64 `json:"start_ms"`
	EndMS   float64 `json:"end_ms,omitzero"`
	EndLine int     `json:"end_line,omitzero"`
	Turn    int     `json:"turn,omitzero"`
}

// DurationMS is the time from the call to its result, 0 if there is none.
func (t *Tool) DurationMS() float64 {
	if !t.Done {
		return 0
	}
	return t.EndMS - t.StartMS
}

// ToolState is how a tool call ended.
type ToolState string

// The states of a tool call.
const (
	NoResult    ToolState = "no result"
	Interrupted ToolState = "interrupted"
	Denied      ToolState = "denied"
	ToolFailed  ToolState = "failed"
	ToolOK      ToolState = "ok"
)

// State returns how the call ended.
func (t *Tool) State() ToolState {
	switch {
	case !t.Done:
		return NoResult
	case brief.Interrupted(t.Output, t.IsError), t.Withdrawn && t.IsError:
		return Interrupted
	case !t.Ran && t.IsError:
		return Denied
	case t.IsError:
		return ToolFailed
	}
	return ToolOK
}

// readDecisions fills in what package claudetest makes of the calls: whether they were
// allowed, and whether they ran.
func (b *builder) readDecisions() {
	entries := make([]claudetest.RecordingEntry, 0, len(b.rep.Frames))
	for _, f := range b.rep.Frames {
		// Pieces of answers hold nothing about calls, and are most of a
		// recording. A mirror repeats everything a second time.
		if f.Msg != nil && f.Kind != KindStream && f.Kind != KindMirror {
			entries = append(entries, claudetest.RecordingEntry{Dir: f.Dir, Msg: f.Msg})
		}
	}
	for _, use := range claudetest.NewRecording(entries...).Tools() {
		t := b.tools[use.ID]
		if t == nil {
			continue
		}
		t.Decision, t.Message, t.Ran = string(use.Decision), use.Message, use.Ran
	}
	for _, f := range b.rep.Frames { // which could not know it
		for _, t := range b.ended[f.Line] {
			switch state := t.State(); state {
			case Denied, Interrupted:
				f.Error = string(state)
			case ToolFailed:
				f.Error = "the tool failed"
			}
		}
	}
}
