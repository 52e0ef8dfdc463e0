package otelclaude

import (
	"context"
	"encoding/json"
	"maps"
	"sync"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/claude-agent-go/claude/message"
)

// A deferred call is made in another session, perhaps by another process. Its
// two spans are linked.

// deferrals holds the latest calls that were deferred in this process.
type deferrals struct {
	mu    sync.Mutex
	spans map[string]trace.SpanContext
	order []string
}

// maxDeferrals is how many are remembered.
const maxDeferrals = 1000

func (d *deferrals) keep(id string, c trace.SpanContext) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.spans == nil {
		d.spans = make(map[string]trace.SpanContext)
	}
	if len(d.order) == maxDeferrals {
		delete(d.spans, d.order[0])
		d.order = d.order[1:]
	}
	d.spans[id] = c
	d.order = append(d.order, id)
}

func (d *deferrals) find(id string) trace.SpanContext {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.spans[id]
}

// work is a fleet's work on a prompt. The sessions find it in their contexts.
type work struct {
	span      trace.Span
	continues bool // the CLI starts by itself, without a prompt

	mu   sync.Mutex
	call string            // the call that was deferred, earlier or just now
	at   trace.SpanContext // its span
}

type workKey struct{}

// workOf returns the work that a context belongs to, nil for none.
func workOf(ctx context.Context) *work {
	w, _ := ctx.Value(workKey{}).(*work)
	return w
}

// The members of a carrier, besides those of the trace context.
const (
	carriedCall   = "deferred-call"
	carriedParent = "deferred-traceparent"
	traceparent   = "traceparent"
)

// take reads the deferred call out of a carrier.
func (w *work) take(carrier map[string]string) {
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{traceparent: carrier[carriedParent]})
	w.call, w.at = carrier[carriedCall], trace.SpanContextFromContext(ctx)
}

// carrier returns what the next process to work on the prompt needs to know.
func (w *work) carrier(before map[string]string) map[string]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.call == "" || !w.at.IsValid() {
		return before
	}
	carrier := maps.Clone(before)
	if carrier == nil {
		carrier = make(map[string]string)
	}
	own := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(trace.ContextWithSpanContext(context.Background(), w.at), own)
	carrier[carriedCall], carrier[carriedParent] = w.call, own[traceparent]
	return carrier
}

// find returns the span of a call that was deferred.
func (w *work) find(id string) (c trace.SpanContext) {
	if w == nil {
		return c
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.call == id {
		return w.at
	}
	return c
}

// suspend records a deferred call.
func (s *session) suspend(id string, call *operation) {
	c := call.span.SpanContext()
	s.deferred.keep(id, c)
	if w := workOf(s.turn.ctx); w != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.call, w.at = id, c
	}
}

// asked takes a request of the CLI. In a resumed session it may be the first
// sign of a call: the model made that call in an earlier session.
func (s *session) asked(line []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	s.hooked(line)
	if s.answers {
		return
	}
	call := resumedCall(line)
	if call == nil {
		return
	}
	s.beginTurn()
	op := s.beginTool(call, "")
	if op == nil {
		return
	}
	before := workOf(s.turn.ctx).find(call.ID)
	if !before.IsValid() {
		before = s.deferred.find(call.ID)
	}
	if before.IsValid() {
		op.span.AddLink(trace.Link{SpanContext: before})
	}
}

// resumedCall returns the call of the main conversation that a request is about,
// nil for none.
func resumedCall(line []byte) *message.ToolUseBlock {
	type call struct {
		ToolName  string          `json:"tool_name"`
		ToolUseID string          `json:"tool_use_id"`
		Input     json.RawMessage `json:"input"`
		ToolInput json.RawMessage `json:"tool_input"`
		Event     string          `json:"hook_event_name"`
		Agent     string          `json:"agent_id"`
	}
	var r struct {
		Request struct {
			Subtype string `json:"subtype"`
			call
		} `json:"request"`
	}
	if json.Unmarshal(line, &r) != nil {
		return nil // the session reports what is wrong with it
	}
	c := r.Request.call
	switch r.Request.Subtype {
	case "can_use_tool":
	case "hook_callback":
		var in call
		if json.Unmarshal(c.Input, &in) != nil || in.Event != "PreToolUse" {
			return nil
		}
		c, c.Input = in, in.ToolInput
	default:
		return nil
	}
	if c.ToolUseID == "" || c.Agent != "" {
		return nil
	}
	return &message.ToolUseBlock{ID: c.ToolUseID, Name: c.ToolName, Input: c.Input}
}
