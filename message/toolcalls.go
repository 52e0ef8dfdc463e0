package message

import "encoding/json"

// ToolCalls pairs tool calls with their results as messages arrive. The zero
// value is ready to use. It is not safe for concurrent use.
type ToolCalls struct {
	calls []*ToolCall
	byID  map[string]*ToolCall
}

// ToolCall is a tool call, and its result once there is one.
type ToolCall struct {
	Use *ToolUseBlock
	// Result is nil while the tool runs.
	Result *ToolResultBlock
	// Output is the tool's own output, richer than Result; its shape depends
	// on the tool. It is nil if a message carried several results.
	Output json.RawMessage
	// Agent is the subagent that made the call.
	Agent Subagent
}

// Add takes a message into account and returns the calls that it began or
// ended, in order, or nil if there are none.
func (c *ToolCalls) Add(m Message) []*ToolCall {
	var touched []*ToolCall
	switch m := m.(type) {
	case *Assistant:
		for _, use := range m.ToolUses() {
			if c.byID[use.ID] != nil { // repeated, as after a resume
				continue
			}
			call := &ToolCall{Use: use, Agent: SubagentOf(m)}
			if c.byID == nil {
				c.byID = make(map[string]*ToolCall)
			}
			c.byID[use.ID] = call
			c.calls = append(c.calls, call)
			touched = append(touched, call)
		}
	case *User:
		results := m.ToolResults()
		for _, result := range results {
			call := c.byID[result.ToolUseID]
			if call == nil || call.Result != nil {
				continue
			}
			call.Result = result
			if len(results) == 1 {
				call.Output = m.ToolUseResult
			}
			touched = append(touched, call)
		}
	}
	return touched
}

// All returns the calls so far, in order.
func (c *ToolCalls) All() []*ToolCall { return c.calls }

// Running returns the calls that have no result yet, in order.
func (c *ToolCalls) Running() (running []*ToolCall) {
	for _, call := range c.calls {
		if call.Result == nil {
			running = append(running, call)
		}
	}
	return running
}

// Subagent is the subagent that a message belongs to. The zero value is the
// main conversation.
type Subagent struct {
	// ToolUseID is the call of the agent tool that started it.
	ToolUseID string
	// ID, Type and Description name it, if the CLI does.
	ID, Type, Description string
}

// SubagentOf returns the subagent that a message belongs to, or the zero value
// for the main conversation.
func SubagentOf(m Message) Subagent {
	switch m := m.(type) {
	case *Assistant:
		return Subagent{m.ParentToolUseID, m.AgentID, m.SubagentType, m.TaskDescription}
	case *User:
		return Subagent{m.ParentToolUseID, m.AgentID, m.SubagentType, m.TaskDescription}
	case *StreamEvent:
		return Subagent{ToolUseID: m.ParentToolUseID}
	case *ToolProgress:
		return Subagent{ToolUseID: m.ParentToolUseID, Type: m.SubagentType}
	case *PermissionDenied:
		return Subagent{ID: m.AgentID}
	}
	return Subagent{}
}

// TextOf returns the text of a message: that of the model or the user, a piece
// of text, or the answer of a result. It is empty for other messages.
func TextOf(m Message) string {
	switch m := m.(type) {
	case *Assistant:
		return m.Text()
	case *User:
		return m.Text()
	case *StreamEvent:
		return m.Text()
	case *Result:
		return m.Text
	}
	return ""
}
