package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/matcher"
	"github.com/claude-agent-go/claude/internal/peer"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// hookSet are the hooks that the client has registered, by event.
type hookSet map[hook.Event][]registered

// registered is one callback of the client.
type registered struct {
	id      string
	match   func(subject string) bool
	timeout time.Duration // 0: none
	block   bool          // a failure blocks
}

// newHookSet reads the hooks of an initialize request. A matcher or a list of
// callbacks of another kind is an error, an unknown event is not.
func newHookSet(request []byte) (hookSet, error) {
	var init struct {
		Hooks map[string][]struct {
			Matcher     any      `json:"matcher"`
			CallbackIDs []string `json:"hookCallbackIds"`
			Timeout     float64  `json:"timeout"`
			OnFailure   string   `json:"onFailure"`
		} `json:"hooks"`
	}
	if err := jsonx.Unmarshal(request, &init); err != nil {
		return nil, fmt.Errorf("invalid hooks: %w", err)
	}
	set := make(hookSet)
	for event, matchers := range init.Hooks {
		for _, m := range matchers {
			pattern, isText := m.Matcher.(string)
			if m.Matcher != nil && !isText {
				return nil, fmt.Errorf("invalid hooks: matcher of %s is not a string", event)
			}
			for _, id := range m.CallbackIDs {
				set[hook.Event(event)] = append(set[hook.Event(event)], registered{
					id: id, match: fitting(pattern), block: m.OnFailure == "block",
					timeout: time.Duration(m.Timeout * float64(time.Second)),
				})
			}
		}
	}
	return set, nil
}

// fitting is the CLI's rule for matchers. One that cannot be read fits nothing.
// One that only JavaScript can read fits everything: a guard that is called too
// often does no harm.
func fitting(pattern string) func(string) bool {
	fits, err := matcher.Compile(pattern)
	if err != nil {
		foreign := errors.Is(err, matcher.ErrForeign)
		return func(string) bool { return foreign }
	}
	return fits
}

