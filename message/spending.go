package message

import "maps"

// Spending adds up the cost and tokens reported by results, over any number of
// turns, sessions and processes. The zero value is ready to use. It is not
// safe for concurrent use.
//
// The CLI counts like this: TotalCostUSD and ModelUsage of a [Result] count
// from the beginning of the session and include subagents and side calls;
// Usage counts the main conversation of that one turn. A resumed or forked
// session starts with its earlier cost; CLIs up to 2.1.0, and a CLI whose
// predecessor was killed, start at zero. So Spending keeps the last count of
// each session and adds the difference. For a session it has not seen before,
// it adds only the one turn, if the CLI reports its cost.
//
// If a turn was cancelled and has no result, the next result of its session
// includes its cost.
type Spending struct {
	// TotalUSD is the cost of everything so far; TurnUSD is the share of the
	// last result.
	TotalUSD, TurnUSD float64
	// Usage counts the tokens of the main conversation in all turns.
	Usage Usage
	// Models has cost and tokens by model, subagents included.
	Models map[string]ModelUsage
	// Turns counts the results; AgentTurns adds up their NumTurns.
	Turns, AgentTurns int

	sessions map[string]account // by id, as of the last result
}

// account is an amount spent.
type account struct {
	usd    float64
	models map[string]ModelUsage
}

// Add takes a message into account and reports whether it was a result.
func (s *Spending) Add(m Message) bool {
	r, ok := m.(*Result)
	if !ok {
		return false
	}
	turn := s.since(r)
	if s.sessions == nil {
		s.sessions = make(map[string]account)
	}
	s.sessions[r.SessionID] = account{r.TotalCostUSD, r.ModelUsage}
	s.TurnUSD = turn.usd
	s.TotalUSD += turn.usd
	s.Models = addModels(s.Models, turn.models, 1)
	s.Usage.add(r.Usage)
	s.Turns++
	s.AgentTurns += r.NumTurns
	return true
}

// costSlack is how much sums of the same costs may differ, as floats do.
const costSlack = 1e-9

// since returns the amount that a result adds to the previous ones.
func (s *Spending) since(r *Result) account {
	turn := account{r.TotalCostUSD, r.ModelUsage}
	if r.TurnModelUsage != nil {
		turn = account{models: r.TurnModelUsage}
		for _, u := range r.TurnModelUsage {
			turn.usd += u.CostUSD
		}
	}
	last, known := s.sessions[r.SessionID]
	if !known {
		return turn
	}
	more := account{r.TotalCostUSD - last.usd, addModels(r.ModelUsage, last.models, -1)}
	if more.usd < -costSlack || r.TurnModelUsage != nil && more.usd < turn.usd-costSlack {
		return turn // the count started over
	}
	for _, u := range more.models {
		if u.InputTokens < 0 || u.OutputTokens < 0 {
			return turn
		}
	}
	return more
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

// addModels returns a with b added, or subtracted if sign is -1.
func addModels(a, b map[string]ModelUsage, sign int) map[string]ModelUsage {
	sum := maps.Clone(a)
	if sum == nil {
		sum = make(map[string]ModelUsage, len(b))
	}
	for name, more := range b {
		old, u := sum[name], more
		u.InputTokens = old.InputTokens + sign*more.InputTokens
		u.OutputTokens = old.OutputTokens + sign*more.OutputTokens
		u.ThinkingTokens = old.ThinkingTokens + sign*more.ThinkingTokens
		u.CacheReadInputTokens = old.CacheReadInputTokens + sign*more.CacheReadInputTokens
		u.CacheCreationInputTokens = old.CacheCreationInputTokens + sign*more.CacheCreationInputTokens
		u.CacheCreationEphemeral5mInputTokens = old.CacheCreationEphemeral5mInputTokens + sign*more.CacheCreationEphemeral5mInputTokens
		u.CacheCreationEphemeral1hInputTokens = old.CacheCreationEphemeral1hInputTokens + sign*more.CacheCreationEphemeral1hInputTokens
		u.WebSearchRequests = old.WebSearchRequests + sign*more.WebSearchRequests
		u.CostUSD = old.CostUSD + float64(sign)*more.CostUSD
		sum[name] = u
	}
	return sum
}
