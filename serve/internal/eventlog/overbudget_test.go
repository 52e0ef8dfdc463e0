package eventlog

import (
	"fmt"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/serve/api"
)

// The last turns over budget of each day are kept. A prompt that such a turn took in is
// not one, and the sums that were given stay as they are.
func TestOverBudgetIsBounded(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var days map[string]DaySum
	for i := range maxOverDay + 3 {
		before := days
		days = book(before, &api.Turn{Prompt: fmt.Sprint(i), Ended: at, OverBudget: true, CostUSD: 1}, fleet.Ledger{})
		book(before, &api.Turn{Prompt: "a write that failed", Ended: at, OverBudget: true}, fleet.Ledger{})
		days = book(days, &api.Turn{Prompt: "taken in", PartOf: fmt.Sprint(i), Ended: at, OverBudget: true}, fleet.Ledger{})
		if over := days["2026-01-02"].Over; over[len(over)-1].Prompt != fmt.Sprint(i) {
			t.Fatalf("after turn %d: %+v", i, over)
		}
	}
	over := days["2026-01-02"].Over
	if len(over) != maxOverDay || over[0] != (overTurn{"3", at, 1}) || over[maxOverDay-1].Prompt != fmt.Sprint(maxOverDay+2) {
		t.Errorf("%+v", over)
	}
}

// A conversation that is over budget again and again, for years, keeps only the last
// turns, whatever day they were on: its head must fit into a record. The sums stay.
func TestOverBudgetOfYears(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var days map[string]DaySum
	n := long.Pick(100, 400)
	for i := range n {
		before := days
		for range maxOverDay - 1 {
			days = book(days, &api.Turn{Prompt: fmt.Sprint(i), Ended: at.AddDate(0, 0, i), OverBudget: true, CostUSD: 1}, fleet.Ledger{})
		}
		if i == 10 && overIn(before) != MaxOver {
			t.Errorf("the sums that were given have %d", overIn(before))
		}
	}
	last := at.AddDate(0, 0, n-1).Format(time.DateOnly)
	if got := overIn(days); got != MaxOver || len(days[last].Over) != maxOverDay-1 || len(days) != n || days["2026-01-02"].Turns != maxOverDay-1 {
		t.Errorf("%d are kept of %d days: %+v, %+v", got, len(days), days[last], days["2026-01-02"])
	}
}

// overIn counts the turns over budget that are kept.
func overIn(days map[string]DaySum) (n int) {
	for _, day := range days {
		n += len(day.Over)
	}
	return n
}
