package eventlog

import (
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/serve/api"
)

// A turn and what was spent besides it are booked on its day in UTC, for each model, and
// the sums that were given stay as they are.
func TestBook(t *testing.T) {
	t.Parallel()
	east := time.FixedZone("east", 5*3600)
	at := time.Date(2026, 3, 5, 2, 0, 0, 0, east) // the day before, in UTC
	turn := func(usd float64, models map[string]api.ModelUsage) *api.Turn {
		return &api.Turn{Prompt: "p", CostUSD: usd, Models: models, Ended: at}
	}
	opus := api.ModelUsage{InputTokens: 1, OutputTokens: 2, CacheReadInputTokens: 4, CacheCreationInputTokens: 8, CostUSD: 0.25}
	first := book(nil, turn(0.5, map[string]api.ModelUsage{"opus": opus, "haiku": {InputTokens: 16, CostUSD: 0.25}}), fleet.Ledger{})
	want := map[string]DaySum{"2026-03-04": {Turns: 1, CostUSD: 0.5, Models: map[string]ModelSum{
		"haiku": {Turns: 1, CostUSD: 0.25, Input: 16}, "opus": {CostUSD: 0.25, Input: 1, Output: 2, Cached: 12},
	}}}
	if !reflect.DeepEqual(first, want) {
		t.Errorf("%+v\nwant %+v", first, want)
	}
	second := book(first, turn(1, nil), fleet.Ledger{USD: 2, Turns: 3, Models: map[string]message.ModelUsage{"opus": {OutputTokens: 32, CostUSD: 2}}})
	day := second["2026-03-04"]
	if day.Turns != 2 || day.CostUSD != 3.5 || day.Models[""] != (ModelSum{Turns: 1}) || day.Models["opus"] != (ModelSum{CostUSD: 2.25, Input: 1, Output: 34, Cached: 12}) {
		t.Errorf("with what was spent besides: %+v", day)
	}
	if !reflect.DeepEqual(first, want) {
		t.Errorf("the old sums are now %+v", first)
	}
	if part := book(first, &api.Turn{PartOf: "p", CostUSD: 9, OverBudget: true, Ended: at}, fleet.Ledger{}); part["2026-03-04"].Turns != 1 || part["2026-03-04"].CostUSD != 0.5 || part["2026-03-04"].Over != nil {
		t.Errorf("a prompt that steered: %+v", part)
	}
}

// What was spent between two states of a ledger, by model, is never negative, and
// nothing if no turn has ended in between.
func TestDifference(t *testing.T) {
	t.Parallel()
	before := fleet.Ledger{USD: 1, Turns: 2, Models: map[string]message.ModelUsage{
		"opus": {InputTokens: 10, OutputTokens: 20, CacheReadInputTokens: 30, CacheCreationInputTokens: 40, CostUSD: 1}, "still": {InputTokens: 5},
	}}
	now := fleet.Ledger{USD: 3, Turns: 5, Models: map[string]message.ModelUsage{
		"opus": {InputTokens: 11, OutputTokens: 22, CacheReadInputTokens: 33, CacheCreationInputTokens: 44, CostUSD: 2.5}, "still": {InputTokens: 5}, "new": {OutputTokens: 7, CostUSD: 0.5},
	}}
	want := fleet.Ledger{USD: 2, Turns: 3, Models: map[string]message.ModelUsage{
		"opus": {InputTokens: 1, OutputTokens: 2, CacheReadInputTokens: 3, CacheCreationInputTokens: 4, CostUSD: 1.5}, "new": {OutputTokens: 7, CostUSD: 0.5},
	}}
	if got := difference(now, before); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	for _, old := range []fleet.Ledger{now, {USD: 9, Turns: 6}} {
		if got := difference(now, old); !reflect.DeepEqual(got, fleet.Ledger{}) {
			t.Errorf("since %+v: %+v", old, got)
		}
	}
	if got := difference(fleet.Ledger{USD: 1, Turns: 3}, fleet.Ledger{USD: 2, Turns: 2}); got.USD != 0 || got.Turns != 1 {
		t.Errorf("a smaller sum: %+v", got)
	}
}

