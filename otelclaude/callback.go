package otelclaude

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/message"
)

// callback is a running call to user code.
type callback struct {
	span    trace.Span
	tool    string // the tool call it belongs to
	subtype string
	decides bool // its reply may allow or deny the call
}

// callbackContext starts the span of a callback and returns its context. The
// messages of the handshake with an MCP server have no span.
func (s *session) callbackContext(ctx context.Context, c claude.TraceCallback) context.Context {
	name := ""
	attrs := []attribute.KeyValue{keyRequest.String(c.RequestID)}
	cb := &callback{tool: c.ToolUseID, subtype: c.Subtype}
	switch c.Subtype {
	case "can_use_tool":
		name, cb.decides = "permission "+c.Name, true
		attrs = append(attrs, keyToolName.String(c.Name))
	case "hook_callback":
		name, cb.decides = "hook "+c.Name, c.Name == "PreToolUse" || c.Name == "PermissionRequest"
		attrs = append(attrs, keyHookEvent.String(c.Name))
	case "mcp_message":
		server, method, _ := strings.Cut(c.Name, " ")
		if method != "tools/call" {
			return ctx
		}
		name = "mcp " + server
	default:
		name = c.Subtype
	}
	if c.ToolUseID != "" {
		attrs = append(attrs, keyToolCall.String(c.ToolUseID))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return ctx
	}
	own, span := s.start(trace.ContextWithSpan(ctx, trace.SpanFromContext(s.callParent(c.ToolUseID))), name, time.Now(), attrs...)
	cb.span = span
	s.callbacks[c.RequestID] = cb
	return own
}

// callParent returns the context of the tool call that a callback belongs to, or
// of the turn. A callback before the first turn belongs to the session.
func (s *session) callParent(tool string) context.Context {
	if call := s.tools[tool]; call != nil {
		return call.ctx
	}
	if len(s.prompts) > 0 {
		s.beginTurn()
	}
	return s.within("")
}

// callbackDone ends the span of a callback.
func (s *session) callbackDone(c claude.TraceCallback) {
	s.mu.Lock()
	defer s.mu.Unlock()
	cb := s.callbacks[c.RequestID]
	if cb == nil {
		return
	}
	delete(s.callbacks, c.RequestID)
	if c.Err != nil {
		fail(cb.span, errorType(c.Err), "")
	}
	if cb.decides {
		s.decided(cb, c.Reply)
	}
	cb.span.End()
	if call := s.tools[cb.tool]; call != nil && !call.failed.IsZero() && !s.deciding(cb.tool) {
		s.endFailed(cb.tool)
	}
	if cb.subtype == "can_use_tool" {
		s.metrics.permission.Record(s.ctx, c.Duration.Seconds(), metric.WithAttributes(keyToolName.String(c.Name)))
	}
}

// frameWritten takes a line that was sent to the CLI: the text of a prompt.
func (s *session) frameWritten(line []byte) {
	if s.content && !isControl(line) {
		s.prompted(line)
	}
}

// decided takes a callback's decision about a tool call.
func (s *session) decided(cb *callback, reply json.RawMessage) {
	decision := decisionOf(reply)
	if decision == "" {
		return
	}
	cb.span.SetAttributes(keyDecision.String(decision))
	if call := s.tools[cb.tool]; call != nil && decision == "deny" {
		call.denied = true
	}
}

// decisionOf reads the decision of a permission callback or a hook, "" if there
// is none.
func decisionOf(reply []byte) string {
	var r struct {
		Behavior string `json:"behavior"`
		Decision string `json:"decision"`
		Specific struct {
			Permission string `json:"permissionDecision"`
			Decision   struct {
				Behavior string `json:"behavior"`
			} `json:"decision"`
		} `json:"hookSpecificOutput"`
	}
	_ = json.Unmarshal(reply, &r) // a reply of another form decides nothing
	switch {
	case r.Behavior != "":
		return r.Behavior
	case r.Specific.Permission != "":
		return r.Specific.Permission
	case r.Specific.Decision.Behavior != "":
		return r.Specific.Decision.Behavior
	case r.Decision == "block":
		return "deny"
	}
	return ""
}

// prompted takes the text of a prompt.
func (s *session) prompted(line []byte) {
	m, _ := message.Decode(line)
	u, ok := m.(*message.User)
	if !ok || u.Text() == "" {
		return
	}
	text := s.cut(u.Text())
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.prompts {
		if p.id == u.UUID {
			p.text = text
			return
		}
	}
	if s.turn != nil && len(s.turn.prompts) > 0 && s.turn.prompts[0] == u.UUID {
		s.recordPrompt(text)
	}
}
