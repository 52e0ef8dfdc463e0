package claude

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/matcher"
	"github.com/claude-agent-go/claude/internal/peer"
)

// The CLI asks all hooks of an event at the same moment, waits for all of them,
// and withdraws none when one denies. Of two PreToolUse hooks, one could change
// an input into something the other has never seen, and a person could be asked
// about a call that a guard denies. So the session registers several hooks as a
// single callback and asks them itself, one after the other.

// chain holds the PreToolUse hooks of a session in the order in which they are
// asked, if there are several.
type chain struct {
	id       string // of the callback that asks them
	links    []link
	matchers map[string]hook.Hook // callbacks of matchers, if they differ, with how they fail
	again    bool                 // an input may be changed after guards have judged it
}

// link is a hook of a chain.
type link struct {
	hook hook.Hook
	id   string // of its matcher's callback, "" if the callback of the chain is enough
}

// maxLooks bounds how often a hook is asked about one call. Hooks that still
// change the input after that disagree, and the call is denied.
const maxLooks = 4

// noLimit is how long the CLI waits for a chain in which a hook has no timeout.
const noLimit = 24 * time.Hour

// chainID is the callback of a chain whose matchers differ.
const chainID = "hook_chain"

// joinHooks registers the PreToolUse hooks: several hooks, or a guard that may
// have to look again, as a chain; a single hook as itself.
func (p *plan) joinHooks(o *Options) {
	again := changesLater(o) && slices.ContainsFunc(p.before, func(r registration) bool { return r.hook.Stage == hook.StageGuard })
	switch {
	case len(p.before) == 0:
		return
	case len(p.before) == 1 && !again:
		h := p.before[0]
		p.register(h.id, h.hook, h.blocks)
		return
	}
	first := p.before[0]
	c := &chain{id: first.id, again: again}
	entry, limit, blocks := hook.Hook{Event: hook.EventPreToolUse, Matcher: first.hook.Matcher}, time.Duration(0), false
	for _, r := range p.before {
		if blocks = blocks || r.blocks; limit < noLimit {
			if t := hookTimeout(o, r.hook); t > 0 {
				limit += maxLooks * t
			} else {
				limit = noLimit
			}
		}
	}
	entry.Timeout = min(limit, noLimit)
	if slices.ContainsFunc(p.before, func(r registration) bool { return r.hook.Matcher != first.hook.Matcher }) {
		c.id, entry.Matcher = chainID, ""
		p.registerMatchers(o, c, entry.Timeout)
	} else {
		for _, r := range p.before {
			c.links = append(c.links, link{hook: r.hook})
		}
	}
	slices.SortStableFunc(c.links, func(a, b link) int { return cmp.Compare(a.hook.Stage, b.hook.Stage) })
	p.chain = c
	p.register(c.id, entry, blocks) // the last one
}

// changesLater reports whether something may change the input of a call after its
// PreToolUse hooks.
func changesLater(o *Options) bool {
	return o.CanUseTool != nil || slices.ContainsFunc(o.Hooks, func(h hook.Hook) bool { return h.Event == hook.EventPermissionRequest })
}

// hookTimeout returns how long a hook may take; without limit if 0 or negative.
func hookTimeout(o *Options, h hook.Hook) time.Duration {
	return cmp.Or(h.Timeout, o.Timeouts.callback())
}

// chainCall is a call of the hooks of a chain about one tool call.
type chainCall struct {
	callback callback
	by       *callbacks
	in       *peer.Incoming
	body     hookBody
	unread   error
	round    *round // which matchers fit; nil: all that are needed are here

	input   json.RawMessage // of the tool, as the hooks have left it
	version int             // how often it was changed
	looks   []look          // of each link
}

// look is the last answer of a hook about a call.
type look struct {
	answer  hookAnswer
	asked   bool
	version int  // of the input that it saw, or made
	changed bool // it has changed the input
}

func (r *callbacks) chainCallback(in *peer.Incoming, body hookBody, unread error) *callback {
	c := &chainCall{by: r, in: in, body: body, unread: unread, looks: make([]look, len(r.plan.chain.links))}
	c.round, c.input = r.roll.take(in.ID), jsonx.Member(body.Input, "tool_input")
	c.callback = callback{call: c, name: string(hook.EventPreToolUse), toolUse: body.ToolUseID, chained: true}
	return &c.callback
}

func (r *callbacks) matcherCallback(in *peer.Incoming, h hook.Hook, unread error) *callback {
	c := &matcherCall{by: r, hook: h, round: r.roll.take(in.ID), unread: unread}
	c.callback = callback{call: c, name: string(hook.EventPreToolUse), timeout: rollPatience, chained: true}
	return &c.callback
}

