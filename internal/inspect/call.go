package inspect

import (
	"cmp"
	"fmt"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/price"
	"github.com/claude-agent-go/claude/internal/show"
	"github.com/claude-agent-go/claude/message"
)

// Call is a call of the model: one answer, which may fill several frames.
type Call struct {
	// Line is the frame with which the answer begins.
	Line int     `json:"line"`
	AtMS float64 `json:"t_ms"`
	// Agent is the subagent that was answered, "" for the main conversation.
	Agent string `json:"agent,omitzero"`
	Model string `json:"model,omitzero"`
	// Tokens counts the tokens of the answer. The CLI reports the cost of turns only;
	// that of a call is estimated from the tokens, and 0 if the price is not known.
	Tokens Tokens `json:"tokens"`
	// Context is how many tokens the model has read, and Window how many it could, 0 if
	// that is not known.
	Context int `json:"context"`
	Window  int `json:"window,omitzero"`

	usage message.Usage
	toMS  float64
}

// calls gathers the calls of the model by the ids of their answers.
type calls struct {
	all  []*Call
	byID map[string]*Call
	open map[string]*Call // the last answer that was streamed, by its subagent
}

// heard takes what a frame says about an answer. Frames of one answer repeat its tokens,
// and the output grows.
func (c *calls) heard(t *Turn, f *Frame, id, agent, model string, u message.Usage) *Call {
	call := c.byID[id]
	if call == nil || id == "" {
		call = &Call{Line: f.Line, AtMS: f.AtMS, Agent: agent, Model: model}
		c.all, t.Calls = append(c.all, call), append(t.Calls, call)
		if c.byID == nil {
			c.byID, c.open = make(map[string]*Call), make(map[string]*Call)
		}
		c.byID[id] = call
	}
	call.Agent, call.toMS = cmp.Or(call.Agent, agent), f.AtMS
	call.add(u)
	return call
}

// add takes the token counts of an answer so far.
func (c *Call) add(u message.Usage) {
	switch {
	case u.OutputTokens < c.usage.OutputTokens:
	case u.InputTokens+u.CacheReadInputTokens+u.CacheCreationInputTokens == 0: // the end of a stream counts the output only
		c.usage.OutputTokens = u.OutputTokens
	default:
		c.usage = u
	}
}

// streamed takes an event of an answer that is being written.
func (b *builder) streamed(f *Frame, m *message.StreamEvent) {
	switch call := b.calls.open[m.ParentToolUseID]; {
	case m.EventType == message.EventMessageStart && m.Usage != nil:
		id := cmp.Or(m.MessageID, jsonx.Text(jsonx.Member(jsonx.Member(m.Event, "message"), "id")))
		call = b.calls.heard(b.turn, f, id, b.agent(m), m.Model, *m.Usage)
		b.calls.open[m.ParentToolUseID] = call
	case call != nil:
		call.toMS = f.AtMS
		if m.EventType == message.EventMessageDelta && m.Usage != nil {
			call.add(*m.Usage)
		}
	}
}

// priceCalls fills in the cost and the window of all calls, from the models that the
// results have reported.
func (b *builder) priceCalls() {
	reported := make(map[string]message.ModelUsage)
	for name, u := range b.spending.Models {
		reported[price.Canonical(cmp.Or(u.CanonicalModel, name))] = u
	}
	for _, c := range b.calls.all {
		said := reported[price.Canonical(c.Model)]
		c.Tokens = tokensOf(c.usage)
		c.Tokens.CostUSD, _ = price.Of(c.Model, c.usage, said)
		c.Context, c.Window = c.Tokens.Input+c.Tokens.CacheRead+c.Tokens.CacheWrite, said.ContextWindow
	}
}

// filled describes how full the window was.
func (c *Call) filled() string {
	if c.Window <= 0 {
		return show.Tokens(c.Context)
	}
	return fmt.Sprintf("%s of %s, %.0f %%", show.Tokens(c.Context), show.Tokens(c.Window), 100*float64(c.Context)/float64(c.Window))
}

// cost is the cost of the call for people.
func (c *Call) cost() string {
	if c.Tokens.CostUSD == 0 {
		return ""
	}
	return "≈ " + show.Money(c.Tokens.CostUSD)
}

// fullest returns the call of the main conversation that read the most, nil if there is
// none.
func (r *Report) fullest() *Call {
	var most *Call
	for _, t := range r.Turns {
		for _, c := range t.Calls {
			if c.Agent == "" && (most == nil || c.Context > most.Context) {
				most = c
			}
		}
	}
	return most
}

// callIn returns the call of the main conversation whose answer ends in a stretch of
// time, nil if none does.
func (t *Turn) callIn(s Span) *Call {
	for _, c := range t.Calls {
		if c.Agent == "" && c.toMS >= s.FromMS && c.toMS <= s.ToMS {
			return c
		}
	}
	return nil
}

// countCalls sums up the calls of a turn.
func countCalls(t *Turn) string {
	most, usd := 0, 0.0
	for _, c := range t.Calls {
		if usd += c.Tokens.CostUSD; c.Agent == "" {
			most = max(most, c.Context)
		}
	}
	text := show.Plural(len(t.Calls), "model call") + ", context up to " + show.Tokens(most)
	if usd > 0 {
		text += ", ≈ " + show.Money(usd)
	}
	return text
}

// callView is a call on the page.
type callView struct {
	Line                               int
	Clock, Model, Agent, Context       string
	Share                              string // of the window, or of the fullest call, in percent
	New, CacheRead, CacheWrite, Output string
	Cost                               string
}

// callViews shows the calls of a turn.
func (v *viewer) callViews(t *Turn) []callView {
	widest := 1
	if most := v.rep.fullest(); most != nil {
		widest = max(widest, most.Context)
	}
	shown := t.Calls
	if most := 500; len(shown) > most {
		v.cut("turn %d: %d model calls are not listed", t.Number, len(shown)-most)
		shown = shown[:most]
	}
	var out []callView
	for _, c := range shown {
		out = append(out, callView{
			Line: c.Line, Clock: clock(c.AtMS), Model: c.Model, Agent: c.Agent, Context: c.filled(), Cost: c.cost(),
			Share: percent(min(100, 100*float64(c.Context)/float64(max(1, cmp.Or(c.Window, widest))))),
			New:   show.Tokens(c.Tokens.Input), CacheRead: show.Tokens(c.Tokens.CacheRead), CacheWrite: show.Tokens(c.Tokens.CacheWrite), Output: show.Tokens(c.Tokens.Output),
		})
	}
	return out
}
