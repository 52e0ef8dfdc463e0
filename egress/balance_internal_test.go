package egress

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)

func usd(v float64) Amount { return Amount{USD: v} }

func TestReserve(t *testing.T) {
	held := func(sum Amount) map[string]Hold { return map[string]Hold{"other": {sum, noon.Add(time.Hour)}} }
	for _, test := range []struct {
		name  string
		have  Balance
		limit Budget
		ask   Amount
		want  verdict
	}{
		{"no limit", Balance{Spent: usd(100)}, Budget{}, usd(1), admitted},
		{"something is left, though less than asked", Balance{Spent: usd(4.99)}, Budget{USD: 5}, usd(2), admitted},
		{"spent to the cent", Balance{Spent: usd(5)}, Budget{USD: 5}, usd(0), spent},
		{"overspent", Balance{Spent: usd(7)}, Budget{USD: 5}, usd(1), spent},
		{"both fit", Balance{Spent: usd(1), Held: held(usd(2))}, Budget{USD: 5}, usd(2), admitted},
		{"another holds the rest", Balance{Spent: usd(1), Held: held(usd(2))}, Budget{USD: 5}, usd(2.5), waits},
		{"spent beats waiting", Balance{Spent: usd(5), Held: held(usd(2))}, Budget{USD: 5}, usd(1), spent},
		{"tokens are left", Balance{Spent: Amount{Tokens: 99}}, Budget{Tokens: 100}, Amount{Tokens: 50}, admitted},
		{"tokens are spent", Balance{Spent: Amount{Tokens: 100}}, Budget{USD: 5, Tokens: 100}, usd(1), spent},
		{"tokens are held", Balance{Held: held(Amount{Tokens: 60})}, Budget{USD: 5, Tokens: 100}, Amount{Tokens: 50}, waits},
		{"too often", Balance{Due: noon.Add(time.Minute)}, Budget{RequestsPerMinute: 6}, usd(1), tooOften},
		{"often enough", Balance{Due: noon.Add(50 * time.Second)}, Budget{RequestsPerMinute: 6}, usd(1), admitted},
	} {
		r := request{id: "this", hold: Hold{test.ask, noon.Add(time.Minute)}, limit: []Budget{test.limit}}
		before := test.have.clone()
		next, refused := r.reserve([]Balance{test.have}, noon)
		got := admitted
		if refused != nil {
			got = refused.verdict
		}
		if got != test.want {
			t.Errorf("%s: verdict %d, want %d", test.name, got, test.want)
		}
		if !reflect.DeepEqual(test.have, before) {
			t.Errorf("%s: the account was changed in place", test.name)
		}
		if (next == nil) != (got != admitted) {
			t.Errorf("%s: next is %v", test.name, next)
		}
	}
}

// A tenant that refuses leaves the conversation as it was.
func TestReserveAllOrNothing(t *testing.T) {
	r := request{id: "a", hold: Hold{usd(1), noon.Add(time.Minute)}, limit: []Budget{{USD: 5}, {USD: 2}}}
	next, refused := r.reserve([]Balance{{}, {Spent: usd(2)}}, noon)
	if next != nil || refused == nil || refused.account != 1 || refused.verdict != spent {
		t.Errorf("next %v, refused %+v", next, refused)
	}
}

// The fate of a write may be unknown, so each step can be repeated.
func TestReserveAndSettleAgain(t *testing.T) {
	r := request{id: "a", hold: Hold{usd(1), noon.Add(time.Minute)}, limit: []Budget{{USD: 1, RequestsPerMinute: 1}}}
	once, refused := r.reserve([]Balance{{}}, noon)
	if refused != nil {
		t.Fatalf("refused: %+v", refused)
	}
	twice, refused := r.reserve(once, noon)
	if refused != nil || !reflect.DeepEqual(once, twice) {
		t.Errorf("again: %+v, refused %+v; want %+v", twice, refused, once)
	}
	settled := r.settle(twice, usd(0.25), noon)
	again := r.settle(settled, usd(0.25), noon)
	if a := again[0]; a.Spent != usd(0.25) || a.Total != usd(0.25) || a.Requests != 1 || len(a.Held) != 0 {
		t.Errorf("settled twice: %+v", a)
	}
}

