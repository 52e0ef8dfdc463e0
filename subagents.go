package claude

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/transcript"
)

// SubagentLimits limit the agents that Claude starts. The zero value leaves them
// to the CLI, which has limits of its own: 2.1.325 runs 20 at once, 3 deep, and
// any number in all. A call of the tool Agent beyond a limit is refused, and the
// model reads the reason. To forbid agents altogether, put "Agent" and "Task"
// into Options.DisallowedTools.
//
// AtOnce and Depth become variables of the CLI. Where the CLI may be too old to
// know them, a PreToolUse hook counts instead; it refuses when it is in doubt
// which of two agents began. Total is always counted by the hook. An agent that
// starts without the tool, such as one that a skill runs in, is not refused and
// counts only from the next start of the session.
type SubagentLimits struct {
	// AtOnce is how many may run at the same time. 0: the CLI decides.
	AtOnce int
	// Depth is how deep they may nest: 1 lets agents start no agents. 0: the CLI
	// decides.
	Depth int
	// Total is how many may be started in all, those of agents included. It also
	// counts what a session that is resumed from Options.Store has started before;
	// one that the CLI resumes from its own files begins at Started. 0: no limit.
	Total int
	// Started is how many were started already, for example by another session of
	// the same work. They count towards Total.
	Started int
}

// sinceAgentLimits is when the CLI learnt to limit agents by itself.
var sinceAgentLimits = since{"2.1.0", newest}

// agentTools are the names of the tool that starts agents, today's and that of old
// CLIs, as a matcher of hooks.
const agentTools = "Agent|Task"

// registerAgentLimits adds the hooks that count agents. Several rows of the table of
// options ask for it.
func registerAgentLimits(o *Options, p *plan) {
	if limits := o.Subagents; p.agents != nil || limits.AtOnce == 0 && limits.Depth == 0 && limits.Total == 0 {
		return
	}
	c := &agentCounter{limits: o.Subagents}
	p.agents = c
	p.addHook(registration{"agents", hook.PreToolUse(agentTools, c.begins).FailClosed().At(hook.StageRelease), true})
	if slices.ContainsFunc(o.Hooks, func(h hook.Hook) bool { return h.Stage == hook.StageGate }) {
		p.addHook(registration{"agents_early", hook.PreToolUse(agentTools, c.mayBegin).FailClosed().At(hook.StageGuard), true}) // people need not be asked for nothing
	}
	p.addHook(registration{"agents_start", hook.SubagentStart("", func(_ context.Context, in *hook.SubagentStartInput) (*hook.ContextOutput, error) {
		c.began(in.AgentID, in.AgentType)
		return nil, nil
	}).FailOpen(), false})
	p.addHook(registration{"agents_stop", hook.SubagentStop("", func(_ context.Context, in *hook.SubagentStopInput) (*hook.StopOutput, error) {
		c.ended(in.AgentID)
		return nil, nil
	}).FailOpen(), false})
	p.addHook(registration{"agents_turn", hook.Stop(func(context.Context, *hook.StopInput) (*hook.StopOutput, error) {
		c.forget("")
		return nil, nil
	}).FailOpen(), false})
}

// mayBegin refuses a call that a limit would stop later.
func (c *agentCounter) mayBegin(ctx context.Context, in *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
	return refusal(c.look(askedAgent{call: in.ToolUseID, caller: in.AgentID}, limitsAgents(ctx)))
}

// begins counts a call that is let go, or refuses it.
func (c *agentCounter) begins(ctx context.Context, in *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
	kind := jsonx.Text(jsonx.Member(in.ToolInput, "subagent_type"))
	return refusal(c.take(askedAgent{call: in.ToolUseID, caller: in.AgentID, kind: kind}, limitsAgents(ctx)))
}

func refusal(reason string) (*hook.PreToolUseOutput, error) {
	if reason == "" {
		return nil, nil
	}
	return hook.DenyTool(reason), nil
}

// limitsAgents reports whether the CLI of a callback is known to limit agents by
// itself: it knows better than hooks which of them run, and how deep.
func limitsAgents(ctx context.Context) bool {
	s := SessionFrom(ctx)
	return s != nil && sinceAgentLimits.known(s.cli.version(ctx))
}

// agentCounter counts the agents of a session. A call of the tool that was released
// counts until its agent begins. If it never does, because a person or a rule of the CLI
// has denied the call after the hooks, the call counts until its caller's turn ends.
// SubagentStart names neither the call nor the caller, so the type of the agent
// identifies the call that began; if that fits several, each may be the deepest. Old
// CLIs also start agents that no call asked for, to warm their caches: these do not
// count.
type agentCounter struct {
	mu     sync.Mutex
	limits SubagentLimits
	asked  []askedAgent
	begun  int            // of the agents that were asked for
	depths map[string]int // of all agents that began, by id
	live   map[string]bool
}