// A ticket moves its prompt: to a new state with a prompt's event, to the end with a turn
// that is booked and has all that the ticket knows. The same state again is not news.
func TestAdvance(t *testing.T) {
	t.Parallel()
	l := New("ada/1", Store{}, Hooks{Exists: always, Touched: func(string) {}})
	l.add(Event{Event: api.Event{Type: api.EventPrompt, Prompt: &api.Prompt{ID: "p", State: api.PromptQueued, By: "ada", Text: "hello"}}})
	h := Head{Unprompted: fleet.Ledger{USD: 1, Turns: 1}}
	none := h.Unprompted
	if got := l.advance(&h, &fleet.Ticket{Prompt: "p", Status: fleet.PromptQueued}, none); got != nil {
		t.Errorf("as it stands: %+v", got)
	}
	for _, ticket := range []fleet.Ticket{
		{Prompt: "p", Status: fleet.PromptRunning}, {Prompt: "p", Status: fleet.PromptWaiting, Question: "q"}, {Prompt: "p", Status: fleet.PromptStuck, Cause: fleet.CauseCLIMissing, Error: "no such file"},
	} {
		got := l.advance(&h, &ticket, none)
		if len(got) != 1 || got[0].Type != api.EventPrompt || got[0].Prompt.State != api.PromptState(ticket.Status) || got[0].Prompt.Approval != ticket.Question || got[0].Prompt.By != "ada" || got[0].Prompt.Text != "hello" {
			t.Fatalf("%+v: %+v", ticket, got)
		}
		if ticket.Cause != "" && (got[0].Prompt.Problem != api.CauseCLIMissing || got[0].Prompt.Error != MissingAdvice) {
			t.Errorf("%+v", got[0].Prompt)
		}
		l.add(got[0])
		if again := l.advance(&h, &ticket, none); again != nil {
			t.Errorf("again: %+v", again)
		}
	}
	if h.Days != nil {
		t.Errorf("booked before it has ended: %+v", h.Days)
	}
	ended := time.Date(2026, 3, 4, 5, 6, 7, 0, time.FixedZone("west", -3600))
	done := fleet.Ticket{
		Prompt: "p", Status: fleet.PromptFailed, Error: "too dear", Ended: ended, PartOf: "", Cost: fleet.Ledger{USD: 0.5, Turns: 1, Models: map[string]message.ModelUsage{"opus": {InputTokens: 3, CostUSD: 0.5}}},
		Result: &message.Result{DurationMS: 1234, Header: message.Header{Subtype: message.ResultErrorMaxBudget}},
	}
	got := l.advance(&h, &done, fleet.Ledger{USD: 3, Turns: 2})
	if len(got) != 1 || got[0].Type != api.EventTurn {
		t.Fatalf("%+v", got)
	}
	if turn := got[0].Turn; turn.Prompt != "p" || turn.State != api.PromptFailed || turn.Error != "too dear" || !turn.Ended.Equal(ended) || turn.Ended.Location() != time.UTC || turn.CostUSD != 0.5 || turn.Models["opus"].InputTokens != 3 || turn.Millis != 1234 || !turn.OverBudget {
		t.Errorf("%+v", turn)
	}
	if day := h.Days["2026-03-04"]; day.Turns != 1 || math.Abs(day.CostUSD-2.5) > 1e-9 || len(day.Over) != 1 || h.Unprompted.Turns != 2 {
		t.Errorf("%+v, %+v", day, h.Unprompted)
	}
	l.add(got[0])
	before := h
	if again := l.advance(&h, &done, fleet.Ledger{USD: 3, Turns: 2}); again != nil || !reflect.DeepEqual(h, before) {
		t.Errorf("ended twice: %+v", again)
	}
	if p := l.prompts["p"]; p.State != api.PromptFailed || p.Error != "too dear" || p.Problem != "" || len(l.Open()) != 0 {
		t.Errorf("%+v", p)
	}
}
