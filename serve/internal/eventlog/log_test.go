package eventlog

import (
	"fmt"
	"slices"
	"testing"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// However long a conversation is, its log keeps in memory only what is open, and what
// its events in memory are about.
func TestLogForgets(t *testing.T) {
	t.Parallel()
	l := New("ada/1", Store{}, Hooks{Exists: always, Touched: func(string) {}})
	open := api.Prompt{ID: "open", State: api.PromptRunning, Text: "still at it"}
	l.add(Event{Event: api.Event{Type: api.EventPrompt, Prompt: &open}})
	l.add(Event{Event: api.Event{Type: api.EventApproval, Approval: &api.ApprovalNote{ID: "open", State: api.ApprovalPending}}})
	for i := range keepEvents {
		id := fmt.Sprint(i)
		l.add(Event{Event: api.Event{Type: api.EventPrompt, Prompt: &api.Prompt{ID: id, State: api.PromptQueued}}})
		l.add(Event{Event: api.Event{Type: api.EventApproval, Approval: &api.ApprovalNote{ID: id, State: api.ApprovalPending}}})
		l.add(Event{Event: api.Event{Type: api.EventApproval, Approval: &api.ApprovalNote{ID: id, State: api.ApprovalAllowed, Outcome: "ran"}}})
		l.add(Event{Event: api.Event{Type: api.EventTurn, Turn: &api.Turn{Prompt: id, State: api.PromptAnswered}}})
	}
	// Each has four events, of which some of the oldest may be gone.
	if most := keepEvents/4 + 2; len(l.prompts) > most || len(l.approvals) > most {
		t.Errorf("%d prompts and %d approvals are known", len(l.prompts), len(l.approvals))
	}
	if got := l.Open(); !slices.Equal(got, []api.Prompt{open}) {
		t.Errorf("open are %+v", got)
	}
	if got := l.Unsettled(); !slices.Equal(got, []string{"open"}) {
		t.Errorf("unsettled are %q", got)
	}
	if _, known := l.prompts["0"]; known {
		t.Fatal("the first prompt is not forgotten")
	}
	for _, id := range []string{"0", fmt.Sprint(keepEvents - 1)} { // forgotten, and not
		var h Head
		late := fleet.Ticket{Prompt: id, Status: fleet.PromptAnswered, Cost: fleet.Ledger{USD: 1, Turns: 1}}
		if got := l.advance(&h, &late, fleet.Ledger{}); got != nil || h.Days != nil {
			t.Errorf("the turn of prompt %s is written again: %+v, costs %+v", id, got, h.Days)
		}
	}
	if got := l.advance(&Head{}, &fleet.Ticket{Prompt: "open", Status: fleet.PromptAnswered}, fleet.Ledger{}); len(got) != 1 {
		t.Errorf("the turn of the open prompt: %+v", got)
	}
	last := fmt.Sprint(keepEvents - 1)
	if l.prompts[last].State != api.PromptAnswered || l.approvals[last].Outcome != "ran" {
		t.Errorf("the last prompt is %+v, and its approval %+v", l.prompts[last], l.approvals[last])
	}
}

// said is an event of a message, as another process has stored it or as it was read.
func said(i int, text string) Event {
	e := Event{Event: api.Event{Type: api.EventMessage, Seq: int64(i)}, cursor: fmt.Sprint("at ", i)}
	if text != "" {
		e.Message = []byte(text)
	}
	return e
}

// The memory for messages does not grow with a conversation. A message is forgotten
// once its event has left the memory and it was read. Reading then begins after it, so
// none is taken for a new one.
func TestLogForgetsMessages(t *testing.T) {
	t.Parallel()
	l := New("ada/1", Store{}, Hooks{Exists: always, Touched: func(string) {}})
	const more = 100
	for i := 1; i <= keepEvents+more; i++ {
		l.add(said(i, "hello"))
	}
	if len(l.cursors) != keepEvents || l.begin != fmt.Sprint("at ", more) {
		t.Errorf("%d messages are known, reading begins at %q", len(l.cursors), l.begin)
	}

	l = New("ada/1", Store{}, Hooks{Exists: always, Touched: func(string) {}})
	for i := 1; i <= keepEvents+more; i++ {
		l.add(said(i, ""))
	}
	for i := 1; i <= keepEvents+more; i++ { // what was stored is read
		cursor := fmt.Sprint("at ", i)
		if _, known := l.cursors[cursor]; !known {
			t.Fatalf("message %d is taken for a new one", i)
		}
		l.fill(cursor, []byte("hello"))
	}
	if len(l.cursors) != keepEvents || l.begin != fmt.Sprint("at ", more) || l.unloaded != 0 {
		t.Errorf("%d messages are known, reading begins at %q, %d are not loaded", len(l.cursors), l.begin, l.unloaded)
	}
}

// A prompt that has not ended is known after a restart, even if its events are older
// than those in memory: its sender, its text and its state. Its end is known as well.
func TestOpenInOldSegment(t *testing.T) {
	t.Parallel()
	db := store.Memory()
	l := openLog(t, db)
	first := api.Prompt{ID: "first", State: api.PromptQueued, By: "ada", Text: "one"}
	second := api.Prompt{ID: "second", State: api.PromptQueued, By: "bob", Text: "two"}
	noteEvent(t, l, api.Event{Type: api.EventPrompt, Prompt: &first})
	noteEvent(t, l, api.Event{Type: api.EventPrompt, Prompt: &second})
	first.State = api.PromptRunning
	noteEvent(t, l, api.Event{Type: api.EventPrompt, Prompt: &first})
	batch := make([]Event, SegmentSize)
	for i := range batch {
		batch[i] = Event{Event: api.Event{Type: api.EventNotice, Notice: &api.Notice{Text: "n"}}}
	}
	for range keepEvents/SegmentSize + 2 {
		if err := l.append(t.Context(), func(*Head) []Event { return slices.Clone(batch) }); err != nil {
			t.Fatal(err)
		}
	}
	open := func() []api.Prompt {
		l = openLog(t, db)
		if l.first == 1 {
			t.Fatal("everything is kept")
		}
		return l.Open()
	}
	if got, want := open(), []api.Prompt{first, second}; !slices.Equal(got, want) {
		t.Errorf("open are %+v, want %+v", got, want)
	}
	noteEvent(t, l, api.Event{Type: api.EventTurn, Turn: &api.Turn{Prompt: "first", State: api.PromptAnswered}})
	if got, want := open(), []api.Prompt{second}; !slices.Equal(got, want) {
		t.Errorf("open are %+v, want %+v", got, want)
	}
}
