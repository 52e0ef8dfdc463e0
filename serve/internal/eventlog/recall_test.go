package eventlog

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// A log that is opened at its end knows, and returns, the same as one that has been open
// all the time.
func TestOpenedAtItsEnd(t *testing.T) {
	t.Parallel()
	db := store.Memory()
	whole := openLog(t, db)
	const events = 3*SegmentSize + 77
	for i := range events {
		prompt, question := fmt.Sprint("prompt ", i/5), fmt.Sprint("question ", i/40)
		e := api.Event{Type: api.EventNotice, Notice: &api.Notice{Text: fmt.Sprint(i)}}
		switch {
		case i%5 == 0:
			e = api.Event{Type: api.EventPrompt, Prompt: &api.Prompt{ID: prompt, State: api.PromptQueued, By: "ada", Text: prompt}}
		case i%5 == 3 && i%7 != 0: // the others have not ended
			e = api.Event{Type: api.EventTurn, Turn: &api.Turn{Prompt: prompt, State: api.PromptAnswered}}
		case i%40 == 11:
			e = api.Event{Type: api.EventApproval, Approval: &api.ApprovalNote{ID: question, State: api.ApprovalPending}}
		case i%40 == 32:
			e = api.Event{Type: api.EventApproval, Approval: &api.ApprovalNote{ID: question, State: api.ApprovalAllowed, Outcome: api.OutcomeRan}}
		}
		noteEvent(t, whole, e)
	}
	open := func() *Log {
		l := openLog(t, db)
		if n := len(l.events); n != LoadEvents {
			t.Fatalf("%d events were read", n)
		}
		return l
	}
	if got, want := open().Open(), whole.Open(); len(want) < 20 || !slices.Equal(got, want) {
		t.Errorf("%d prompts are open, want %d", len(got), len(want))
	}
	numbers := func(l *Log, before int64, limit int) string {
		tail, err := l.Tail(t.Context(), before, limit)
		if err != nil {
			t.Fatal(err)
		}
		var all []int64
		for _, e := range tail.Events {
			all = append(all, e.Seq)
		}
		return fmt.Sprint(all, tail.Last, tail.More, len(tail.Prompts))
	}
	for _, before := range []int64{0, 1, 77, SegmentSize, SegmentSize + 1, events - LoadEvents, events - LoadEvents + 1, events - LoadEvents + 2, events + 1} {
		for _, limit := range []int{1, LoadEvents + 1, SegmentSize, events + 1} {
			if got, want := numbers(open(), before, limit), numbers(whole, before, limit); got != want {
				t.Errorf("%d before %d: %s, want %s", limit, before, got, want)
			}
		}
	}
	states := func(l *Log) map[string]string {
		known := make(map[string]string)
		for id, p := range l.prompts {
			known[id] = fmt.Sprint(p.State, p.By, p.Text)
		}
		for id, a := range l.approvals {
			known[id] = fmt.Sprint(a.State, a.Outcome)
		}
		return known
	}
	for _, from := range []int64{events, events - LoadEvents, events - LoadEvents - 3, 400, 2, 1, 0} {
		l := open()
		if err := l.recall(t.Context(), from); err != nil {
			t.Fatal(err)
		}
		if want := min(max(1, from), events-LoadEvents+1); l.first != want || int64(len(l.events)) != events-l.first+1 || l.bytes <= 0 {
			t.Errorf("from %d: the log begins at %d and has %d events", from, l.first, len(l.events))
		}
		if got, want := states(l), states(whole); l.first == 1 && !maps.Equal(got, want) {
			t.Errorf("from %d: %d prompts and approvals, want %d", from, len(got), len(want))
		}
		if got, want := l.Open(), whole.Open(); !slices.Equal(got, want) {
			t.Errorf("from %d: %d prompts are open, want %d", from, len(got), len(want))
		}
		if err := l.RecallAll(t.Context()); err != nil || l.first != 1 {
			t.Errorf("after %d, %d: %v", from, l.first, err)
		}
	}
}
