package host

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/message"
)

// result is the message that ends the turn. The CLI counts as turns the first
// answer and every user line after it.
func (t *Turn) result(err error) *message.Result {
	r, edits := t.outcome(err)
	for _, edit := range edits { // without the lock: they may use the turn
		edit(r)
	}
	return r
}

// outcome is the result before it is edited.
func (t *Turn) outcome(err error) (*message.Result, []func(*message.Result)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	elapsed := time.Since(t.began).Milliseconds()
	r := &message.Result{
		Text: t.text, StopReason: t.stop, TerminalReason: message.EndCompleted,
		NumTurns: 1 + t.lines, DurationMS: elapsed, DurationAPIMS: elapsed,
		Usage: t.usage, PermissionDenials: t.denials, DeferredToolUse: t.deferred,
		StructuredOutput: t.structure, Prompts: t.ids(),
	}
	for _, q := range t.takenIn {
		r.Prompts = append(r.Prompts, q.UUID)
	}
	if u := t.Unfinished(); u != nil && !u.Deferred {
		r.ResumeReason = "interrupted_turn"
	}
	if last := t.prompts[len(t.prompts)-1].ended; last != nil {
		r.Origin = &message.Origin{Kind: message.OriginTaskNotification, Producer: "session-task", RunID: last.run}
	}
	if r.PermissionDenials == nil {
		r.PermissionDenials = []message.PermissionDenial{}
	}
	switch e := t.ending; {
	case e.failed != "":
		r.Subtype, r.IsError, r.TerminalReason, r.Text = e.failed, true, e.reason, ""
		r.Errors = []string{e.err}
		if e.reason == message.EndBudgetExhausted {
			r.Usage = t.before // of the last answer only the costs are told
		}
	case e != ending{}:
		r.TerminalReason, r.Text = e.reason, e.text
	case err != nil && !errors.Is(err, ErrOver):
		r.Subtype, r.IsError, r.TerminalReason, r.Text = message.ResultErrorExecution, true, "", ""
		r.Errors = []string{err.Error()}
	}
	t.account(r)
	return r, slices.Clone(t.edits)
}

// used reports whether tokens were counted.
func used(u message.Usage) bool {
	return u.InputTokens+u.OutputTokens+u.CacheReadInputTokens+u.CacheCreationInputTokens > 0
}

// account adds the cost of the turn to that of the session.
func (t *Turn) account(r *message.Result) {
	s := t.s
	s.mu.Lock()
	defer s.mu.Unlock()
	r.PermissionDenials = append(r.PermissionDenials, s.denials...)
	s.denials = nil
	r.SubagentStats = s.tasks.stats
	r.SubagentStats.ByType = maps.Clone(s.tasks.stats.ByType)
	s.add(s.model, t.usage, t.spent)
	r.TotalCostUSD, r.ModelUsage = s.cost, maps.Clone(s.usage)
	r.ResultIndex = new(s.results)
	r.QueuedTurnCount = len(s.queue)
	s.results++
}

// ledger adds up the usage of a session, by model. The lock of the session
// guards it.
type ledger struct {
	cost  float64
	usage map[string]message.ModelUsage
}

// add adds costs, and tokens to those of the model.
func (l *ledger) add(model string, tokens message.Usage, costUSD float64) {
	l.cost += costUSD
	if !used(tokens) && costUSD == 0 {
		return
	}
	u := l.usage[model]
	u.InputTokens += tokens.InputTokens
	u.OutputTokens += tokens.OutputTokens
	u.CacheReadInputTokens += tokens.CacheReadInputTokens
	u.CacheCreationInputTokens += tokens.CacheCreationInputTokens
	u.CostUSD += costUSD
	u.ContextWindow = window
	l.usage[model] = u
}

// spent returns the cost of the session.
func (s *session) spent() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cost
}

// spend adds what a subagent uses: to the session, not to a turn.
func (s *session) spend(tokens message.Usage, costUSD float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(s.model, tokens, costUSD)
}

// sessionUsage is the answer to get_usage.
func (s *session) sessionUsage() control.UsageReport {
	s.mu.Lock()
	defer s.mu.Unlock()
	elapsed := time.Since(s.began).Milliseconds()
	u := control.UsageReport{Session: control.SessionUsage{
		TotalCostUSD: s.cost, TotalAPIDurationMS: elapsed, TotalDurationMS: elapsed,
		ModelUsage: make(map[string]json.RawMessage),
	}}
	for model, used := range s.usage {
		if raw, err := jsonx.Marshal(used); err == nil {
			u.Session.ModelUsage[model] = raw
		}
	}
	return u
}

// window is how many tokens the context of every model has.
const window = 200_000

// contextUsage is the answer to get_context_usage.
func (s *session) contextUsage() control.ContextUsage {
	s.mu.Lock()
	defer s.mu.Unlock()
	used := 0
	for _, u := range s.usage {
		used += u.InputTokens + u.OutputTokens
	}
	return control.ContextUsage{
		Categories: []control.ContextCategory{
			{ID: "messages", Name: "Messages", Tokens: used, Kind: "used"},
			{ID: "free", Name: "Free space", Tokens: max(window-used, 0), Kind: "free"},
		},
		TotalTokens: used, MaxTokens: window, RawMaxTokens: window,
		Percentage: float64(used) * 100 / window, Model: s.model, MemoryFiles: []control.MemoryFile{},
	}
}
