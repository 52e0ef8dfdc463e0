package fleet

import (
	"context"
	"maps"

	"github.com/claude-agent-go/claude/message"
)

// Ledger is what a conversation or a prompt has cost: the sum of what its turns
// say. A turn that was deferred and continued counts as several.
type Ledger struct {
	USD    float64                       `json:"usd"`
	Turns  int                           `json:"turns"`
	Models map[string]message.ModelUsage `json:"models,omitempty"`
}

// plus returns the sum of two ledgers. It changes neither.
func (l Ledger) plus(more Ledger) Ledger {
	l.USD += more.USD
	l.Turns += more.Turns
	l.Models = maps.Clone(l.Models)
	if l.Models == nil && len(more.Models) > 0 {
		l.Models = make(map[string]message.ModelUsage)
	}
	for name, u := range more.Models {
		old := l.Models[name]
		u.InputTokens += old.InputTokens
		u.OutputTokens += old.OutputTokens
		u.ThinkingTokens += old.ThinkingTokens
		u.CacheReadInputTokens += old.CacheReadInputTokens
		u.CacheCreationInputTokens += old.CacheCreationInputTokens
		u.CacheCreationEphemeral5mInputTokens += old.CacheCreationEphemeral5mInputTokens
		u.CacheCreationEphemeral1hInputTokens += old.CacheCreationEphemeral1hInputTokens
		u.WebSearchRequests += old.WebSearchRequests
		u.CostUSD += old.CostUSD
		l.Models[name] = u
	}
	return l
}

// tiny is by how much sums of the same costs may differ.
const tiny = 1e-9

// turnOf returns what a result adds to those before it. It is asked once for each
// result.
func (w *waking) turnOf(r *message.Result) Ledger {
	w.spent.Models = nil
	w.spent.Add(r)
	turn := Ledger{USD: max(0, w.spent.TurnUSD), Turns: 1, Models: w.spent.Models}
	maps.DeleteFunc(turn.Models, func(_ string, u message.ModelUsage) bool { // used in earlier turns only
		return u.InputTokens|u.OutputTokens|u.CacheReadInputTokens|u.CacheCreationInputTokens == 0 && u.CostUSD < tiny
	})
	return turn
}

// count adds what a result says to the ledgers of the conversation and of the
// prompt whose turn it ends, if there is one: once, and both in one write.
func (w *waking) count(ctx context.Context, r *message.Result, prompt string) error {
	add := w.counting(r, prompt)
	return w.persist(func() error { return w.change(ctx, add) })
}

// counting returns what a result changes in the record of the conversation, to be
// done as often as it takes until it is written. It also takes note of a session and
// a mode that were changed by the CLI. It is asked once for each result.
func (w *waking) counting(r *message.Result, prompt string) func(*record) error {
	turn, id := w.turnOf(r), w.session.ID()
	return func(rec *record) error {
		moved := w.moved && w.own.modeOf(rec.Mode) != w.mode
		if rec.Counted == r.UUID && (id == "" || id == rec.Session) && !moved {
			return errUnchanged
		}
		if moved {
			rec.Mode = w.mode
		}
		if id != "" && id != rec.Session {
			rec.moveTo(id)
		}
		if rec.Counted != r.UUID {
			rec.Counted = r.UUID
			w.book(rec, turn, prompt)
		}
		return nil
	}
}

// book adds a turn to the ledgers of a record, and forgets those of prompts that
// have their outcomes.
func (w *waking) book(rec *record, turn Ledger, prompt string) {
	rec.Cost = rec.Cost.plus(turn)
	maps.DeleteFunc(rec.Spent, func(id string, _ Ledger) bool { return id != prompt && !w.queue[id] })
	if prompt == "" {
		rec.Unprompted = rec.Unprompted.plus(turn)
		return
	}
	if rec.Spent == nil {
		rec.Spent = make(map[string]Ledger)
	}
	rec.Spent[prompt] = rec.Spent[prompt].plus(turn)
}