// A reservation whose request never ended counts in full, and a late end adds nothing.
func TestHoldOfAKilledProcess(t *testing.T) {
	r := request{id: "a", hold: Hold{usd(3), noon.Add(time.Minute)}, limit: []Budget{{USD: 5}}}
	accounts, _ := r.reserve([]Balance{{Spent: usd(2)}}, noon)
	if got := accounts[0].at(noon.Add(59*time.Second), 0); got.Spent != usd(2) {
		t.Errorf("before its end: %+v", got)
	}
	later := noon.Add(time.Minute)
	if got := accounts[0].at(later, 0); got.Spent != usd(5) || len(got.Held) != 0 {
		t.Errorf("at its end: %+v", got)
	}
	next := request{id: "b", limit: r.limit}
	if _, refused := next.reserve(accounts, later); refused == nil || refused.verdict != spent {
		t.Errorf("the next request: %+v", refused)
	}
	if got := r.settle(accounts, usd(1), later); got[0].Spent != usd(5) {
		t.Errorf("settled late: %+v", got)
	}
}

func TestPeriods(t *testing.T) {
	day := Budget{USD: 5, Every: 24 * time.Hour}
	a := Balance{}.at(noon, day.Every)
	a.spend("", usd(6))
	if a.judge(day, usd(1)) != spent {
		t.Error("the day's budget is not spent")
	}
	if next := a.at(noon.Add(11*time.Hour+59*time.Minute), day.Every); next.judge(day, usd(1)) != spent {
		t.Error("the budget began anew before midnight")
	}
	next := a.at(noon.Add(12*time.Hour), day.Every)
	if next.judge(day, usd(1)) != admitted || next.Spent != (Amount{}) || next.Total != usd(6) {
		t.Errorf("at midnight: %+v", next)
	}
	if back := next.at(noon, day.Every); back.Since != next.Since {
		t.Errorf("the clock went back, and the period with it: %+v", back)
	}
}

func TestPace(t *testing.T) {
	var a Balance
	now := noon
	for i := range 3 {
		if wait := a.pace(3, now); wait != 0 {
			t.Fatalf("request %d waits %v", i, wait)
		}
	}
	if wait := a.pace(3, now); wait != 20*time.Second {
		t.Errorf("the fourth waits %v, want 20s", wait)
	}
	if wait := a.pace(3, now.Add(20*time.Second)); wait != 0 {
		t.Errorf("after 20s it waits %v", wait)
	}
	a.Due = now.Add(24 * time.Hour)
	if wait := a.pace(3, now); wait <= 0 || wait > time.Minute {
		t.Errorf("a clock far ahead holds up for %v", wait)
	}
}

// Whatever comes together: a budget is exceeded by at most the answer that crosses it.
func TestBudgetsHoldTogether(t *testing.T) {
	const budget, most = 10.0, 3.0
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		accounts := []Balance{{}}
		limit := []Budget{{USD: budget}}
		open := make(map[string]request)
		now := noon
		for step := range 300 {
			now = now.Add(time.Duration(random.IntN(20)) * time.Second)
			if random.IntN(2) == 0 {
				r := request{id: fmt.Sprint(step), limit: limit, hold: Hold{usd(random.Float64() * most), now.Add(time.Minute)}}
				if next, refused := r.reserve(accounts, now); refused == nil {
					accounts, open[r.id] = next, r
				}
			} else if ids := slices.Sorted(maps.Keys(open)); len(ids) > 0 {
				r := open[ids[random.IntN(len(ids))]]
				delete(open, r.id)
				if random.IntN(5) > 0 { // else its process is killed
					accounts = r.settle(accounts, usd(random.Float64()*r.hold.Amount.USD), now)
				}
			}
			a := accounts[0].at(now, 0)
			if a.Spent.USD > budget+most {
				t.Fatalf("seed %d, step %d: $%.2f of $%.2f spent", seed, step, a.Spent.USD, budget)
			}
			if len(a.Held) > 1 && a.Spent.USD+a.held().USD > budget+most {
				t.Fatalf("seed %d, step %d: $%.2f spent and $%.2f held of $%.2f", seed, step, a.Spent.USD, a.held().USD, budget)
			}
		}
	}
}
