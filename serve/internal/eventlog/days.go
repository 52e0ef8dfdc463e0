package eventlog

import (
	"maps"
	"slices"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/serve/api"
)

// DaySum is the cost of a conversation's turns on a day. It is kept in the head of the
// log, and written together with the event of each turn: so a turn is counted once, and
// summing up all conversations does not read their logs.
type DaySum struct {
	Turns   int                 `json:"turns"`
	CostUSD float64             `json:"usd"`
	Models  map[string]ModelSum `json:"models,omitempty"`
	// Over are the last turns of the day that the CLI ended over budget.
	Over []overTurn `json:"over,omitempty"`
}

// overTurn is a turn that was over budget.
type overTurn struct {
	Prompt  string    `json:"prompt"`
	Ended   time.Time `json:"ended"`
	CostUSD float64   `json:"usd"`
}

// maxOverDay limits these turns for a day of a conversation, and maxOver for all its
// days together and for a reply. They are in the head of the log, which must stay small
// enough for a record.
const (
	maxOverDay = 20
	MaxOver    = 100
)

// ModelSum is the usage of a model on a day.
type ModelSum struct {
	// Turns counts each turn once, even if it used several models.
	Turns   int     `json:"turns,omitzero"`
	CostUSD float64 `json:"usd"`
	Input   int64   `json:"in"`
	Output  int64   `json:"out"`
	Cached  int64   `json:"cached"`
}

// book returns the sums with a turn added, and what was spent besides it. It modifies
// no map in place, because a failed write is repeated from the old value.
func book(days map[string]DaySum, t *api.Turn, besides fleet.Ledger) map[string]DaySum {
	days = onDay(days, t.Ended, func(day *DaySum) {
		if t.PartOf == "" { // otherwise that prompt's turn counts
			day.Turns++
			day.add(fleet.Ledger{USD: t.CostUSD, Turns: 1, Models: LedgerModels(t.Models)})
			if t.OverBudget {
				kept := day.Over[max(0, len(day.Over)+1-maxOverDay):]
				day.Over = append(slices.Clone(kept), overTurn{t.Prompt, t.Ended, t.CostUSD})
			}
		}
	})
	if t.OverBudget {
		days = newestOver(days)
	}
	if besides.Turns > 0 {
		days = bookBesides(days, t.Ended, besides)
	}
	return days
}

// newestOver returns the sums with the last turns over budget of all days.
func newestOver(days map[string]DaySum) map[string]DaySum {
	days = maps.Clone(days)
	kept := 0
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(days))) {
		day := days[name]
		day.Over = day.Over[max(0, len(day.Over)-(MaxOver-kept)):]
		kept += len(day.Over)
		days[name] = day
	}
	return days
}

// bookBesides returns the sums with the cost of turns that answer no prompt.
func bookBesides(days map[string]DaySum, at time.Time, besides fleet.Ledger) map[string]DaySum {
	besides.Turns = 0
	return onDay(days, at, func(day *DaySum) { day.add(besides) })
}

// onDay returns a copy of the sums in which one day is changed.
func onDay(days map[string]DaySum, at time.Time, change func(*DaySum)) map[string]DaySum {
	days = maps.Clone(days)
	if days == nil {
		days = make(map[string]DaySum)
	}
	name := at.UTC().Format(time.DateOnly)
	day := days[name]
	day.Models = maps.Clone(day.Models)
	if day.Models == nil {
		day.Models = make(map[string]ModelSum)
	}
	change(&day)
	days[name] = day
	return days
}

// add adds what was spent. Turns count for the first model.
func (d *DaySum) add(l fleet.Ledger) {
	d.CostUSD += l.USD
	models := slices.Sorted(maps.Keys(l.Models))
	if len(models) == 0 {
		models = []string{""} // a turn that failed before it reached a model
	}
	for i, model := range models {
		used, sum := l.Models[model], d.Models[model]
		if i == 0 {
			sum.Turns += l.Turns
		}
		sum.CostUSD += used.CostUSD
		sum.Input += int64(used.InputTokens)
		sum.Output += int64(used.OutputTokens)
		sum.Cached += int64(used.CacheReadInputTokens + used.CacheCreationInputTokens)
		d.Models[model] = sum
	}
}

// difference returns what was spent between two states of a ledger.
func difference(now, before fleet.Ledger) (more fleet.Ledger) {
	if now.Turns <= before.Turns {
		return more
	}
	for name, u := range now.Models {
		old := before.Models[name]
		u.InputTokens -= old.InputTokens
		u.OutputTokens -= old.OutputTokens
		u.CacheReadInputTokens -= old.CacheReadInputTokens
		u.CacheCreationInputTokens -= old.CacheCreationInputTokens
		u.CostUSD -= old.CostUSD
		if u.InputTokens|u.OutputTokens|u.CacheReadInputTokens|u.CacheCreationInputTokens != 0 || u.CostUSD > 0 {
			if more.Models == nil {
				more.Models = make(map[string]message.ModelUsage)
			}
			more.Models[name] = u
		}
	}
	more.USD, more.Turns = max(0, now.USD-before.USD), now.Turns-before.Turns
	return more
}

// ModelsOf returns the usage of models as clients see it.
func ModelsOf(used map[string]message.ModelUsage) map[string]api.ModelUsage {
	if used == nil {
		return nil
	}
	all := make(map[string]api.ModelUsage, len(used))
	for name, u := range used {
		all[name] = api.ModelUsage(u)
	}
	return all
}

// LedgerModels returns the usage of models as the fleet counts it.
func LedgerModels(used map[string]api.ModelUsage) map[string]message.ModelUsage {
	if used == nil {
		return nil
	}
	all := make(map[string]message.ModelUsage, len(used))
	for name, u := range used {
		all[name] = message.ModelUsage(u)
	}
	return all
}
