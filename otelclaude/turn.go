package otelclaude

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/claude-agent-go/claude/message"
)

// prompt is a prompt that was sent.
type prompt struct {
	id   string
	ctx  context.Context // of Run, Send or the like
	sent time.Time
	text string // with Config.Content
}

// turn is a running turn.
type turn struct {
	operation
	prompts []string
	model   string // that answers
	named   bool   // prompt.id is known
}

// promptSending records a prompt. Its turn begins with the first sign of it.
func (s *session) promptSending(ctx context.Context, id string) (failed func(error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return nil
	}
	p := &prompt{id: id, ctx: context.WithoutCancel(ctx), sent: time.Now()}
	s.prompts = append(s.prompts, p)
	return func(err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.turn != nil || !s.forget(id) {
			return // it may have arrived
		}
		s.prompts = slices.Insert(s.prompts, 0, p)
		s.beginTurn()
		s.endTurn(errorType(err), "")
	}
}

// forget removes a prompt from the waiting ones; false if it is not among them.
func (s *session) forget(id string) bool {
	n := len(s.prompts)
	s.prompts = slices.DeleteFunc(s.prompts, func(p *prompt) bool { return p.id == id })
	return len(s.prompts) < n
}

// beginTurn begins a turn, unless one runs: that of the prompt that has waited
// longest, or one that no prompt asked for. The turn began when the prompt was
// sent, or when the previous turn ended.
func (s *session) beginTurn() {
	if s.turn != nil {
		return
	}
	t := &turn{model: s.model}
	t.began = time.Now()
	parent, text := s.ctx, ""
	if len(s.prompts) > 0 {
		p := s.prompts[0]
		s.prompts = s.prompts[1:]
		t.prompts, t.began, text = []string{p.id}, p.sent, p.text
		if t.began.Before(s.turnEnd) {
			t.began = s.turnEnd
		}
		if trace.SpanContextFromContext(p.ctx).IsValid() {
			parent = p.ctx
		}
	} else if w := s.work; w != nil && w.continues { // the turn of the fleet's prompt
		s.work = nil
		parent = trace.ContextWithSpan(s.ctx, w.span)
	}
	name := opAgent
	attrs := []attribute.KeyValue{keyOperation.String(opAgent), keyProvider.String(provider)}
	if s.agent != "" {
		name += " " + s.agent
		attrs = append(attrs, keyAgent.String(s.agent))
	}
	if s.model != "" {
		attrs = append(attrs, keyRequestModel.String(s.model))
	}
	t.ctx, t.span = s.start(parent, name, t.began, attrs...)
	if trace.SpanContextFromContext(parent).SpanID() != s.link.SpanContext.SpanID() {
		t.span.AddLink(s.link)
	}
	s.turn = t
	s.recordPrompt(text)
}

// recordPrompt puts the text of a prompt on the span of its turn.
func (s *session) recordPrompt(text string) {
	if text != "" {
		s.turn.span.SetAttributes(keyInputText.String(messages("user", text)))
	}
}

// begun takes the line that begins a turn.
func (s *session) begun(m *message.Init) {
	if m.SessionID != "" {
		s.id = m.SessionID
	}
	s.beginTurn()
	s.turn.model = m.Model
	s.turn.span.SetAttributes(keyConversation.String(s.id), keyRequestModel.String(m.Model))
	if m.Version != "" {
		s.turn.span.SetAttributes(keyCLIVersion.String(m.Version))
	}
}

// hooked takes a request of the CLI, for the id that its prompt has in hooks and
// in the events that the CLI exports. The CLI makes a new id for each turn, and
// shows it nowhere else. Agents in the background may belong to an earlier turn.
func (s *session) hooked(line []byte) {
	if s.turn != nil && s.turn.named || !bytes.Contains(line, []byte(`"hook_callback"`)) {
		return
	}
	var r struct {
		Request struct {
			Input struct {
				Event  string `json:"hook_event_name"`
				Prompt string `json:"prompt_id"`
				Agent  string `json:"agent_id"`
			} `json:"input"`
		} `json:"request"`
	}
	if json.Unmarshal(line, &r) != nil {
		return // the session reports what is wrong with it
	}
	in := r.Request.Input
	if in.Prompt == "" || in.Agent != "" {
		return
	}
	if in.Event == "UserPromptSubmit" && len(s.prompts) > 0 {
		s.beginTurn()
	}
	if s.turn != nil {
		s.turn.named = true
		s.turn.span.SetAttributes(keyCLIPrompt.String(in.Prompt))
	}
}

// answered takes a part of an answer, for the tool calls in it.
func (s *session) answered(m *message.Assistant) {
	if m.ParentToolUseID == "" {
		s.answers = true
		s.beginTurn()
		if m.Model != "" && m.Model != "<synthetic>" {
			s.turn.model = m.Model
		}
	}
	for _, call := range m.Content.ToolUses() {
		s.beginTool(call, m.ParentToolUseID)
	}
}

