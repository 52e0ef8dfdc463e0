package serve

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve/internal/eventlog"
	"github.com/claude-agent-go/claude/store"
)

// childless is a fleet without conversations.
type childless struct{ fleet.Conversations }

func (childless) List(context.Context) iter.Seq2[fleet.ConversationInfo, error] {
	return func(func(fleet.ConversationInfo, error) bool) {}
}

// A budget that is spent to the cent is spent.
func TestBudgetExactlySpent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // a day that does not end
		for usd, refused := range map[float64]bool{0: false, 0.125: false, 0.25: true, 0.375: true} {
			db := store.Memory()
			n := note{Key: "ada/1", Owner: "ada", Preset: "shop"}
			sp := &spendings{fleet: childless{}, notes: noteStore{db, "p"}, book: eventlog.NewStore(db, "p"), records: db, project: "p", presets: []Preset{{Name: "shop", DailyUSD: 0.25}}}
			if err := sp.notes.create(t.Context(), &n); err != nil {
				t.Fatal(err)
			}
			today := time.Now().UTC().Format(time.DateOnly)
			head := eventlog.Head{First: 1, Days: map[string]eventlog.DaySum{today: {Turns: 1, CostUSD: usd}}}
			if _, _, err := sp.book.Put(t.Context(), n.Key, head, 0); err != nil {
				t.Fatal(err)
			}
			if err := sp.checkBudget(t.Context(), &n); budget.is(err) != refused || !refused && err != nil {
				t.Errorf("$%v of $0.25 are spent: %v", usd, err)
			}
		}
	})
}
