package message

import "maps"

// Spending adds up what results say of cost and tokens, over any number of
// turns, sessions and processes. The zero value is ready; it is not safe for
// concurrent use.
//
// The rules of the CLI: TotalCostUSD and ModelUsage of a [Result] count from
// the beginning of the session and include subagents and side calls; Usage
// counts the main conversation of the one turn. A session that is resumed or
// forked begins with what it has cost before; CLIs up to 2.1.0, and one whose
// predecessor was killed, begin at zero. So Spending keeps the last count of
// each session and takes what was added since. Of a session that it has not seen
// before it takes the one turn, where the CLI says what that has cost.
//
// A turn that ended without a result, because it was cancelled, is part of what
// the next result of its session adds.
type Spending struct {
	// TotalUSD is the cost of everything so far, TurnUSD what the last result
	// has added to it.
	TotalUSD, TurnUSD float64
	// Usage counts the tokens of the main conversation in all turns.
	Usage Usage
	// Models has cost and tokens by model, subagents included.
	Models map[string]ModelUsage
	// Turns counts the results, ModelCalls the calls of the model they tell of.
	Turns, ModelCalls int

	sessions map[string]account // by id, as the last result has left them
}

// account is what was spent.
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
	s.ModelCalls += r.NumTurns
	return true
}

// costSlack is what sums of the same costs may differ by, as floats do.
const costSlack = 1e-9

// since returns what a result adds to the ones before it.
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
		return turn // the count began anew
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

// addModels returns a with b added to it, or taken from it if sign is -1.
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
