package serve

import (
	"fmt"
	"slices"
	"testing"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/store"
)

// However long a conversation is, its log keeps in memory only what it has events of,
// and what has not ended.
func TestLogForgets(t *testing.T) {
	t.Parallel()
	l := newEventLog("ada/1", logStore{}, always, func(string) {})
	open := Prompt{ID: "open", State: PromptRunning, Text: "still at it"}
	l.add(logEvent{Event: Event{Type: EventPrompt, Prompt: &open}})
	l.add(logEvent{Event: Event{Type: EventApproval, Approval: &ApprovalNote{ID: "open", State: ApprovalPending}}})
	for i := range keepEvents {
		id := fmt.Sprint(i)
		l.add(logEvent{Event: Event{Type: EventPrompt, Prompt: &Prompt{ID: id, State: PromptQueued}}})
		l.add(logEvent{Event: Event{Type: EventApproval, Approval: &ApprovalNote{ID: id, State: ApprovalPending}}})
		l.add(logEvent{Event: Event{Type: EventApproval, Approval: &ApprovalNote{ID: id, State: ApprovalAllowed, Outcome: "ran"}}})
		l.add(logEvent{Event: Event{Type: EventTurn, Turn: &Turn{Prompt: id, State: PromptAnswered}}})
	}
	// Each has four events, of which some of the oldest may be gone.
	if most := keepEvents/4 + 2; len(l.prompts) > most || len(l.approvals) > most {
		t.Errorf("%d prompts and %d approvals are known", len(l.prompts), len(l.approvals))
	}
	if got := l.open(); !slices.Equal(got, []Prompt{open}) {
		t.Errorf("open are %+v", got)
	}
	if got := l.unsettled(); !slices.Equal(got, []string{"open"}) {
		t.Errorf("unsettled are %q", got)
	}
	if _, known := l.prompts["0"]; known {
		t.Fatal("the first prompt is not forgotten")
	}
	for _, id := range []string{"0", fmt.Sprint(keepEvents - 1)} { // forgotten, and not
		var h logHead
		late := fleet.Ticket{Prompt: id, Status: fleet.Answered, Cost: fleet.Ledger{USD: 1, Turns: 1}}
		if got := l.advance(&h, &late, fleet.Ledger{}); got != nil || h.Days != nil {
			t.Errorf("the turn of prompt %s is written again: %+v, costs %+v", id, got, h.Days)
		}
	}
	if got := l.advance(&logHead{}, &fleet.Ticket{Prompt: "open", Status: fleet.Answered}, fleet.Ledger{}); len(got) != 1 {
		t.Errorf("the turn of the open prompt: %+v", got)
	}
	last := fmt.Sprint(keepEvents - 1)
	if l.prompts[last].State != PromptAnswered || l.approvals[last].Outcome != "ran" {
		t.Errorf("the last prompt is %+v, and its approval %+v", l.prompts[last], l.approvals[last])
	}
}

// said is an event of a message, as another process has stored it or as it was read.
func said(i int, text string) logEvent {
	e := logEvent{Event: Event{Type: EventMessage, Seq: int64(i)}, cursor: fmt.Sprint("at ", i)}
	if text != "" {
		e.Message = []byte(text)
	}
	return e
}

// What is known of messages does not grow with a conversation. A message is forgotten
// when its event is not kept and it was read, and reading begins after it: none is
// taken for a new one.
func TestLogForgetsMessages(t *testing.T) {
	t.Parallel()
	l := newEventLog("ada/1", logStore{}, always, func(string) {})
	const more = 100
	for i := 1; i <= keepEvents+more; i++ {
		l.add(said(i, "hello"))
	}
	if len(l.cursors) != keepEvents || l.beginning() != fmt.Sprint("at ", more) {
		t.Errorf("%d messages are known, reading begins at %q", len(l.cursors), l.beginning())
	}

	l = newEventLog("ada/1", logStore{}, always, func(string) {})
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
	if len(l.cursors) != keepEvents || l.beginning() != fmt.Sprint("at ", more) || l.unloaded != 0 {
		t.Errorf("%d messages are known, reading begins at %q, %d are not loaded", len(l.cursors), l.beginning(), l.unloaded)
	}
}

// A prompt that has not ended is known after a restart, although its events are older
// than what is kept: with who gave it, what it says and how far it has come. So is its
// end.
func TestOpenInOldSegment(t *testing.T) {
	t.Parallel()
	db := store.Memory()
	l := openLog(t, db)
	first := Prompt{ID: "first", State: PromptQueued, By: "ada", Text: "one"}
	second := Prompt{ID: "second", State: PromptQueued, By: "bob", Text: "two"}
	noteEvent(t, l, Event{Type: EventPrompt, Prompt: &first})
	noteEvent(t, l, Event{Type: EventPrompt, Prompt: &second})
	first.State = PromptRunning
	noteEvent(t, l, Event{Type: EventPrompt, Prompt: &first})
	batch := make([]logEvent, segmentSize)
	for i := range batch {
		batch[i] = logEvent{Event: Event{Type: EventNotice, Notice: &Notice{Text: "n"}}}
	}
	for range keepEvents/segmentSize + 2 {
		if err := l.append(t.Context(), func(*logHead) []logEvent { return slices.Clone(batch) }); err != nil {
			t.Fatal(err)
		}
	}
	open := func() []Prompt {
		l = openLog(t, db)
		if l.first == 1 {
			t.Fatal("everything is kept")
		}
		return l.open()
	}
	if got, want := open(), []Prompt{first, second}; !slices.Equal(got, want) {
		t.Errorf("open are %+v, want %+v", got, want)
	}
	noteEvent(t, l, Event{Type: EventTurn, Turn: &Turn{Prompt: "first", State: PromptAnswered}})
	if got, want := open(), []Prompt{second}; !slices.Equal(got, want) {
		t.Errorf("open are %+v, want %+v", got, want)
	}
}
