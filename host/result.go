package host

import (
	"errors"
	"maps"
	"slices"
	"time"

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

// account adds what the turn has cost to what the session has cost.
func (t *Turn) account(r *message.Result) {
	s := t.s
	s.mu.Lock()
	defer s.mu.Unlock()
	r.PermissionDenials = append(r.PermissionDenials, s.denials...)
	s.denials = nil
	r.SubagentStats = s.stats
	r.SubagentStats.ByType = maps.Clone(s.stats.ByType)
	s.cost += t.spent
	s.use(t.usage, t.spent)
	r.TotalCostUSD, r.ModelUsage = s.cost, maps.Clone(s.usage)
	r.ResultIndex = new(s.results)
	r.QueuedTurnCount = len(s.queue)
	s.results++
}

// use adds tokens to those of the model. The caller holds the lock.
func (s *session) use(tokens message.Usage, costUSD float64) {
	if !used(tokens) && costUSD == 0 {
		return
	}
	u := s.usage[s.model]
	u.InputTokens += tokens.InputTokens
	u.OutputTokens += tokens.OutputTokens
	u.CacheReadInputTokens += tokens.CacheReadInputTokens
	u.CacheCreationInputTokens += tokens.CacheCreationInputTokens
	u.CostUSD += costUSD
	u.ContextWindow = window
	s.usage[s.model] = u
}

// spend adds what a subagent uses: to the session, not to a turn.
func (s *session) spend(tokens message.Usage, costUSD float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cost += costUSD
	s.use(tokens, costUSD)
}

// initMessage returns the message that begins a turn.
func (s *session) initMessage(ids []string) *message.Init {
	m := s.opts.Init
	s.mu.Lock()
	defer s.mu.Unlock()
	m.Header = message.Header{SessionID: s.id}
	m.Model, m.PermissionMode = s.model, s.mode
	fill(&m.Version, s.opts.Info.CLIVersion)
	fill(&m.Version, defaultVersion)
	fill(&m.Cwd, s.opts.Cwd)
	fill(&m.OriginalCwd, m.Cwd)
	fill(&m.APIKeySource, "none")
	fill(&m.OutputStyle, "default")
	if m.Tools == nil {
		m.Tools = []string{}
	}
	m.MCPServers = append([]message.InitMCPServer{}, m.MCPServers...)
	m.MCPServers = append(m.MCPServers, s.servers.listed()...)
	m.Tools = append(append([]string{}, m.Tools...), s.servers.tools()...)
	m.Prompts = ids
	return &m
}

// fill sets a text that is empty.
func fill(dst *string, value string) {
	if *dst == "" {
		*dst = value
	}
}
