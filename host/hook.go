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

// hooks are the callbacks of the client, and the door to it.
type hooks struct {
	call func(ctx context.Context, c peer.Call) (json.RawMessage, error)

	mu  sync.Mutex
	set hookSet
}

func (h *hooks) replace(set hookSet) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.set = set
}

// matching returns the callbacks for an event. An event without a subject, such as
// Stop, is for all of them, whatever their matchers say.
func (h *hooks) matching(event hook.Event, subject string) []registered {
	if info, known := event.Info(); known && info.Subject == "" {
		subject = ""
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	var found []registered
	for _, r := range h.set[event] {
		if subject == "" || r.match(subject) {
			found = append(found, r)
		}
	}
	return found
}

func (h *hooks) listens(event hook.Event, subject string) bool {
	return len(h.matching(event, subject)) > 0
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

// fire calls the hooks, all at once but in their order, and puts their answers together. The
// error means that the context has ended, or that the input cannot be encoded.
func (h *hooks) fire(ctx context.Context, base hook.Base, c hookCall) (HookOutcome, error) {
	var out HookOutcome
	callbacks := h.matching(c.event, c.subject)
	if len(callbacks) == 0 {
		return out, nil
	}
	input, err := c.input(base)
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
			replies[i] = h.ask(ctx, cb, c, input, next)
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

// input is the input of an event: what all have, then what it adds.
func (c hookCall) input(base hook.Base) (json.RawMessage, error) {
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

// ask asks one callback, and calls written when the request is.
func (h *hooks) ask(ctx context.Context, cb registered, c hookCall, input json.RawMessage, written func()) hookReply {
	r := hookReply{id: cb.id, block: cb.block}
	payload, err := h.call(ctx, peer.Call{
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
