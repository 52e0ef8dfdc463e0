package otelclaude

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/token"
	"reflect"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/message"
)

// session follows one session. Frames and states come one at a time, prompts and
// callbacks from any goroutine.
type session struct {
	*instrumentation
	ctx  context.Context // of Connect, with the start span
	link trace.Link      // to the start span

	mu        sync.Mutex
	id        string
	starting  trace.Span // nil once it has ended
	live      bool
	over      bool
	prompts   []*prompt // sent, but not in a turn yet
	turn      *turn     // nil between turns
	turnEnd   time.Time // of the last one
	tools     map[string]*operation
	agents    map[string]*operation // by the call that started them
	tasks     map[string]string     // the calls by the ids of their tasks
	callbacks map[string]*callback  // by request id
	spending  message.Spending
	secrets   *claude.Redactor // nil unless content is recorded
	// work is the fleet's work, nil without a fleet. answers reports that the model
	// has answered in this process.
	work    *work
	answers bool
}

// operation is a span that waits for its end.
type operation struct {
	ctx   context.Context // with the span
	span  trace.Span
	began time.Time
	name  string // the tool or the agent
	agent string // the call whose subagent it belongs to, if any
	// denied reports that a hook or the permission callback refused a tool
	// call. failed is when the call failed, while its callback has yet to
	// report its decision.
	denied bool
	failed time.Time
}

// begin starts to follow a session.
func (in *instrumentation) begin(ctx context.Context, start *claude.TraceStart) *session {
	s := &session{
		instrumentation: in, id: start.SessionID,
		tools: make(map[string]*operation), agents: make(map[string]*operation),
		tasks: make(map[string]string), callbacks: make(map[string]*callback),
		work: workOf(ctx),
	}
	s.ctx, s.starting = s.start(context.WithoutCancel(ctx), "start_session", time.Now())
	s.link = trace.Link{SpanContext: s.starting.SpanContext()}
	start.Env = in.environ(s.ctx, start.Env)
	if in.content {
		s.secrets = start.Redactor()
	}
	return s
}

// trace returns the functions that a session calls.
func (s *session) trace() *claude.Trace {
	return &claude.Trace{
		StateChanged:        s.stateChanged,
		FrameRead:           s.frameRead,
		FrameWritten:        s.frameWritten,
		CallbackDone:        s.callbackDone,
		RequestDone:         s.requestDone,
		Ended:               s.ended,
		PromptSending:       s.promptSending,
		CallbackContext:     s.callbackContext,
		SkipPartialMessages: true,
		CloseWait:           closeWait,
	}
}

// start starts a span of the session.
func (s *session) start(ctx context.Context, name string, at time.Time, attrs ...attribute.KeyValue) (context.Context, trace.Span) {
	if s.id != "" {
		attrs = append(attrs, keyConversation.String(s.id))
	}
	attrs = append(attrs, s.attributes...)
	return s.tracer.Start(ctx, name, trace.WithTimestamp(at), trace.WithAttributes(attrs...))
}

// fail marks a span as failed. The text must be fit for every reader of the
// trace.
func fail(span trace.Span, errorType, text string) {
	span.SetAttributes(keyErrorType.String(errorType))
	span.SetStatus(codes.Error, text)
}

// errorType names a Go error.
func errorType(err error) string {
	switch {
	case errors.Is(err, context.Canceled):
		return errCanceled
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, claude.ErrTimeout):
		return errTimeout
	case errors.Is(err, claude.ErrClosed):
		return errClosed
	case errors.Is(err, claude.ErrInterrupted):
		return errInterrupted
	case errors.Is(err, claude.ErrWithdrawn):
		return errWithdrawn
	}
	if _, ok := errors.AsType[*claude.StartError](err); ok {
		return errStart
	}
	if _, ok := errors.AsType[*claude.ProcessError](err); ok {
		return errProcess
	}
	if refused, ok := errors.AsType[*claude.ControlError](err); ok {
		if refused.Code != "" {
			return refused.Code
		}
		return errControl
	}
	for ; err != nil; err = errors.Unwrap(err) { // the first type with a public name
		t := reflect.TypeOf(err)
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if token.IsExported(t.Name()) {
			return fmt.Sprintf("%T", err)
		}
	}
	return "_OTHER" // the conventions' name for everything else
}

func (s *session) stateChanged(_, to claude.State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if to == claude.StateRunning && !s.live {
		s.live = true
		s.metrics.sessions.Add(s.ctx, 1)
		s.starting.End()
		s.starting = nil
	}
}

// ended ends all open spans.
func (s *session) ended(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	why := errClosed
	if err != nil {
		why = errorType(err)
	}
	if s.starting != nil {
		fail(s.starting, why, "")
		s.starting.End()
		s.starting = nil
	}
	for _, c := range s.callbacks {
		if s.awaited(c) {
			fail(c.span, why, "")
		}
		c.span.End()
	}
	clear(s.callbacks)
	for id, call := range s.tools {
		if call.failed.IsZero() {
			s.endTool(id, outcomeNone, why)
		} else {
			s.endFailed(id)
		}
	}
	for id := range s.agents {
		s.endAgent(id, why)
	}
	for s.turn != nil || len(s.prompts) > 0 { // prompts that were never answered have turns too
		s.beginTurn()
		s.endTurn(why, "")
	}
	if s.live {
		s.live = false
		s.metrics.sessions.Add(s.ctx, -1)
	}
	s.over = true
}

// awaited reports whether the CLI still waits for a callback. Otherwise the CLI
// has its answer, and the callback is about to report its end.
func (s *session) awaited(c *callback) bool {
	if c.tool != "" {
		call := s.tools[c.tool]
		return call != nil && call.failed.IsZero()
	}
	return s.turn != nil
}

// frameRead takes a line of the CLI.
func (s *session) frameRead(line []byte) {
	if isPartial(line) {
		return
	}
	if isControl(line) {
		s.asked(line)
		return
	}
	m, _ := message.Decode(line) // the session reports what is wrong with it
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	switch m := m.(type) {
	case *message.Init:
		s.begun(m)
	case *message.Assistant:
		s.answered(m)
	case *message.User:
		s.toolResults(m)
	case *message.Result:
		s.result(m)
	case *message.APIRetry:
		s.retried(m)
	case *message.CommandLifecycle:
		s.lifecycle(m)
	case *message.TaskStarted:
		s.taskStarted(m)
	case *message.TaskUpdated:
		if m.Done() {
			s.taskDone(m.TaskID, m.Patch.Status)
		}
	case *message.TaskNotification:
		if m.Done() {
			s.taskDone(m.TaskID, m.Status)
		}
	}
}

// isPartial reports whether a line begins like a piece of an answer.
func isPartial(line []byte) bool {
	return bytes.HasPrefix(line, []byte(`{"type":"stream_event","`))
}

// isControl reports whether a line is not a message.
func isControl(line []byte) bool {
	return bytes.HasPrefix(line, []byte(`{"type":"control_`))
}

// requestDone records a control operation that has ended.
func (s *session) requestDone(r claude.TraceRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	parent := s.ctx
	if trace.SpanContextFromContext(r.Context).IsValid() {
		parent = r.Context
	}
	end := time.Now()
	_, span := s.start(parent, "control "+r.Op, end.Add(-r.Duration), keyOp.String(r.Op), keyRequest.String(r.RequestID))
	if r.Err != nil {
		fail(span, errorType(r.Err), "")
	}
	span.End(trace.WithTimestamp(end))
}
