package otelclaude

import (
	"context"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/claude-agent-go/claude/message"
)

// within returns the context for an operation of a subagent, named by the call
// that started it, or of the turn if there is none.
func (s *session) within(agent string) context.Context {
	if a := s.agents[agent]; a != nil {
		return a.ctx
	}
	if call := s.tools[agent]; call != nil { // a CLI that does not announce subagents
		return call.ctx
	}
	if s.turn != nil {
		return s.turn.ctx
	}
	return s.ctx
}

// beginTool begins a tool call.
func (s *session) beginTool(call *message.ToolUseBlock, agent string) *operation {
	if s.tools[call.ID] != nil || call.ID == "" {
		return nil
	}
	kind := "function"
	if strings.HasPrefix(call.Name, "mcp__") {
		kind = "extension"
	}
	op := &operation{name: call.Name, agent: agent, began: time.Now()}
	attrs := []attribute.KeyValue{
		keyOperation.String(opTool), keyToolName.String(call.Name), keyToolCall.String(call.ID), keyToolType.String(kind),
	}
	if s.content {
		attrs = append(attrs, keyToolArguments.String(s.cutJSON(call.Input)))
	}
	op.ctx, op.span = s.start(s.within(agent), opTool+" "+call.Name, op.began, attrs...)
	s.tools[call.ID] = op
	return op
}

// toolResults takes the results of tools.
func (s *session) toolResults(m *message.User) {
	if m.IsReplay {
		return
	}
	for _, r := range m.ToolResults() {
		call := s.tools[r.ToolUseID]
		if call == nil {
			continue
		}
		for _, meta := range m.ToolResultMeta {
			if meta.ID == r.ToolUseID && meta.PermissionDecision.Decision == "reject" {
				call.denied = true
			}
		}
		if s.content {
			call.span.SetAttributes(keyToolResult.String(s.cut(r.Content.Text())))
		}
		if a := s.agents[r.ToolUseID]; a != nil && !a.background(r, m) {
			s.endAgent(r.ToolUseID, "")
		}
		switch {
		case !r.IsError:
			s.endTool(r.ToolUseID, outcomeOK, "")
		case s.deciding(r.ToolUseID):
			call.failed = time.Now()
		default:
			s.endFailed(r.ToolUseID)
		}
	}
}

// deciding reports whether a callback that decides about a call has yet to
// report its end: the CLI may be faster with the consequences.
func (s *session) deciding(id string) bool {
	for _, cb := range s.callbacks {
		if cb.decides && cb.tool == id {
			return true
		}
	}
	return false
}

// endFailed ends a tool call that failed or was not allowed to run.
func (s *session) endFailed(id string) {
	if s.tools[id].denied {
		s.endTool(id, outcomeDenied, errDenied)
	} else {
		s.endTool(id, outcomeError, errTool)
	}
}

// endTool ends a tool call.
func (s *session) endTool(id, outcome, why string) {
	call := s.tools[id]
	delete(s.tools, id)
	end := time.Now()
	if !call.failed.IsZero() {
		end = call.failed
	}
	attrs := []attribute.KeyValue{keyOperation.String(opTool), keyToolName.String(call.name)}
	call.span.SetAttributes(keyOutcome.String(outcome))
	if why != "" {
		fail(call.span, why, "")
		attrs = append(attrs, keyErrorType.String(why))
	}
	call.span.End(trace.WithTimestamp(end))
	s.metrics.operation(call.ctx, call.began, attrs...)
}

// taskStarted begins a subagent.
func (s *session) taskStarted(m *message.TaskStarted) {
	if m.SubagentType == "" && m.TaskType != "local_agent" || m.ToolUseID == "" || s.agents[m.ToolUseID] != nil {
		return
	}
	op := &operation{name: m.SubagentType, began: time.Now()}
	name := opAgent
	attrs := []attribute.KeyValue{keyOperation.String(opAgent), keyProvider.String(provider), keyTask.String(m.TaskID)}
	if op.name != "" {
		name += " " + op.name
		attrs = append(attrs, keyAgent.String(op.name))
	}
	if call := s.tools[m.ToolUseID]; call != nil {
		op.agent = call.agent
	}
	op.ctx, op.span = s.start(s.within(m.ToolUseID), name, op.began, attrs...)
	s.agents[m.ToolUseID] = op
	s.tasks[m.TaskID] = m.ToolUseID
}

// background reports whether a subagent keeps working after the result of the
// call that started it.
func (op *operation) background(r *message.ToolResultBlock, m *message.User) bool {
	return !r.IsError && strings.Contains(string(m.ToolUseResult), `"async_launched"`)
}

// taskDone ends a subagent by the id of its task.
func (s *session) taskDone(task string, status message.TaskStatus) {
	id, known := s.tasks[task]
	delete(s.tasks, task)
	if !known || s.agents[id] == nil {
		return
	}
	why := ""
	if status != "" && status != message.TaskCompleted {
		why = string(status)
	}
	s.endAgent(id, why)
}

// endAgent ends a subagent and its calls without a result.
func (s *session) endAgent(id, why string) {
	a := s.agents[id]
	delete(s.agents, id)
	for call, op := range s.tools {
		if op.agent == id {
			s.endTool(call, outcomeNone, errNoResult)
		}
	}
	attrs := []attribute.KeyValue{keyOperation.String(opAgent)}
	if a.name != "" {
		attrs = append(attrs, keyAgent.String(a.name))
	}
	if why != "" {
		fail(a.span, why, "")
		attrs = append(attrs, keyErrorType.String(why))
	}
	a.span.End()
	s.metrics.operation(a.ctx, a.began, attrs...)
}
