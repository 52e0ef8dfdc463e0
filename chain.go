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
	"strings"
	"time"

	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/matcher"
	"github.com/claude-agent-go/claude/internal/peer"
)

// The CLI asks all hooks of an event at the same moment, waits for all of them,
// and withdraws none when one denies. Of two PreToolUse hooks, one could change
// an input to something that the other has not seen, and a person could be asked
// about a call that a guard denies. So several of them are one callback to the
// CLI, and are asked here, one after the other.

// chain are the PreToolUse hooks of a session in the order in which they are
// asked, if there are several.
type chain struct {
	id      string // of the callback
	links   []link
	mixed   bool              // their matchers differ, so the CLI compares none
	aliases map[string]string // Options.ToolAliases
}

// link is a hook of a chain.
type link struct {
	hook hook.Hook
	fits func(tool string) bool
}

// maxLooks is how often a hook of a call is asked at most. Hooks that still
// change the input then do not agree, and the call is denied.
const maxLooks = 4

// noLimit is how long the CLI waits for a chain in which a hook has no timeout.
const noLimit = 24 * time.Hour

// joinHooks registers the PreToolUse hooks: one as it is, several as a chain.
// Matchers that cannot be compared here have been refused.
func (p *plan) joinHooks(o *Options) {
	switch len(p.before) {
	case 0:
		return
	case 1:
		h := p.before[0]
		p.register(h.id, h.hook, h.blocks)
		return
	}
	c := &chain{id: p.before[0].id, aliases: o.ToolAliases}
	entry, limit := hook.Hook{Event: hook.EventPreToolUse, Matcher: p.before[0].hook.Matcher}, time.Duration(0)
	blocks := false
	for _, r := range p.before {
		fits, err := matcher.Compile(r.hook.Matcher)
		if err != nil {
			fits = func(string) bool { return true }
		}
		c.links = append(c.links, link{r.hook, fits})
		if r.hook.Matcher != entry.Matcher {
			entry.Matcher, c.mixed = "", true
		}
		if blocks = blocks || r.blocks; limit < noLimit {
			if t := o.hookTimeout(r.hook); t > 0 {
				limit += maxLooks * t
			} else {
				limit = noLimit
			}
		}
	}
	slices.SortStableFunc(c.links, func(a, b link) int { return cmp.Compare(a.hook.Stage, b.hook.Stage) })
	entry.Timeout = min(limit, noLimit)
	p.chain = c
	p.register(c.id, entry, blocks)
}

// hookTimeout is how long a hook may take; 0 or less: as long as it likes.
func (o *Options) hookTimeout(h hook.Hook) time.Duration {
	return cmp.Or(h.Timeout, o.Timeouts.callback())
}

