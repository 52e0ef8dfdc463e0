package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/fleet/internal/dayspend"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/store"
)

// An outcome fits into a record however long the answer is, and what is left of a text is
// text.
func TestLongOutcomes(t *testing.T) {
	long := strings.Repeat("ä", maxOutcome) // two bytes each
	for name, o := range map[string]Ticket{
		"text":                 {Text: "x" + long},
		"result":               {Text: "x" + long, Result: &message.Result{Text: "x" + long, Header: message.Header{Raw: json.RawMessage(`{}`)}, NumTurns: 3}},
		"structured":           {Text: "short", Result: &message.Result{Text: "short", Header: message.Header{Raw: json.RawMessage(`{}`)}, NumTurns: 3, StructuredOutput: json.RawMessage(`"` + long + `"`)}},
		"output without it":    {Text: "short", Output: json.RawMessage(`"` + long + `"`)},
		"short":                {Text: "short", Result: &message.Result{Text: "short", Header: message.Header{Raw: json.RawMessage(`{"a":1}`)}, StructuredOutput: json.RawMessage(`1`)}, Output: json.RawMessage(`1`)},
		"short output":         {Text: "short", Output: json.RawMessage(`1`)},
		"exactly what is kept": {Text: strings.Repeat("x", maxOutcome)},
	} {
		before := o
		o.shorten()
		encoded, err := json.Marshal(&o)
		if err != nil || len(encoded) > 3*maxOutcome || len(o.Text) > maxOutcome || !utf8.ValidString(o.Text) || len(o.Output) > maxOutcome {
			t.Errorf("%s: %d bytes, text %d, %v", name, len(encoded), len(o.Text), err)
		}
		if !strings.HasPrefix(before.Text, o.Text) || len(before.Text) <= maxOutcome && o.Text != before.Text || len(before.Text) > maxOutcome && len(o.Text) < maxOutcome-3 {
			t.Errorf("%s: %d of %d bytes are left", name, len(o.Text), len(before.Text))
		}
		switch r := o.Result; {
		case name == "short":
			if string(r.Raw) != `{"a":1}` || string(r.StructuredOutput) != "1" || o.Output != nil {
				t.Errorf("%s: %+v", name, o)
			}
		case name == "short output":
			if string(o.Output) != "1" {
				t.Errorf("%s: %s", name, o.Output)
			}
		case r != nil:
			if r.NumTurns != 3 || r.Raw != nil || r.StructuredOutput != nil || r.Text != o.Text || before.Result.Raw == nil || r == before.Result {
				t.Errorf("%s: %+v", name, r)
			}
		}
	}
}

