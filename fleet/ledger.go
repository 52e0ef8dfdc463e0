package fleet

import (
	"maps"

	"github.com/claude-agent-go/claude/message"
)

// Ledger is the cost of a conversation or a prompt: the sum of what its turns report. A
// turn that was deferred or broke off, and was continued, counts as several. A turn
// that broke off before it could report counts as the answers that are in the
// transcript, at the prices that the CLI reports for their models or else at list
// prices. Anything that is not in the store is not counted, such as an answer that was
// cut off in the middle.
type Ledger struct {
	USD    float64                       `json:"usd"`
	Turns  int                           `json:"turns"`
	Models map[string]message.ModelUsage `json:"models,omitempty"`
	// Unpriced has, by model, the tokens of answers whose price is not known. USD and
	// Models lack them: at least USD was spent. They are counted once the CLI names a
	// price of the model in the same conversation.
	Unpriced map[string]message.ModelUsage `json:"unpriced,omitempty"`
}

// plus returns the sum of two ledgers. It changes neither.
func (l Ledger) plus(more Ledger) Ledger {
	l.USD += more.USD
	l.Turns += more.Turns
	l.Models = plusModels(l.Models, more.Models)
	l.Unpriced = plusModels(l.Unpriced, more.Unpriced)
	return l
}

// plusModels returns the sum of two maps. It changes neither.
func plusModels(sum, more map[string]message.ModelUsage) map[string]message.ModelUsage {
	sum = maps.Clone(sum)
	if sum == nil && len(more) > 0 {
		sum = make(map[string]message.ModelUsage)
	}
	for name, u := range more {
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

// tiny is the most by which sums of the same costs may differ.
const tiny = 1e-9

// book adds a turn to the ledgers of a record, and drops those of prompts that have
// their outcomes. If such a prompt has answers without a price, the turns that answer
// no prompt bear them, because its outcome does not change any more. queue has the
// prompts without an outcome.
func book(rec *record, turn Ledger, prompt string, queue map[string]bool) {
	maps.DeleteFunc(rec.Spent, func(id string, l keptLedger) bool {
		over := id != prompt && !queue[id]
		if over {
			rec.Unprompted = rec.Unprompted.plus(Ledger{Unpriced: l.Unpriced})
		}
		return over
	})
	rec.Cost = rec.Cost.plus(turn)
	if prompt == "" {
		rec.Unprompted = rec.Unprompted.plus(turn)
	} else {
		if rec.Spent == nil {
			rec.Spent = make(map[string]keptLedger)
		}
		rec.Spent[prompt] = rec.Spent[prompt].plus(turn)
	}
	said := rec.Cost.Models
	rec.Cost, rec.Unprompted = rec.Cost.priced(said), rec.Unprompted.priced(said)
	for id, l := range rec.Spent {
		rec.Spent[id] = l.priced(said)
	}
}