// retried takes the notice that an API call is retried.
func (s *session) retried(m *message.APIRetry) {
	s.metrics.retries.Add(s.ctx, 1)
	if s.turn == nil {
		return
	}
	attrs := []attribute.KeyValue{keyRetryAttempt.Int(m.Attempt), keyRetryDelay.Float64(m.RetryDelayMS)}
	if m.Error != "" {
		attrs = append(attrs, keyErrorType.String(string(m.Error)))
	}
	if m.ErrorStatus != 0 {
		attrs = append(attrs, keyHTTPStatus.Int(m.ErrorStatus))
	}
	s.turn.span.AddEvent("api_retry", trace.WithAttributes(attrs...))
}

// lifecycle takes the end of prompts that get no turn.
func (s *session) lifecycle(m *message.CommandLifecycle) {
	switch m.State {
	case message.CommandCancelled, message.CommandDiscarded:
		s.forget(m.CommandUUID)
	}
}

// result takes the end of a turn.
func (s *session) result(r *message.Result) {
	s.beginTurn()
	t := s.turn
	for _, id := range r.Prompts { // those that were merged into this turn
		i := slices.IndexFunc(s.prompts, func(p *prompt) bool { return p.id == id })
		if i < 0 {
			continue
		}
		if c := trace.SpanContextFromContext(s.prompts[i].ctx); c.IsValid() {
			t.span.AddLink(trace.Link{SpanContext: c})
		}
		s.prompts = slices.Delete(s.prompts, i, i+1)
		t.prompts = append(t.prompts, id)
	}
	before := s.spending.Models
	s.spending.Add(r)
	s.recordResult(r)
	deferred := ""
	if r.DeferredToolUse != nil {
		deferred = r.DeferredToolUse.ID
	}
	for id, call := range s.tools {
		switch {
		case id == deferred:
			s.suspend(id, call)
			s.endTool(id, outcomeDeferred, "")
		case !call.failed.IsZero(): // its callback is about to end
		case s.agents[call.agent] == nil: // the others belong to agents that are still working
			s.endTool(id, outcomeNone, errNoResult)
		}
	}
	s.metrics.result(t.ctx, r, usedSince(before, s.spending.Models, r, t.model), s.spending.TurnUSD, t.model)
	s.endTurn(resultError(r), s.clean(r.Problem()))
}

// recordResult puts the details of a result on the span of its turn.
func (s *session) recordResult(r *message.Result) {
	attrs := []attribute.KeyValue{
		keyInput.Int(inputTokens(mainUsage(r))), keyOutput.Int(r.Usage.OutputTokens),
		keyCacheRead.Int(r.Usage.CacheReadInputTokens), keyCacheCreation.Int(r.Usage.CacheCreationInputTokens),
		keyAgentTurns.Int(r.NumTurns), keyCost.Float64(s.spending.TurnUSD),
	}
	if s.turn.model != "" {
		attrs = append(attrs, keyResponseModel.String(s.turn.model))
	}
	if r.StopReason != "" {
		attrs = append(attrs, keyFinishReasons.StringSlice([]string{r.StopReason}))
	}
	if r.TerminalReason != "" {
		attrs = append(attrs, keyTerminal.String(string(r.TerminalReason)))
	}
	if s.content && r.Text != "" {
		attrs = append(attrs, keyOutputText.String(messages("assistant", s.cut(r.Text))))
	}
	s.turn.span.SetAttributes(attrs...)
}

// resultError names why a turn failed, "" if it did not.
func resultError(r *message.Result) string {
	switch {
	case r.Interrupted():
		return errInterrupted
	case !r.Failed():
		return ""
	case r.APIErrorType != "":
		return r.APIErrorType
	case r.APIError != "":
		return r.APIError
	case r.APIErrorStatus != 0:
		return strconv.Itoa(r.APIErrorStatus)
	case r.Subtype != message.ResultSuccess:
		return r.Subtype
	case r.TerminalReason != "":
		return string(r.TerminalReason)
	}
	return "_OTHER"
}

// endTurn ends the running turn, if any.
func (s *session) endTurn(why, text string) {
	t := s.turn
	if t == nil {
		return
	}
	s.turn, s.turnEnd = nil, time.Now()
	attrs := []attribute.KeyValue{keyOperation.String(opAgent)}
	if t.model != "" {
		attrs = append(attrs, keyRequestModel.String(t.model))
	}
	if why != "" {
		fail(t.span, why, text)
		attrs = append(attrs, keyErrorType.String(why))
	}
	t.span.SetAttributes(keyPrompts.StringSlice(t.prompts))
	t.span.End(trace.WithTimestamp(s.turnEnd))
	s.metrics.operation(t.ctx, t.began, attrs...)
}
