package approval

import (
	"context"
	"errors"
	"maps"

	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/store"
)

// A gate learns from a hook how a call ended. The CLI calls no hook if a turn is
// interrupted while a tool runs, or if something else refuses a call that the gate has
// released. And if the store fails while a person is asked, the call is denied, but the
// question is still there. Then only the transcript shows how it ended.

// SettleRest ends the questions about calls of the main thread whose end the gate has not
// noticed, so that they do not stay in the inbox for good. Call it when a turn has ended.
// outcomes returns how calls have ended, by their tool use ids; it is only called if there
// are such questions, and calls that it does not know are left alone. The question about a
// released call is settled, any other is withdrawn.
//
// A fleet calls it for its conversations.
func (g *Gate) SettleRest(ctx context.Context, outcomes func() (map[string]Outcome, error)) error {
	rest := g.rest()
	if len(rest) == 0 {
		return nil
	}
	ended, err := outcomes()
	if err != nil {
		return err
	}
	for call, q := range rest {
		o := ended[call]
		if o == "" {
			continue
		}
		err := g.inbox.End(ctx, idOf(g.conversation, call), o, g.fence)
		if errors.Is(err, store.ErrNotFound) && q != nil {
			err = g.inbox.bury(ctx, *q, o, g.fence)
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		g.unfollow(call)
	}
	return nil
}

// batch is the hook after all calls of an answer. If no hook has reported that a
// released call ran, something beside the gate denied it: a hook of a settings file,
// which the CLI asks at the same time, or a guard of the input that a person has put
// in. A denial also takes precedence over a deferral; then the turn continues, and its
// other calls may run.
func (g *Gate) batch(ctx context.Context, in *hook.PostToolBatchInput) (*hook.ContextOutput, error) {
	for _, c := range in.ToolCalls {
		if !g.refused(c.ToolUseID) {
			continue
		}
		err := g.inbox.End(ctx, idOf(g.conversation, c.ToolUseID), OutcomeDenied, g.fence)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		g.unfollow(c.ToolUseID)
	}
	return nil, nil
}

// refused reports whether a call that has a result did not run although the gate
// released or deferred it, and forgets that the gate did.
func (g *Gate) refused(toolUseID string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, released := g.allowed[toolUseID]
	delete(g.allowed, toolUseID)
	if deferred := g.deferred == toolUseID; deferred {
		g.deferred = ""
		return true
	}
	return released
}

// rest returns the calls that are not known to have ended. The gate may be about to
// notice the end of some.
func (g *Gate) rest() map[string]*Question {
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.pending)
}

// follow records that the end of a call is of interest. Calls of subagents may run on
// when the turn has ended, and questions of MCP servers are not calls.
func (g *Gate) follow(q *Question) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if q.Agent == "" && q.Tool != ElicitationTool {
		g.pending[q.ToolUseID] = nil
	}
}

// doubt records that the write of a question has failed: it may be stored, or arrive yet.
func (g *Gate) doubt(q *Question) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, followed := g.pending[q.ToolUseID]; followed {
		g.pending[q.ToolUseID] = q
	}
}

// unfollow records that the question about a call is over, or that the call was
// deferred.
func (g *Gate) unfollow(toolUseID string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.pending, toolUseID)
}
