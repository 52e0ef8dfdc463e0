package message

import "maps"

// Spending adds up what results say of cost and tokens. The zero value is
// ready; it is not safe for concurrent use.
//
// The rules of the CLI: TotalCostUSD and ModelUsage of a [Result] count from
// the start of its process and include subagents and side calls; Usage counts
// the main conversation of the one turn. A total that is smaller than the one
// before comes from another process, and is added to it.
type Spending struct {
	// TotalUSD is the cost of everything so far, TurnUSD that of the last turn.
	TotalUSD, TurnUSD float64
	// Usage counts the tokens of the main conversation in all turns.
	Usage Usage
	// Models has cost and tokens by model, subagents included.
	Models map[string]ModelUsage
	// Turns counts the results, ModelCalls the calls of the model they tell of.
	Turns, ModelCalls int

	before, current             float64 // of earlier processes, and of this one
	modelsBefore, modelsCurrent map[string]ModelUsage
}

// Add takes a message into account and reports whether it was a result.
func (s *Spending) Add(m Message) bool {
	r, ok := m.(*Result)
	if !ok {
		return false
	}
	if r.TotalCostUSD < s.current {
		s.before += s.current
		s.modelsBefore = sumModels(s.modelsBefore, s.modelsCurrent)
		s.current = 0
	}
	s.TurnUSD = r.TotalCostUSD - s.current
	s.current, s.modelsCurrent = r.TotalCostUSD, r.ModelUsage
	s.TotalUSD = s.before + s.current
	s.Models = sumModels(s.modelsBefore, s.modelsCurrent)
	s.Usage.add(r.Usage)
	s.Turns++
	s.ModelCalls += r.NumTurns
	return true
}

func (u *Usage) add(more Usage) {
	u.InputTokens += more.InputTokens
	u.OutputTokens += more.OutputTokens
	u.CacheCreationInputTokens += more.CacheCreationInputTokens
	u.CacheReadInputTokens += more.CacheReadInputTokens
	u.OutputTokensDetails.ThinkingTokens += more.OutputTokensDetails.ThinkingTokens
	u.CacheCreation.Ephemeral5mInputTokens += more.CacheCreation.Ephemeral5mInputTokens
	u.CacheCreation.Ephemeral1hInputTokens += more.CacheCreation.Ephemeral1hInputTokens
	u.ServerToolUse.WebSearchRequests += more.ServerToolUse.WebSearchRequests
	u.ServerToolUse.WebFetchRequests += more.ServerToolUse.WebFetchRequests
}

func sumModels(a, b map[string]ModelUsage) map[string]ModelUsage {
	sum := maps.Clone(a)
	if sum == nil {
		sum = make(map[string]ModelUsage, len(b))
	}
	for name, u := range b {
		old := sum[name]
		u.InputTokens += old.InputTokens
		u.OutputTokens += old.OutputTokens
		u.ThinkingTokens += old.ThinkingTokens
		u.CacheReadInputTokens += old.CacheReadInputTokens
		u.CacheCreationInputTokens += old.CacheCreationInputTokens
		u.CacheCreationEphemeral5mInputTokens += old.CacheCreationEphemeral5mInputTokens
		u.CacheCreationEphemeral1hInputTokens += old.CacheCreationEphemeral1hInputTokens
		u.WebSearchRequests += old.WebSearchRequests
		u.CostUSD += old.CostUSD
		sum[name] = u
	}
	return sum
}
