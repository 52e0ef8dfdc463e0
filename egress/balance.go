package egress

import (
	"maps"
	"slices"
	"time"
)

// Amount is money and tokens.
type Amount struct {
	USD float64 `json:"usd,omitzero"`
	// Tokens counts all of them: input, output, and those written to and read from
	// the cache.
	Tokens int64 `json:"tokens,omitzero"`
}

func (a Amount) plus(b Amount) Amount { return Amount{a.USD + b.USD, a.Tokens + b.Tokens} }

// Budget bounds what a conversation or a tenant spends. A zero stands for no limit.
//
// A budget admits requests for as long as something of it is left, so one answer can
// exceed it: the answer that crosses the line. Requests at the same time cannot exceed it
// together. Each reserves the most that it is expected to cost, and one that only the
// reservations of others keep out waits for them.
type Budget struct {
	USD    float64
	Tokens int64
	// Every is how often the budget begins anew: 24 hours are days of UTC. Zero: never.
	Every time.Duration
	// RequestsPerMinute bounds the rate. That many may come at once, and then as many in
	// each minute. A request beyond it gets status 429, which the CLI repeats later.
	RequestsPerMinute int
}

// Balance is the state of the account of a conversation or a tenant.
type Balance struct {
	// Spent is the spending of the period that began at Since.
	Spent Amount    `json:"spent,omitzero"`
	Since time.Time `json:"since,omitzero"`
	// Total and Requests count from the beginning.
	Total    Amount `json:"total,omitzero"`
	Requests int64  `json:"requests,omitzero"`
	// Held are the reservations of requests that are under way, by their ids.
	Held map[string]Hold `json:"held,omitzero"`
	// Due is when the next request would come if all came evenly.
	Due time.Time `json:"due,omitzero"`
}

// Hold is a reservation. At Until, a request whose end was never reported counts as spent:
// the program that made it was killed, and the answer may have been paid for.
type Hold struct {
	Amount Amount    `json:"amount"`
	Until  time.Time `json:"until"`
}

func (a Balance) clone() Balance {
	a.Held = maps.Clone(a.Held)
	return a
}

// at returns the account as it is at a time: reservations that have ended are spent, and
// a new period begins with nothing spent.
func (a Balance) at(now time.Time, every time.Duration) Balance {
	a = a.clone()
	for _, id := range slices.Sorted(maps.Keys(a.Held)) {
		if h := a.Held[id]; !now.Before(h.Until) {
			a.spend(id, h.Amount)
		}
	}
	if every > 0 {
		if since := now.UTC().Truncate(every); since.After(a.Since) {
			a.Spent, a.Since = Amount{}, since
		}
	}
	return a
}

// spend replaces a reservation with the cost of the request.
func (a *Balance) spend(id string, cost Amount) {
	delete(a.Held, id)
	a.Spent, a.Total = a.Spent.plus(cost), a.Total.plus(cost)
}

// held is the sum of the reservations.
func (a Balance) held() (sum Amount) {
	for _, h := range a.Held {
		sum = sum.plus(h.Amount)
	}
	return sum
}

// verdict is the decision of an account about a request.
type verdict int

const (
	admitted verdict = iota
	waits            // for the reservations of other requests
	tooOften
	spent
)

// judge decides whether an account has room for a request.
func (a Balance) judge(l Budget, ask Amount) verdict {
	held := a.held()
	result := admitted
	for _, limit := range [...]struct{ most, spent, held, ask float64 }{
		{l.USD, a.Spent.USD, held.USD, ask.USD},
		{float64(l.Tokens), float64(a.Spent.Tokens), float64(held.Tokens), float64(ask.Tokens)},
	} {
		switch {
		case limit.most <= 0:
		case limit.spent >= limit.most:
			return spent
		case len(a.Held) > 0 && limit.spent+limit.held+limit.ask > limit.most:
			result = waits
		}
	}
	return result
}

// pace takes a request into the rate, or returns how long it has to wait. It is the
// generic cell rate algorithm.
func (a *Balance) pace(perMinute int, now time.Time) (wait time.Duration) {
	if perMinute <= 0 {
		return 0
	}
	each := time.Minute / time.Duration(perMinute)
	due := a.Due
	if due.Before(now) {
		due = now
	}
	if latest := now.Add(time.Minute); due.After(latest) { // written under another limit, or by another clock
		due = latest
	}
	if wait := due.Sub(now) - (time.Minute - each); wait > 0 {
		return wait
	}
	a.Due = due.Add(each)
	return 0
}

// request is a reservation that several accounts have to admit.
type request struct {
	id    string
	hold  Hold
	limit []Budget // of each account
}

// refusal is why a request is not admitted, and by which account.
type refusal struct {
	verdict verdict
	account int
	spent   Amount
	wait    time.Duration
}

// reserve changes accounts so that they hold the reservation of a request, or returns why
// they do not; then nothing is changed. To reserve again under the same id changes
// nothing: the fate of the first attempt may be unknown.
func (r request) reserve(accounts []Balance, now time.Time) ([]Balance, *refusal) {
	next := make([]Balance, len(accounts))
	for i, a := range accounts {
		a = a.at(now, r.limit[i].Every)
		next[i] = a
		if _, again := a.Held[r.id]; again {
			continue
		}
		if v := a.judge(r.limit[i], r.hold.Amount); v != admitted {
			return nil, &refusal{verdict: v, account: i, spent: a.Spent}
		}
		if wait := next[i].pace(r.limit[i].RequestsPerMinute, now); wait > 0 {
			return nil, &refusal{verdict: tooOften, account: i, wait: wait}
		}
		if next[i].Held == nil {
			next[i].Held = make(map[string]Hold)
		}
		next[i].Held[r.id] = r.hold
		next[i].Requests++
	}
	return next, nil
}

// heldBy reports whether an account holds the reservation of a request.
func (r request) heldBy(accounts []Balance) bool {
	return slices.ContainsFunc(accounts, func(a Balance) bool {
		_, held := a.Held[r.id]
		return held
	})
}

// settle corrects accounts to the actual cost of a request. One whose reservation has
// ended was counted then.
func (r request) settle(accounts []Balance, cost Amount, now time.Time) []Balance {
	next := make([]Balance, len(accounts))
	for i, a := range accounts {
		a = a.at(now, r.limit[i].Every)
		if _, open := a.Held[r.id]; open {
			a.spend(r.id, cost)
		}
		next[i] = a
	}
	return next
}
