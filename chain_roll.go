package claude

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/wire"
)

// Only the CLI knows which tools a matcher fits: it has former names and aliases of
// tools, and shows a hook of Bash what Monitor runs. So a chain whose matchers differ
// registers a callback for each matcher, and behind them one for all tools, which
// asks the hooks. The CLI sends the requests of a call at once, in the order in which
// the callbacks were registered (1.0.128 to 2.1.325): the requests that came before
// the last one belong to the matchers that fit.
//
// If the CLI ever changed that order, the call must not run. So the request of a matcher
// is answered only after the request of the chain has followed it. A matcher that comes
// too late waits for the next chain in vain, and its failure denies the call.

// rollPatience is how long the request of a matcher waits for that of the chain.
const rollPatience = time.Minute

// roll records which matchers fit a call. The zero value is ready.
type roll struct {
	mu    sync.Mutex
	open  map[string]*round  // by tool use, until the request of the chain comes
	taken map[wire.ID]*round // by request, until it is handled
}

// round holds the requests of matchers about one call. It is complete, and no
// longer changes, once no more can come.
type round struct {
	toolUse  string
	called   map[string]json.RawMessage // the inputs of hooks, by callback
	twice    bool                       // a matcher came twice: for which call is unknown
	complete chan struct{}
}

// has reports whether a matcher's callback was called.
func (r *round) has(id string) bool {
	if r == nil || id == "" {
		return false
	}
	_, ok := r.called[id]
	return ok
}

// accept sees the requests of hooks in the order of arrival. It reports whether a
// request belongs to a matcher.
func (r *roll) accept(c *chain, req wire.Request) bool {
	if c == nil || c.matchers == nil {
		return false
	}
	var body hookBody
	if body.decode(req.Body) != nil {
		return false // it is refused when it is handled
	}
	_, matched := c.matchers[body.CallbackID]
	if body.ToolUseID == "" || !matched && body.CallbackID != c.id {
		return matched
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open == nil {
		r.open, r.taken = make(map[string]*round), make(map[wire.ID]*round)
	}
	now := r.open[body.ToolUseID]
	switch {
	case now == nil && !matched:
		return false
	case now == nil:
		now = &round{toolUse: body.ToolUseID, called: make(map[string]json.RawMessage), complete: make(chan struct{})}
		r.open[body.ToolUseID] = now
	case !matched:
		delete(r.open, body.ToolUseID)
		close(now.complete)
	}
	r.taken[req.ID] = now
	if matched {
		now.twice = now.twice || now.has(body.CallbackID)
		now.called[body.CallbackID] = body.Input
	}
	return matched
}

// take returns the round of a request, nil if no matcher fits. The handler of
// the request calls it.
func (r *roll) take(id wire.ID) *round {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.taken[id]
	delete(r.taken, id)
	return now
}

// drop forgets a round that will never be completed.
func (r *roll) drop(now *round) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open[now.toolUse] == now {
		delete(r.open, now.toolUse)
	}
}

// Reasons for the request of a matcher to fail.
var (
	errNoToolUse = errors.New("the request names no tool use")
	errTwice     = errors.New("the CLI has asked twice about one tool use")
)

// matcherCall answers the request of a matcher.
type matcherCall struct {
	callback callback
	by       *callbacks
	hook     hook.Hook // how it fails
	round    *round
	unread   error
}

func (c *matcherCall) run(ctx context.Context) (json.RawMessage, error) {
	switch {
	case c.round == nil && c.unread != nil:
		return nil, unreadable(c.unread)
	case c.round == nil:
		return nil, errNoToolUse
	}
	// It waits even if it cannot be read: the round must outlive the asking of
	// its hooks, and must not be kept if they are never asked.
	select {
	case <-c.round.complete:
	case <-ctx.Done():
		c.by.roll.drop(c.round)
		return nil, context.Cause(ctx)
	}
	switch {
	case c.unread != nil:
		return nil, unreadable(c.unread)
	case c.round.twice:
		return nil, errTwice
	}
	return json.RawMessage(noOpinion), nil
}

func (c *matcherCall) fail(err error) json.RawMessage {
	if lacks(err) {
		return nil
	}
	return c.by.hookFailure(c.hook, err)
}
