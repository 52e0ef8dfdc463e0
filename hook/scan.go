package hook

import (
	"encoding/json"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/permission"
)

// The inputs of the events around a tool call are read here in one pass,
// because the call waits for the hook. One with anything unusual about it is
// left to the general way; FuzzScan holds the two together.

// scanned is an input that can be read in one pass. Each has its own loop: a
// scanner that goes through an interface is not on the stack.
type scanned interface {
	// scan reads an input. It reports false for one that is unusual, of which
	// a part may have been read then.
	scan(raw json.RawMessage) bool
}

func (in *PreToolUseInput) scan(raw json.RawMessage) bool {
	var s jsonx.Scanner
	s.Start(raw)
	o := s.Object()
	for name := s.Next(&o); name != nil; name = s.Next(&o) {
		if !in.Base.read(&s, name) && !in.ToolBase.read(&s, name) {
			s.Skip()
		}
	}
	return s.End()
}

func (in *PostToolUseInput) scan(raw json.RawMessage) bool {
	var s jsonx.Scanner
	s.Start(raw)
	o := s.Object()
	for name := s.Next(&o); name != nil; name = s.Next(&o) {
		switch string(name) {
		case "tool_response":
			in.ToolResponse = s.Skip()
		case "duration_ms":
			in.DurationMS = s.Float()
		default:
			if !in.Base.read(&s, name) && !in.ToolBase.read(&s, name) {
				s.Skip()
			}
		}
	}
	return s.End()
}

// read reads a member of the part that all inputs share, and reports whether
// it was one.
func (b *Base) read(s *jsonx.Scanner, name []byte) bool {
	switch string(name) {
	case "session_id":
		b.SessionID = s.Text()
	case "transcript_path":
		b.TranscriptPath = s.Text()
	case "cwd":
		b.Cwd = s.Text()
	case "prompt_id":
		b.PromptID = s.Text()
	case "permission_mode":
		b.PermissionMode = permission.Mode(s.KnownText("default"))
	case "agent_id":
		b.AgentID = s.Text()
	case "agent_type":
		b.AgentType = s.Text()
	case "effort":
		b.Effort.read(s)
	case "hook_event_name":
		b.HookEventName = Event(s.KnownText(string(EventPreToolUse), string(EventPostToolUse)))
	default:
		return false
	}
	return true
}

func (e *EffortLevel) read(s *jsonx.Scanner) {
	if s.Null() {
		return
	}
	o := s.Object()
	for name := s.Next(&o); name != nil; name = s.Next(&o) {
		if string(name) == "level" {
			e.Level = control.Effort(s.Text())
		} else {
			s.Skip()
		}
	}
}

// read is Base.read for the tool call.
func (t *ToolBase) read(s *jsonx.Scanner, name []byte) bool {
	switch string(name) {
	case "tool_name":
		t.ToolName = s.Text()
	case "tool_input":
		t.ToolInput = s.Skip()
	case "tool_use_id":
		t.ToolUseID = s.Text()
	case "mcp_server": // rare
		if !s.Null() {
			s.Fail()
		}
	default:
		return false
	}
	return true
}