// Options that cannot work are refused by name, and the others are filled in.
func TestOptions(t *testing.T) {
	session := func(context.Context, string) (*claude.Options, error) { return nil, nil }
	for want, change := range map[string]func(*Options){
		"Options.Store is missing":                      func(o *Options) { o.Store = nil },
		"Options.Session is missing":                    func(o *Options) { o.Session = nil },
		"Options.TTL: 999ms is less than 1s":            func(o *Options) { o.TTL = time.Second - time.Millisecond },
		"Options.Project":                               func(o *Options) { o.Project = "../p" },
		"Options.MaxLive is negative":                   func(o *Options) { o.MaxLive = -2 },
		"Options.Queue is negative":                     func(o *Options) { o.Queue = -1 },
		"Options.QueueAll is negative":                  func(o *Options) { o.QueueAll = -1 },
		"Options.Attempts is negative":                  func(o *Options) { o.Attempts = -1 },
		"Options.Resets is negative":                    func(o *Options) { o.Resets = -1 },
		"Options.IdleAfter is negative":                 func(o *Options) { o.IdleAfter = -1 },
		"Options.ShellGrace is negative":                func(o *Options) { o.ShellGrace = -1 },
		"Options.Grace is negative":                     func(o *Options) { o.Grace = -1 },
		"Options.Poll is negative":                      func(o *Options) { o.Poll = -1 },
		"Options.Keep is negative":                      func(o *Options) { o.Keep = -2 },
		"Options.StoreTimeout is negative":              func(o *Options) { o.StoreTimeout = -1 },
		"Options.DayBudgetUSD: -1 is not a budget":      func(o *Options) { o.DayBudgetUSD = -1 },
		"Options.TenantRate: 3 prompts in 2ns is not a": func(o *Options) { o.TenantRate = Rate{3, 2} },
	} {
		o := Options{Store: store.Memory(), Project: "p", Session: session}
		change(&o)
		if err := o.check(); err == nil || !strings.HasPrefix(err.Error(), "claude: fleet: "+want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	o := Options{Store: store.Memory(), Project: "p", MaxLive: NoCLIs, Keep: KeepForever}
	if err := o.check(); err != nil || o.MaxLive != NoCLIs || o.Keep != KeepForever {
		t.Errorf("a process without CLIs: %+v, %v", o, err)
	}
	o = Options{Store: store.Memory(), Project: "p", Session: session, Owner: "me"}
	if err := o.check(); err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintln(o.MaxLive, o.Queue, o.QueueAll, o.Attempts, o.Resets, o.IdleAfter, o.ShellGrace, o.Grace, o.TTL, o.Keep, o.StoreTimeout, o.Owner, o.Logger != nil, o.Measure != nil)
	if want := "8 100 10000 3 20 1m0s 10m0s 30s 30s 720h0m0s 10s me true true\n"; got != want {
		t.Errorf("filled in: %s, want %s", got, want)
	}
}

// The limits of a conversation are its own where it has some, and those of all others
// where it has none.
func TestOwnLimits(t *testing.T) {
	all := Options{BudgetUSD: 1, Rate: Rate{2, time.Hour}, MaxMemory: 3, MaxProcesses: 4}
	f := assemble(t.Context(), all)
	usual := ConversationLimits{1, Rate{2, time.Hour}, 3, 4}
	for want, own := range map[ConversationLimits]ConversationLimits{
		usual:                         {},
		{9, usual.Rate, 3, 4}:         {BudgetUSD: 9},
		{1, Rate{9, time.Hour}, 3, 4}: {Rate: Rate{9, time.Hour}},
		{1, usual.Rate, 9, 4}:         {MaxMemory: 9},
		{1, usual.Rate, 3, 9}:         {MaxProcesses: 9},
	} {
		f.opts.LimitsOf = func(key string) ConversationLimits {
			if key != "ada" {
				t.Errorf("asked for %q", key)
			}
			return own
		}
		if got, err := f.budgets.limits("ada"); err != nil || got != want {
			t.Errorf("%+v: %+v, %v", own, got, err)
		}
	}
	for _, bad := range []ConversationLimits{{BudgetUSD: -1}, {BudgetUSD: math.NaN()}, {Rate: Rate{1, 0}}, {MaxMemory: -1}, {MaxProcesses: -1}} {
		f.opts.LimitsOf = func(string) ConversationLimits { return bad }
		_, err := f.budgets.limits("ada")
		if at, ok := errors.AsType[*ConversationError](err); !ok || at.Key != "ada" || !strings.Contains(err.Error(), "LimitsOf") {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// Of the daily budgets, that of the tenant comes first, and its own before that of all
// tenants. A budget is spent when all of it is.
func TestBudgetsOfADay(t *testing.T) {
	of := func(tenant string) float64 {
		return map[string]float64{"rich": 50, "bad": -1, "odd": math.NaN()}[tenant]
	}
	day := dayspend.Of(time.Date(2026, 3, 1, 5, 0, 0, 0, time.UTC))
	ends := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		key           string
		budgets       dayBudgets
		tenant, fleet float64 // spent
		want          string  // whose budget is spent
		ofUSD         float64
	}{
		{"acme/a", dayBudgets{100, 10, of}, 9.99, 99.99, "", 0},
		{"acme/a", dayBudgets{100, 10, of}, 10, 20, "acme", 10},
		{"acme/a", dayBudgets{100, 10, nil}, 10, 200, "acme", 10},
		{"acme/a", dayBudgets{100, 0, nil}, 99, 99, "", 0},
		{"acme/a", dayBudgets{100, 0, nil}, 1, 100, "fleet", 100},
		{"rich/a", dayBudgets{100, 10, of}, 49, 60, "", 0},
		{"rich/a", dayBudgets{100, 10, of}, 50, 60, "rich", 50},
		{"ada", dayBudgets{100, 10, of}, 99, 60, "", 0}, // has no tenant
		{"ada", dayBudgets{100, 10, of}, 0, 101, "fleet", 100},
		{"ada", dayBudgets{0, 10, of}, 0, 1e9, "", 0},
		{"bad/a", dayBudgets{100, 10, of}, 0, 0, "error", 0},
		{"odd/a", dayBudgets{100, 10, of}, 0, 0, "error", 0},
	} {
		err := c.budgets.spent(c.key, dayspend.Spent{Day: day, USD: c.fleet, TenantUSD: c.tenant})
		spent, ok := errors.AsType[*BudgetError](err)
		switch {
		case c.want == "":
			if err != nil {
				t.Errorf("%+v: %v", c, err)
			}
		case c.want == "error":
			if at, named := errors.AsType[*ConversationError](err); ok || !named || at.Key != c.key || errors.Is(err, ErrBudget) {
				t.Errorf("%+v: %v", c, err)
			}
		case !ok || !errors.Is(err, ErrBudget) || spent.OfUSD != c.ofUSD || !spent.Resets.Equal(ends) || spent.Key != "":
			t.Errorf("%+v: %+v", c, err)
		case c.want == "fleet":
			if spent.Tenant != "" || spent.CostUSD != c.fleet || !strings.Contains(err.Error(), "the fleet") {
				t.Errorf("%+v: %+v", c, spent)
			}
		default:
			if spent.Tenant != c.want || spent.CostUSD != c.tenant || !strings.Contains(err.Error(), `tenant "`+c.want+`"`) || !strings.Contains(err.Error(), "2026-03-02T00:00:00Z") {
				t.Errorf("%+v: %+v", c, spent)
			}
		}
	}
	if (&dayBudgets{}).any() || !(&dayBudgets{fleet: 1}).any() || !(&dayBudgets{tenant: 1}).any() || !(&dayBudgets{of: of}).any() {
		t.Error("a budget is not counted, or none is")
	}
}

// A conversation that waits for the next day is forgotten only if it was not noted again
// for another one.
func TestHeldToday(t *testing.T) {
	var h heldToday
	today, tomorrow := time.Unix(1000, 0), time.Unix(2000, 0)
	h.add("ada", &BudgetError{Resets: today})
	h.add("bob", &ConversationError{"bob", &BudgetError{Resets: today}})
	h.add("eve", &BudgetError{}) // its own budget, which no day ends
	h.add("joe", errUncounted)
	if got := slices.Sorted(maps.Keys(h.all())); !slices.Equal(got, []string{"ada", "bob"}) {
		t.Errorf("held are %q", got)
	}
	h.add("ada", &BudgetError{Resets: tomorrow})
	h.drop("ada", today)
	h.drop("bob", today)
	if got := h.all(); len(got) != 1 || !got["ada"].Equal(tomorrow) {
		t.Errorf("held are %v", got)
	}
}

// Rates are dropped when they no longer limit anything, and only then.
func TestRatesForgotten(t *testing.T) {
	r, now := make(rates), time.Unix(1e9, 0)
	rate := Rate{1, time.Minute}
	for n := range 3000 {
		if wait := r.take(rate, fmt.Sprint("old ", n), now); wait != 0 {
			t.Fatalf("prompt %d waits %v", n, wait)
		}
	}
	later := now.Add(time.Hour)
	for n := 0; n < 1100 && len(r) > 2000; n++ {
		r.take(rate, fmt.Sprint("new ", n), later)
	}
	if len(r) > 2000 {
		t.Errorf("%d rates are kept", len(r))
	}
	if wait := r.take(rate, "new 0", later.Add(time.Second)); wait != 59*time.Second {
		t.Errorf("one that counts waits %v", wait)
	}
	r.giveBack(rate, "new 0")
	if wait := r.take(rate, "new 0", later.Add(time.Second)); wait != 0 {
		t.Errorf("one that was given back waits %v", wait)
	}
	if r.take(Rate{}, "free", later) != 0 || !r["free"].IsZero() {
		t.Error("a conversation without a rate is counted")
	}
}

// A prompt is offered to a conversation only if nothing at all prevents it.
func TestTakesOffers(t *testing.T) {
	for name, change := range map[string]func(*conversation){
		"at work":             func(c *conversation) { c.resting = false },
		"offered another":     func(c *conversation) { c.offered = new(offer) },
		"wanted":              func(c *conversation) { c.Wanted = true },
		"stopped":             func(c *conversation) { c.Stopped = true },
		"has a prompt":        func(c *conversation) { c.waiting = []string{"x"} },
		"is about to get one": func(c *conversation) { c.reserved = 1 },
	} {
		c := &conversation{resting: true}
		if !c.takesOffers() {
			t.Fatal("one that rests takes no offer")
		}
		if change(c); c.takesOffers() {
			t.Errorf("one that is %s takes an offer", name)
		}
	}
}

// A conversation stays in memory for each single reason, and for no other.
func TestForgetConversation(t *testing.T) {
	for name, change := range map[string]func(*conversation){
		"awake":    func(c *conversation) { c.Awake = true },
		"asking":   func(c *conversation) { c.Asking = true },
		"prompts":  func(c *conversation) { c.waiting = []string{"x"} },
		"reserved": func(c *conversation) { c.reserved = 1 },
		"wanted":   func(c *conversation) { c.Wanted = true },
		"watched":  func(c *conversation) { c.watching = 1 },
	} {
		f := assemble(t.Context(), Options{})
		c := f.roster.conversation("acme/ada")
		change(c)
		if f.roster.forget(c); f.roster.active["acme/ada"] != c || c.Tenant != "acme" {
			t.Errorf("one with %s is forgotten", name)
		}
	}
	f := assemble(t.Context(), Options{})
	if f.roster.forget(f.roster.conversation("ada")); len(f.roster.active) != 0 {
		t.Error("one that sleeps is kept")
	}
}

// A prompt is over with these statuses, and with no others.
func TestStatusDone(t *testing.T) {
	for status, want := range map[PromptStatus]bool{
		PromptQueued: false, PromptRunning: false, PromptWaiting: false, PromptStuck: false, "": false, "new": false,
		PromptAnswered: true, PromptFailed: true, PromptCancelled: true, PromptExpired: true,
	} {
		if status.Done() != want {
			t.Errorf("%q is done: %v", status, !want)
		}
	}
}

// Live text is bounded, keeps blocks apart by their index, and shows what kind they are.
func TestLiveTextBounds(t *testing.T) {
	var l liveText
	event := func(m message.StreamEvent) uint64 { _, n := l.add(&m); return n }
	start := func(i int) { event(message.StreamEvent{EventType: message.EventBlockStart, Index: i}) }
	delta := func(i int, d message.Delta) {
		event(message.StreamEvent{EventType: message.EventBlockDelta, Index: i, Delta: &d})
	}
	start(0) // whose answer is not known
	if u, _ := l.now(); len(u.blocks) != 0 {
		t.Errorf("a block of no answer: %+v", u)
	}
	event(message.StreamEvent{EventType: message.EventMessageStart, MessageID: "m1"})
	if n := event(message.StreamEvent{ParentToolUseID: "toolu_1", EventType: message.EventBlockStart}); n != 0 {
		t.Error("a subagent is shown")
	}
	for i := range 3 {
		start(i)
	}
	_, changed := l.now()
	delta(0, message.Delta{Type: message.DeltaText, Text: "said"})
	select {
	case <-changed:
	default:
		t.Error("readers are not told")
	}
	delta(1, message.Delta{Type: message.DeltaThinking, Thinking: "thought"})
	delta(2, message.Delta{Type: message.DeltaInputJSON, PartialJSON: "{"})
	delta(0, message.Delta{Type: message.DeltaText, Text: " more"})
	delta(7, message.Delta{Type: message.DeltaText, Text: "of no block"})
	delta(0, message.Delta{Type: "signature"})
	event(message.StreamEvent{EventType: message.EventBlockDelta, Index: 0})
	delta(1, message.Delta{Type: message.DeltaThinking, Thinking: strings.Repeat("x", maxLiveText)}) // too much
	delta(1, message.Delta{Type: message.DeltaThinking, Thinking: "y"})                              // would leave a gap
	u, _ := l.now()
	var got []string
	for _, b := range u.blocks {
		d := newDelta(b.delta, b.text)
		got = append(got, fmt.Sprintf("%d %s %s|%s|%s", b.start.Index, b.start.MessageID, d.Text, d.Thinking, d.PartialJSON))
	}
	if want := []string{"0 m1 said more||", "1 m1 |thought|", "2 m1 ||{"}; u.answer != "m1" || !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", u.answer, got, want)
	}
	l.add(&message.Result{Text: "done"})
	if u, _ := l.now(); u.answer != "" || len(u.blocks) != 0 || u.results != 1 || u.result.Text != "done" {
		t.Errorf("after the result: %+v", u)
	}
	l.end()
	if u, _ := l.now(); u.answer != "" || u.results != 1 {
		t.Errorf("after the end: %+v", u)
	}
}

// The cursor of the outcomes is that of the outcomes, and not a number of anything else.
func TestOutcomeCursor(t *testing.T) {
	for _, c := range []Cursor{"1", "outcome:", "outcome:-1", "outcome:x", "outcomes:1", "outcome:1 ", "outcome:99999999999999999999"} {
		if at, err := parseLogCursor(c); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%q: %d, %v", c, at, err)
		}
	}
	for _, at := range []int64{0, 1, math.MaxInt64} {
		if got, err := parseLogCursor(logCursor(at)); err != nil || got != at {
			t.Errorf("%d: %d, %v", at, got, err)
		}
	}
}

// A conversation that moves to another session keeps those before it, in order, and reads
// the new one from its beginning.
func TestMoveTo(t *testing.T) {
	var r record
	r.moveTo("one")
	if len(r.Older) != 0 || r.Session != "one" {
		t.Errorf("%+v", r)
	}
	r.Through = through{Answer: "m1"}
	before := r
	r.moveTo("two")
	r.moveTo("three")
	if !slices.Equal(r.sessions(), []string{"one", "two", "three"}) || !reflect.ValueOf(r.Through).IsZero() || len(before.Older) != 0 {
		t.Errorf("%+v", r)
	}
}

// What a list shows of a queue: all prompts count, one that has begun is noted, and the
// question of the first that waits.
func TestQueueState(t *testing.T) {
	var q queueState
	q.add(&queued{})
	if q != (queueState{queued: 1}) {
		t.Errorf("%+v", q)
	}
	q.add(&queued{Sent: true, Question: "q1"})
	q.add(&queued{Question: "q2"})
	if q != (queueState{queued: 3, begun: true, question: "q1"}) {
		t.Errorf("%+v", q)
	}
}

// The waits between attempts grow, and are bounded.
func TestRetryDelays(t *testing.T) {
	last := time.Duration(0)
	for attempt := range 100 {
		d := retryDelay(attempt)
		if d < last || d <= 0 || d > 10*time.Second || attempt > 10 && d != 10*time.Second || attempt == 0 && d > time.Second {
			t.Errorf("attempt %d after %v, before it %v", attempt, d, last)
		}
		last = d
	}
}

// The estimate of how long it takes until there is room is never less than a second,
// and grows with the queue.
func TestWaitEstimate(t *testing.T) {
	f := assemble(t.Context(), Options{MaxLive: 4})
	f.roster.turn = 10 * time.Second
	for prompts, want := range map[int]time.Duration{0: 10 * time.Second, 1: 10 * time.Second, 4: 10 * time.Second, 5: 20 * time.Second, 40: 100 * time.Second} {
		if got := f.roster.wait(prompts); got != want {
			t.Errorf("%d prompts: %v, want %v", prompts, got, want)
		}
	}
	f.roster.turn = time.Millisecond
	if got := f.roster.wait(1); got != time.Second {
		t.Errorf("short turns: %v", got)
	}
	f.opts.MaxLive = NoCLIs
	if got := f.roster.wait(3); got != time.Second {
		t.Errorf("without CLIs: %v", got)
	}
	f.roster.turn = time.Second
	f.roster.took(9 * time.Second)
	if f.roster.turn != 2*time.Second {
		t.Errorf("turns take %v", f.roster.turn)
	}
}

// A ticket that is not over shows the state of the conversation and its prompt.
func TestStanding(t *testing.T) {
	f := assemble(t.Context(), Options{Store: store.Memory(), Project: "p", StoreTimeout: patient})
	at := time.Unix(1000, 0)
	spent := map[string]keptLedger{}
	stuckAt := &stuck{Prompt: "p1", Reason: "no disk", Cause: CauseCLIFailed}
	for name, c := range map[string]struct {
		p    queued
		rec  record
		want Ticket
	}{
		"queued":       {queued{}, record{}, Ticket{Status: PromptQueued}},
		"running":      {queued{Sent: true}, record{}, Ticket{Status: PromptRunning}},
		"waiting":      {queued{Sent: true, Question: "q1"}, record{}, Ticket{Status: PromptWaiting, Question: "q1"}},
		"stuck":        {queued{Sent: true, Question: "q1"}, record{Stuck: stuckAt}, Ticket{Status: PromptStuck, Error: "no disk", Cause: CauseCLIFailed}},
		"cancelled":    {queued{Cancelled: at}, record{Stuck: stuckAt}, Ticket{Status: PromptCancelled, Error: "it was cancelled", Ended: at}},
		"behind stuck": {queued{ID: "p2"}, record{Stuck: stuckAt}, Ticket{Status: PromptQueued, Error: "its conversation is stuck at prompt p1: no disk", Cause: CauseCLIFailed}},
	} {
		if c.p.ID == "" {
			c.p.ID = "p1"
		}
		c.want.Prompt, c.rec.Spent = c.p.ID, spent
		if got := f.reports.standing(t.Context(), &c.p, &c.rec); fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// A start that fails for a reason that passes is given more time with each attempt, and one
// that no attempt can mend ends them.
func TestStartFailures(t *testing.T) {
	start := func(reason error) error { return fmt.Errorf("x: %w", &claude.StartError{Reason: reason}) }
	for _, c := range []struct {
		err             error
		slow, permanent bool
	}{
		{start(claude.ErrInitializeTimeout), true, false},
		{start(claude.ErrStore), true, false},
		{start(claude.ErrNotFound), false, true},
		{start(claude.ErrExited), false, false},
		{start(claude.ErrSpawn), false, false},
		{fmt.Errorf("x: %w", sessionError{errors.New("no such repository")}), false, true},
		{fmt.Errorf("x: %w", &claude.OptionError{}), false, true},
		{errors.New("x"), false, false},
	} {
		if slowStart(c.err) != c.slow || permanent(c.err) != c.permanent {
			t.Errorf("%v: slow %v, permanent %v", c.err, slowStart(c.err), permanent(c.err))
		}
	}
	for starts, want := range map[int]time.Duration{0: 0, 1: 2 * time.Minute, 2: 4 * time.Minute, 4: 16 * time.Minute, 9: 16 * time.Minute} {
		w := &worker{starts: starts}
		var limits claude.Timeouts
		if w.patient(&limits); limits.Initialize != want {
			t.Errorf("after %d starts: %v", starts, limits.Initialize)
		}
		limits.Initialize = claude.NoTimeout
		if w.patient(&limits); limits.Initialize != claude.NoTimeout {
			t.Errorf("without a limit: %v", limits.Initialize)
		}
	}
	p := &queued{Begun: 3, Resets: 2, Starts: 1, Losses: 4, Since: "m1"}
	if p.startAgain(); p.Begun != 0 || p.Resets != 0 || p.Starts != 0 || p.Losses != 0 || p.Since != "m1" {
		t.Errorf("%+v", p)
	}
}