// askedAgent is a call of the tool that starts agents.
type askedAgent struct {
	call   string // the id of the call
	caller string // the agent that makes it, "" for the main conversation
	kind   string // the type of agent
	depth  int
}

// look returns why a call must be refused, "" if it need not be.
func (c *agentCounter) look(a askedAgent, cliLimits bool) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refuse(a, cliLimits)
}

// take counts a call, unless it must be refused.
func (c *agentCounter) take(a askedAgent, cliLimits bool) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if reason := c.refuse(a, cliLimits); reason != "" || c.counted(a) {
		return reason
	}
	a.depth = c.depthBelow(a.caller)
	c.asked = append(c.asked, a)
	return ""
}

// counted reports whether a call was released before: hooks may be asked twice.
// The caller holds the lock.
func (c *agentCounter) counted(a askedAgent) bool {
	return a.call != "" && slices.ContainsFunc(c.asked, func(b askedAgent) bool { return a.call == b.call })
}

// refuse is look with the lock held.
func (c *agentCounter) refuse(a askedAgent, cliLimits bool) string {
	if c.counted(a) {
		return ""
	}
	l := c.limits
	switch {
	case l.Total > 0 && l.Started+c.begun+len(c.asked) >= l.Total:
		return fmt.Sprintf("The limit of %d subagents in all is reached. Do the work without another subagent.", l.Total)
	case cliLimits:
		return ""
	case l.Depth > 0 && c.depthBelow(a.caller) > l.Depth:
		return fmt.Sprintf("Subagents may nest only %d deep. Do the work without another subagent.", l.Depth)
	case l.AtOnce > 0 && len(c.live)+len(c.asked) >= l.AtOnce:
		return fmt.Sprintf("The limit of %d subagents at the same time is reached. Wait until one has ended.", l.AtOnce)
	}
	return ""
}

// depthBelow returns the depth of agents that an agent starts. An agent whose
// beginning was missed may be the deepest of all.
func (c *agentCounter) depthBelow(caller string) int {
	if caller == "" {
		return 1
	}
	return cmp.Or(c.depths[caller], c.limits.Depth, 1) + 1
}

// began records that an agent has begun, or was continued.
func (c *agentCounter) began(id, kind string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.live == nil {
		c.live, c.depths = make(map[string]bool), make(map[string]int)
	}
	c.live[id] = true
	if c.depths[id] > 0 {
		return
	}
	fits := func(a askedAgent) bool { return a.kind == kind }
	if !slices.ContainsFunc(c.asked, fits) {
		fits = func(askedAgent) bool { return true } // a call may leave the type to the CLI
	}
	first, deepest := -1, 1
	for i, a := range c.asked {
		if fits(a) {
			deepest = max(deepest, a.depth)
			if first < 0 {
				first = i
			}
		}
	}
	for i, a := range c.asked {
		if fits(a) {
			c.asked[i].depth = deepest
		}
	}
	if c.depths[id] = deepest; first >= 0 {
		c.begun++
		c.asked = slices.Delete(c.asked, first, first+1)
	}
}

// ended records that an agent has ended.
func (c *agentCounter) ended(id string) {
	c.mu.Lock()
	delete(c.live, id)
	c.mu.Unlock()
	c.forget(id)
}

// forget drops the calls of a caller that have not begun when its turn ends: they
// were denied.
func (c *agentCounter) forget(caller string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = slices.DeleteFunc(c.asked, func(a askedAgent) bool { return a.caller == caller })
}

// add counts agents that were started before this session.
func (c *agentCounter) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limits.Started += n
}

// countAgents counts the agents that a session from the store has started before:
// each has a transcript of its own.
func (p *plan) countAgents(ctx context.Context, o *Options) error {
	if p.agents == nil || o.Subagents.Total == 0 || o.Store == nil || o.Resume == "" {
		return nil
	}
	n := 0
	for sub, err := range o.Store.Store.Subagents(ctx, o.Store.Project, o.Resume) {
		if err != nil {
			return storedError(ctx, fmt.Errorf("count the subagents: %w", err))
		}
		if isAgent(sub) {
			n++
		}
	}
	p.agents.add(n)
	return nil
}

// isAgent reports whether a transcript below a session is that of an agent that was
// asked for. The CLI runs agents of its own, for a summary or a suggestion, and puts
// their purpose before the number.
func isAgent(sub string) bool {
	id := transcript.AgentOf(sub)
	purpose, _, _ := strings.Cut(strings.TrimPrefix(id, "a"), "-")
	return id != "" && !slices.Contains(ownAgents[:], purpose)
}

var ownAgents = [...]string{
	"agent_summary", "auto_dream", "away_summary", "compact", "extract_memories", "prompt_suggestion", "rename", "resume_cache_warm", "side_question",
}