// matching returns the callbacks for an event. An event without a subject, such as
// Stop, is for all of them, whatever their matchers say.
func (s *session) matching(event hook.Event, subject string) []registered {
	if info, known := event.Info(); known && info.Subject == "" {
		subject = ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []registered
	for _, r := range s.hooks[event] {
		if subject == "" || r.match(subject) {
			found = append(found, r)
		}
	}
	return found
}

func (s *session) listens(event hook.Event, subject string) bool {
	return len(s.matching(event, subject)) > 0
}

// HookOutcome is the combined answer of the client's hooks to an event.
type HookOutcome struct {
	// Blocked reports whether a hook objects; Reason is its reason.
	Blocked bool
	Reason  string
	// Stopped reports whether a hook wants the run to end; StopReason is its
	// reason.
	Stopped    bool
	StopReason string
	// Decision is the strictest decision: deny before defer, ask and allow.
	Decision       hook.PermissionDecision
	DecisionReason string
	// Permission is the decision of a PermissionRequest hook.
	Permission permission.Decision
	// UpdatedInput and UpdatedOutput replace those of a tool; nil: unchanged.
	UpdatedInput, UpdatedOutput json.RawMessage
	// Context holds texts that the model should read.
	Context []string

	closed  string // why the event may not continue: a gate that did not answer
	denied  bool   // and that counts as a denial
	notices []message.Message
}

func (o *HookOutcome) reason() string {
	if o.DecisionReason != "" {
		return o.DecisionReason
	}
	return o.Reason
}

// hookCall is an event as it goes to the hooks.
type hookCall struct {
	event     hook.Event
	subject   string // what matchers are compared with
	toolUseID string // empty: made up, as the CLI does
	extra     any    // encodes as the members that the event adds
}

// Fire calls the client's hooks for an event and passes their messages on to the
// client. Matchers are compared with the subject, which is the tool's name for
// tool events; without a subject, matchers are ignored. The input encodes as an
// object with the members that the event adds to those of all events.
//
// Blocked is set if a hook did not answer in time at an event where the CLI
// does not continue without it, or if its answer is about another event.
func (t *Turn) Fire(ctx context.Context, event hook.Event, subject string, input any) (HookOutcome, error) {
	out, err := t.fireAndEmit(ctx, hookCall{event: event, subject: subject, extra: input})
	if out.closed != "" {
		out.Blocked, out.Reason = true, out.closed
	}
	return out, err
}

func (t *Turn) fireAndEmit(ctx context.Context, c hookCall) (HookOutcome, error) {
	out, err := t.s.fire(ctx, t, c)
	for _, n := range out.notices {
		_ = t.s.emit(n)
	}
	return out, err
}

// fire calls the hooks, all at once but in their order, and puts their answers together. The
// error means that the context has ended, or that the input cannot be encoded.
func (s *session) fire(ctx context.Context, t *Turn, c hookCall) (HookOutcome, error) {
	var out HookOutcome
	callbacks := s.matching(c.event, c.subject)
	if len(callbacks) == 0 {
		return out, nil
	}
	input, err := s.hookInput(t, c)
	if err != nil {
		return out, err
	}
	if c.toolUseID == "" {
		c.toolUseID = uuid.New()
	}
	replies := make([]hookReply, len(callbacks))
	var all sync.WaitGroup
	for i, cb := range callbacks {
		written := make(chan struct{})
		next := sync.OnceFunc(func() { close(written) })
		all.Go(func() {
			defer next()
			replies[i] = s.callHook(ctx, cb, c, input, next)
		})
		<-written
	}
	all.Wait()
	if ctx.Err() != nil {
		return out, context.Cause(ctx)
	}
	for _, r := range replies {
		r.merge(c.event, &out)
	}
	return out, nil
}

// hookInput is the input of an event: what all have, then what it adds.
func (s *session) hookInput(t *Turn, c hookCall) (json.RawMessage, error) {
	base := hook.Base{
		SessionID: s.sessionID(), Cwd: s.opts.Cwd, PromptID: t.id,
		PermissionMode: s.permissionMode(), HookEventName: c.event,
		AgentID: t.Subagent().ID, AgentType: t.Subagent().Type,
	}
	if t.repeating.Load() {
		base.PromptID = ""
	}
	if c.event == hook.EventSubagentStart {
		base.PermissionMode = "" // the CLI does not say it here
	}
	head, err := jsonx.Marshal(base)
	if err != nil {
		return nil, err
	}
	if c.extra == nil {
		return head, nil
	}
	tail, err := jsonx.Marshal(c.extra)
	if err != nil {
		return nil, fmt.Errorf("host: input of %s: %w", c.event, err)
	}
	if len(tail) < 3 || tail[0] != '{' {
		return head, nil
	}
	return append(append(bytes.TrimSuffix(head, []byte("}")), ','), tail[1:]...), nil
}

// callHook asks one callback, and calls written when the request is.
func (s *session) callHook(ctx context.Context, cb registered, c hookCall, input json.RawMessage, written func()) hookReply {
	r := hookReply{id: cb.id, block: cb.block}
	payload, err := s.call(ctx, peer.Call{
		Subtype: "hook_callback", Timeout: cb.timeout, OnWritten: written, AwaitCancelNotice: true, // the turn continues when the client knows
		Payload: struct {
			ID        string          `json:"callback_id"`
			Input     json.RawMessage `json:"input"`
			ToolUseID string          `json:"tool_use_id"`
		}{cb.id, input, c.toolUseID},
	})
	_, refused := errors.AsType[*peer.RefusedError](err)
	switch {
	case refused:
		r.invalid = true
	case err != nil: // too late, or never asked: no consent
		r.silent = true
	default:
		r.read(c.event, payload)
	}
	return r
}