// chainCall is a call of the hooks of a chain about one tool call.
type chainCall struct {
	callback callback
	session  *Session
	in       *peer.Incoming
	body     hookBody
	unread   error
	tool     string

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

func (s *Session) chainCallback(in *peer.Incoming, body hookBody, unread error) *callback {
	c := &chainCall{session: s, in: in, body: body, unread: unread, looks: make([]look, len(s.plan.chain.links))}
	c.tool, c.input = jsonx.Text(jsonx.Member(body.Input, "tool_name")), jsonx.Member(body.Input, "tool_input")
	c.callback = callback{call: c, name: string(hook.EventPreToolUse), toolUse: body.ToolUseID, chained: true}
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

// askAll asks the hooks that are selected and fit the tool, in their order.
func (c *chainCall) askAll(ctx context.Context, selected func(i int, h *hook.Hook) bool) error {
	for i := range c.session.plan.chain.links {
		l := &c.session.plan.chain.links[i]
		if _, fits := c.fits(l); !fits || !selected(i, &l.hook) {
			continue
		}
		if err := c.ask(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// askAgain asks hooks and guards that have not seen the input as it is now, until
// all have. After the gate, when people have agreed to it, it can no longer be
// changed.
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

// deny lets the chain itself deny the call.
func (c *chainCall) deny(reason string) {
	c.looks = append(c.looks, look{asked: true, answer: hookAnswer{decision: hook.PermissionDeny, reason: reason}})
}

// ask asks one hook about the input as it is now. The error means that nobody
// waits for the answers any longer.
func (c *chainCall) ask(ctx context.Context, i int) error {
	l := &c.session.plan.chain.links[i]
	raw, err := c.inputFor(l)
	if err != nil {
		return err
	}
	answer := c.look(ctx, l.hook, raw)
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	said := &c.looks[i]
	answer.keep(&said.answer)
	*said = look{answer: answer, asked: true, version: c.version, changed: said.changed}
	if answer.input == nil || sameJSON(answer.input, c.input) {
		return nil
	}
	if l.hook.Stage == hook.StageRelease {
		c.deny("A hook has changed the input of this call when it was decided already.")
		return nil
	}
	c.version++
	c.input, said.version, said.changed = answer.input, c.version, true
	return nil
}

// fits reports whether a hook is asked about the call, and by which name of the tool. The
// CLI knows more names of a tool than the one it sends: if it was left to compare, or
// sends none, the hook is asked.
func (c *chainCall) fits(l *link) (name string, ok bool) {
	ch := c.session.plan.chain
	if c.tool == "" || !ch.mixed || l.fits(c.tool) {
		return c.tool, true
	}
	for _, name := range alsoNamed(c.tool, ch.aliases) {
		if l.fits(name) {
			return name, true
		}
	}
	return "", false
}

// alsoNamed are the names for which the CLI takes a tool besides its own: Monitor runs a
// command as Bash does, the parts of Artifact go by either name, and an alias stands for
// another tool. Measured on 2.1.325; the CLI distinguishes the parts of Artifact by their input,
// so a hook may be asked here where the CLI would not ask it.
func alsoNamed(tool string, aliases map[string]string) (names []string) {
	switch {
	case tool == "Monitor":
		names = append(names, "Bash")
	case strings.HasPrefix(tool, "Artifact"):
		names = append(names, "Artifact", "ArtifactComments", "ArtifactData", "ArtifactCheck")
	}
	for from, to := range aliases {
		switch tool {
		case from:
			names = append(names, to)
		case to:
			names = append(names, from)
		}
	}
	return names
}

// inputFor is the input of the next hook. One that is asked about Monitor because it
// guards Bash reads the name that it guards, as from the CLI.
func (c *chainCall) inputFor(l *link) (json.RawMessage, error) {
	input := c.body.Input
	if name, _ := c.fits(l); c.tool == "Monitor" && name == "Bash" {
		var err error
		if input, err = withMember(input, "tool_name", json.RawMessage(`"Bash"`)); err != nil {
			return nil, err
		}
	}
	if c.version == 0 {
		return input, nil
	}
	return withMember(input, "tool_input", c.input)
}

// look runs a hook, and returns its answer or what its failure means.
func (c *chainCall) look(ctx context.Context, h hook.Hook, input json.RawMessage) hookAnswer {
	s := c.session
	t := TraceCallback{Subtype: c.in.Subtype, Name: c.callback.name, RequestID: c.in.ID.String(), ToolUseID: c.body.ToolUseID}
	s.trace.callbackStarted(t)
	begin := time.Now()
	reply, err := c.call(s.trace.context(ctx, t), h, input)
	var answer hookAnswer
	if err == nil {
		if answer, err = readAnswer(reply); err == nil {
			err = s.checkRewrite(ctx, reply)
		}
	}
	if t.Err, t.Duration = err, time.Since(begin); err == nil {
		t.Reply = reply
	}
	s.trace.callbackDone(t)
	if err == nil {
		s.log.Debug("callback done", "subtype", t.Subtype, "name", t.Name, "request_id", t.RequestID, "duration", t.Duration)
		return answer
	}
	level := slog.LevelWarn
	if ctx.Err() != nil {
		level = slog.LevelDebug // withdrawn or closed
	}
	s.log.Log(ctx, level, "callback failed", "subtype", t.Subtype, "name", t.Name, "request_id", t.RequestID, "error", err)
	answer, _ = readAnswer(s.hookFailure(h, err)) // it is our own
	return answer
}

// call runs the function of a hook in a goroutine of its own, because it may
// ignore its timeout, panic, or end its goroutine.
func (c *chainCall) call(ctx context.Context, h hook.Hook, input json.RawMessage) (json.RawMessage, error) {
	if limit := c.session.opts.hookTimeout(h); limit > 0 {
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
		r := result{err: errGoexit} // unless the hook returns or panics
		defer func() {
			if v := recover(); v != nil {
				c.session.log.Error("panic in a callback", "subtype", c.in.Subtype, "name", c.callback.name, "panic", v, "stack", string(debug.Stack()))
				r = result{err: &panicError{v}}
			}
			done <- r
		}()
		out, err := h.Func(ctx, input, c.body.ToolUseID)
		if err != nil {
			r = result{err: &returnedError{err}}
			return
		}
		reply, err := hook.Encode(out)
		r = result{reply, err}
	}()
	select {
	case r := <-done:
		if cause := context.Cause(ctx); errors.Is(cause, ErrTimeout) {
			return nil, cause // whatever it says now, it is too late
		}
		return r.reply, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// decision is the strictest decision so far.
func (c *chainCall) decision() hook.PermissionDecision {
	var strictest hook.PermissionDecision
	for i := range c.looks {
		if d := c.looks[i].answer.decision; stricter(d, strictest) {
			strictest = d
		}
	}
	return strictest
}

// reply puts the answers together.
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
		err = c.session.checkRewrite(ctx, reply)
	}
	return reply, err
}

// fail is the reply when the hooks could not be asked at all: that of the
// strictest of those that fit.
func (c *chainCall) fail(err error) json.RawMessage {
	if lacks(err) {
		return nil
	}
	var hooks []hook.Hook
	for _, l := range c.session.plan.chain.links {
		if _, fits := c.fits(&l); c.unread != nil || fits {
			hooks = append(hooks, l.hook)
		}
	}
	return c.session.hookFailure(c.session.opts.strictest(hooks, hook.EventPreToolUse), err)
}
