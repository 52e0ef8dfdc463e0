package serve

import (
	"slices"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/internal/eventlog"
)

// A query selects whole days in UTC: from the first on, up to and without the last.
func TestSelectsDay(t *testing.T) {
	t.Parallel()
	day := func(n, hour int) time.Time { return time.Date(2026, 3, n, hour, 0, 0, 0, time.UTC) }
	for _, c := range []struct {
		q    api.UsageQuery
		want []string
	}{
		{api.UsageQuery{}, []string{"2026-03-03", "2026-03-04", "2026-03-05"}},
		{api.UsageQuery{From: day(4, 0)}, []string{"2026-03-04", "2026-03-05"}},
		{api.UsageQuery{From: day(4, 23)}, []string{"2026-03-04", "2026-03-05"}},
		{api.UsageQuery{From: day(4, 23).In(time.FixedZone("east", 5*3600))}, []string{"2026-03-04", "2026-03-05"}},
		{api.UsageQuery{To: day(5, 0)}, []string{"2026-03-03", "2026-03-04"}},
		{api.UsageQuery{From: day(4, 0), To: day(5, 0)}, []string{"2026-03-04"}},
		{api.UsageQuery{From: day(6, 0)}, nil},
	} {
		var got []string
		for _, name := range []string{"2026-03-03", "2026-03-04", "2026-03-05", "never"} {
			if selectsDay(&c.q, name) {
				got = append(got, name)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q", c.q, got)
		}
	}
	if got := firstDay(&api.UsageQuery{From: time.Date(2026, 3, 5, 2, 0, 0, 0, time.FixedZone("east", 5*3600))}); got != "2026-03-04" {
		t.Errorf("the first day is %q", got)
	}
	if got := firstDay(&api.UsageQuery{}); got != "" {
		t.Errorf("the first day of all is %q", got)
	}
}

// The rows of a day add up to its sum, and a group has only the members it is made of.
func TestRowsOfDay(t *testing.T) {
	t.Parallel()
	d := eventlog.DaySum{Turns: 3, CostUSD: 1.5, Models: map[string]eventlog.ModelSum{"opus": {Turns: 2, CostUSD: 1, Input: 1, Output: 2, Cached: 4}, "haiku": {Turns: 1, CostUSD: 0.5, Input: 8, Output: 16, Cached: 32}}}
	n := note{Owner: "ada", Preset: "shop"}
	total := api.UsageRow{Day: "d", User: "ada", Preset: "shop", Turns: 3, CostUSD: 1.5, Input: 9, Output: 18, Cached: 36}
	if got := rowsOf(&d, "d", &n, false); len(got) != 1 || got[0] != total {
		t.Errorf("%+v", got)
	}
	var sum api.UsageRow
	rows := rowsOf(&d, "d", &n, true)
	for i := range rows {
		addRow(&sum, &rows[i])
	}
	if len(rows) != 2 || rows[0].Model != "haiku" || rows[1].Model != "opus" || rows[1].User != "ada" || rows[1].Preset != "shop" || rows[1].Day != "d" ||
		sum != (api.UsageRow{Turns: 3, CostUSD: 1.5, Input: 9, Output: 18, Cached: 36}) {
		t.Errorf("%+v", rows)
	}
	row := api.UsageRow{Day: "d", User: "u", Preset: "p", Model: "m", Turns: 1, CostUSD: 1, Input: 1, Output: 1, Cached: 1}
	for by, want := range map[api.UsageGroup]api.UsageRow{api.ByDay: {Day: "d"}, api.ByUser: {User: "u"}, api.ByPreset: {Preset: "p"}, api.ByModel: {Model: "m"}} {
		if got := groupOf(&api.UsageQuery{By: []api.UsageGroup{by}}, &row); got != want {
			t.Errorf("by %s: %+v", by, got)
		}
	}
	if got := groupOf(&api.UsageQuery{By: api.UsageGroups()}, &row); got != (api.UsageRow{Day: "d", User: "u", Preset: "p", Model: "m"}) {
		t.Errorf("by all: %+v", got)
	}
}

// Waits grow, and are bounded.
func TestWaits(t *testing.T) {
	t.Parallel()
	for attempt, want := range map[int]time.Duration{0: 50 * time.Millisecond, 1: 100 * time.Millisecond, 6: 3200 * time.Millisecond, 7: 5 * time.Second, 1000: 5 * time.Second} {
		if got := backoff(attempt); got != want {
			t.Errorf("attempt %d waits %v", attempt, got)
		}
	}
	for quiet, want := range map[time.Duration]time.Duration{0: time.Second, 10 * time.Second: time.Second, 50 * time.Second: 5 * time.Second, 10 * time.Minute: time.Minute, 50 * time.Minute: 5 * time.Minute, 10 * time.Hour: 5 * time.Minute} {
		if got := lookPause(quiet); got != want {
			t.Errorf("after %v of quiet it waits %v", quiet, got)
		}
	}
}