// run asks the hooks stage by stage.
func (c *chainCall) run(ctx context.Context) (json.RawMessage, error) {
	if c.unread != nil {
		return nil, unreadable(c.unread)
	}
	if err := jsonx.Unambiguous(c.body.Input); err != nil {
		return nil, unreadable(err) // it is taken apart here, and by each hook
	}
	if c.round != nil && c.round.twice {
		return nil, errTwice // the guards would see only one of two inputs
	}
	c.remember()
	for stage := hook.StageHook; stage <= hook.StageRelease; stage++ {
		err := c.askAll(ctx, func(i int, h *hook.Hook) bool { return h.Stage == stage && !c.looks[i].asked })
		if err == nil && (stage == hook.StageGuard || stage == hook.StageGate) && c.decision() != hook.PermissionDeny {
			err = c.askAgain(ctx, stage == hook.StageGate)
		}
		if err != nil {
			return nil, err
		}
		switch d := c.decision(); {
		case d == hook.PermissionDeny, d == hook.PermissionDefer && stage >= hook.StageGuard:
			return c.reply(ctx)
		}
	}
	return c.reply(ctx)
}

// askAll asks the selected hooks that fit the tool, in their order.
func (c *chainCall) askAll(ctx context.Context, selected func(i int, h *hook.Hook) bool) error {
	for i := range c.by.plan.chain.links {
		l := &c.by.plan.chain.links[i]
		if !c.fits(l) || !selected(i, &l.hook) {
			continue
		}
		if err := c.ask(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// askAgain asks the hooks and guards that have not seen the current input, until
// all have. After the gate, where people have agreed to the input, it can no
// longer change.
func (c *chainCall) askAgain(ctx context.Context, settled bool) error {
	for range maxLooks - 1 {
		stale := func(i int, h *hook.Hook) bool {
			l := &c.looks[i]
			return h.Stage <= hook.StageGuard && l.asked && l.version != c.version && (h.Stage == hook.StageGuard || !l.changed)
		}
		before, any := c.version, false
		err := c.askAll(ctx, func(i int, h *hook.Hook) bool {
			again := stale(i, h)
			any = any || again
			return again
		})
		switch {
		case err != nil || !any || c.decision() == hook.PermissionDeny:
			return err
		case settled && c.version != before:
			c.deny("The input of this call was changed after it was decided about.")
			return nil
		}
	}
	c.deny("The hooks of this call do not agree on its input.")
	return nil
}

// deny denies the call in the name of the chain itself.
func (c *chainCall) deny(reason string) {
	c.looks = append(c.looks, look{asked: true, answer: hookAnswer{decision: hook.PermissionDeny, reason: reason}})
}

// ask asks one hook about the current input. An error means that the answers
// are no longer awaited.
func (c *chainCall) ask(ctx context.Context, i int) error {
	l := &c.by.plan.chain.links[i]
	raw, err := c.inputFor(l)
	if err != nil {
		return err
	}
	answer := c.by.askHook(ctx, c.in, c.callback.name, c.body.ToolUseID, l.hook, raw)
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	said := &c.looks[i]
	answer.keep(&said.answer)
	*said = look{answer: answer, asked: true, version: c.version, changed: said.changed}
	if answer.input == nil || sameJSON(answer.input, c.input) {
		return nil
	}
	switch {
	case l.hook.Stage == hook.StageRelease:
		c.deny("A hook has changed the input of this call when it was decided already.")
		return nil
	case c.severalForms():
		c.deny("A hook has changed the input of this call, which other hooks see as that of another tool.")
		return nil
	}
	c.version++
	c.input, said.version, said.changed = answer.input, c.version, true
	return nil
}

// fits reports whether a hook is asked about the call. In doubt, it is.
func (c *chainCall) fits(l *link) bool {
	return l.id == "" || c.body.ToolUseID == "" || c.round.has(l.id)
}

// inputFor returns the input of the next hook, in the form in which the CLI
// sends it to its matcher.
func (c *chainCall) inputFor(l *link) (json.RawMessage, error) {
	input := c.body.Input
	if c.round.has(l.id) {
		input = c.round.called[l.id]
	}
	if c.version == 0 {
		return input, nil
	}
	return withMember(input, "tool_input", c.input)
}

// severalForms reports whether the CLI shows the call to some hooks as one of another
// tool, with another input. Only the CLI can translate a change between them.
func (c *chainCall) severalForms() bool {
	if c.round == nil {
		return false
	}
	plain := jsonx.Member(c.body.Input, "tool_input")
	for _, input := range c.round.called {
		if !sameJSON(jsonx.Member(input, "tool_input"), plain) {
			return true
		}
	}
	return false
}

// askHook runs a hook for a request and returns its answer, or the meaning of its
// failure.
func (r *callbacks) askHook(ctx context.Context, in *peer.Incoming, name, toolUse string, h hook.Hook, input json.RawMessage) hookAnswer {
	t := TraceCallback{Subtype: in.Subtype, Name: name, RequestID: in.ID.String(), ToolUseID: toolUse}
	r.trace.callbackStarted(t)
	begin := time.Now()
	reply, err := r.callHook(r.trace.context(ctx, t), t, h, input)
	var answer hookAnswer
	if err == nil {
		if answer, err = readAnswer(reply); err == nil {
			err = r.rewrites(ctx, reply)
		}
	}
	if t.Err, t.Duration = err, time.Since(begin); err == nil {
		t.Reply = reply
	}
	r.trace.callbackDone(t)
	if err == nil {
		r.log.Debug("callback done", "subtype", t.Subtype, "name", t.Name, "request_id", t.RequestID, "duration", t.Duration)
		return answer
	}
	level := slog.LevelWarn
	if ctx.Err() != nil {
		level = slog.LevelDebug // withdrawn or closed
	}
	r.log.Log(ctx, level, "callback failed", "subtype", t.Subtype, "name", t.Name, "request_id", t.RequestID, "error", err)
	answer, _ = readAnswer(r.hookFailure(h, err)) // our own, so it can be read
	return answer
}

// callHook runs the function of a hook in a goroutine of its own, because it may
// ignore its timeout, panic, or end its goroutine.
func (r *callbacks) callHook(ctx context.Context, t TraceCallback, h hook.Hook, input json.RawMessage) (json.RawMessage, error) {
	if limit := hookTimeout(r.opts, h); limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, fmt.Errorf("the callback %w after %v", ErrTimeout, limit))
		defer cancel()
	}
	type result struct {
		reply json.RawMessage
		err   error
	}
	done := make(chan result, 1)
	go func() {
		got := result{err: errGoexit} // unless the hook returns or panics
		defer func() {
			if v := recover(); v != nil {
				r.log.Error("panic in a callback", "subtype", t.Subtype, "name", t.Name, "panic", v, "stack", string(debug.Stack()))
				got = result{err: &panicError{v}}
			}
			done <- got
		}()
		out, err := h.Func(ctx, input, t.ToolUseID)
		if err != nil {
			got = result{err: &returnedError{err}}
			return
		}
		reply, err := hook.Encode(out)
		got = result{reply, err}
	}()
	select {
	case got := <-done:
		if cause := context.Cause(ctx); errors.Is(cause, ErrTimeout) {
			return nil, cause // whatever it returned, it came too late
		}
		return got.reply, got.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// decision returns the strictest decision so far.
func (c *chainCall) decision() hook.PermissionDecision {
	var strictest hook.PermissionDecision
	for i := range c.looks {
		if d := c.looks[i].answer.decision; stricter(d, strictest) {
			strictest = d
		}
	}
	return strictest
}

// reply combines the answers.
func (c *chainCall) reply(ctx context.Context) (json.RawMessage, error) {
	var all hookAnswer
	for i := range c.looks {
		all.add(&c.looks[i].answer)
	}
	if all.input = nil; c.version > 0 && all.decision != hook.PermissionDeny && all.decision != hook.PermissionDefer {
		all.input = c.input
	}
	reply, err := all.encode()
	if err == nil {
		err = c.by.rewrites(ctx, reply)
	}
	return reply, err
}

// fail returns the reply for hooks that could not be asked at all: that of the
// strictest hook that fits.
func (c *chainCall) fail(err error) json.RawMessage {
	if lacks(err) {
		return nil
	}
	var hooks []hook.Hook
	for _, l := range c.by.plan.chain.links {
		if c.unread != nil || c.fits(&l) {
			hooks = append(hooks, l.hook)
		}
	}
	return c.by.hookFailure(c.by.opts.strictest(hooks, hook.EventPreToolUse), err)
}

// registerMatchers registers a callback for each matcher of a chain.
func (p *plan) registerMatchers(o *Options, c *chain, limit time.Duration) {
	c.matchers = make(map[string]hook.Hook)
	ids, hooks := make(map[string]string), make(map[string][]hook.Hook)
	var order []string
	for _, r := range p.before {
		l := link{hook: r.hook}
		if m := r.hook.Matcher; !matcher.All(m) {
			if ids[m] == "" {
				ids[m] = r.id
				order = append(order, m)
			}
			l.id, hooks[m] = ids[m], append(hooks[m], r.hook)
		}
		c.links = append(c.links, l)
	}
	for _, m := range order {
		h := o.strictest(hooks[m], hook.EventPreToolUse)
		c.matchers[ids[m]] = h
		p.register(ids[m], hook.Hook{Event: hook.EventPreToolUse, Matcher: m, Timeout: limit}, o.blocks(h))
	}
}
