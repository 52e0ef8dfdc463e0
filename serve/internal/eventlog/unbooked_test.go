package eventlog

import (
	"testing"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve/api"
)

// The cost that the fleet reports when a log is closed is added to its sums once,
// however often the fleet is asked, and even when it has forgotten some of it by then.
func TestUnbooked(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 4, 23, 0, 0, 0, time.UTC)
	later := at.Add(2 * time.Hour)
	one, two := api.Turn{Prompt: "1", CostUSD: 1, Ended: at}, api.Turn{Prompt: "2", CostUSD: 2, Ended: later}
	head := Head{
		Days:       book(nil, &api.Turn{CostUSD: 8, Ended: at}, fleet.Ledger{}),
		Unprompted: fleet.Ledger{USD: 4, Turns: 1},
	}
	var rest *unbooked
	for name, asked := range map[string]func(*unbooked) *unbooked{
		"once": func(*unbooked) *unbooked {
			return rest.With([]api.Turn{one, two}, fleet.Ledger{USD: 20, Turns: 2}, later)
		},
		"again": func(u *unbooked) *unbooked {
			return u.With([]api.Turn{two, one}, fleet.Ledger{USD: 20, Turns: 2}, later)
		},
		"forgotten": func(u *unbooked) *unbooked { return u.With(nil, fleet.Ledger{}, later.Add(48*time.Hour)) },
		"half of it": func(u *unbooked) *unbooked {
			return u.With([]api.Turn{one}, fleet.Ledger{USD: 20, Turns: 2}, later)
		},
	} {
		first := rest.With([]api.Turn{one, two}, fleet.Ledger{USD: 20, Turns: 2}, later)
		head.Erasing = &Erasure{Unbooked: asked(first)}
		days := head.AllDays()
		if a, b := days["2026-03-04"], days["2026-03-05"]; len(days) != 2 || a.CostUSD != 9 || a.Turns != 2 || b.CostUSD != 2+16 || b.Turns != 1 {
			t.Errorf("%s: %+v", name, days)
		}
	}
	if len(head.Days) != 1 || head.Days["2026-03-04"].CostUSD != 8 {
		t.Errorf("the sums of the log are %+v", head.Days)
	}
}
