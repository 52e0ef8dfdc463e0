package serve

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// openLog opens the log of a conversation as a process that has just started.
func openLog(t *testing.T, db store.Records) *eventLog {
	t.Helper()
	l := newEventLog("ada/1", logStore{db, "p"}, always, func(string) {})
	l.older = (&reader{nil, l.book}).before
	if err := l.load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l
}

// always is for a log whose conversation exists.
func always(context.Context, string) (bool, error) { return true, nil }

// note appends an event.
func noteEvent(t *testing.T, l *eventLog, e api.Event) {
	t.Helper()
	if err := l.append(t.Context(), func(*logHead) []logEvent { return []logEvent{{Event: e}} }); err != nil {
		t.Fatal(err)
	}
}

// dense checks that a log has all events up to a number.
func dense(t *testing.T, l *eventLog, last int64) {
	t.Helper()
	if err := l.recallAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got, want []int64
	for _, e := range l.events {
		got = append(got, e.Seq)
	}
	for i := range last {
		want = append(want, i+1)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("the log has %v, want all up to %d", got, last)
	}
}

// unwritable is a store that loses its connection when a head is made shorter: the
// segment is there, and the head is still long, as if the process had died.
type unwritable struct {
	store.Records
	lost bool
}

func (m *unwritable) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	if m.lost && !c[0].Drop && len(c[0].Value) < 2000 && c[0].Key.Kind == kindLog {
		return nil, fmt.Errorf("the connection is lost")
	}
	return m.Records.Change(ctx, f, c...)
}

// A process that dies after it has made a segment, and before the head is short,
// loses nothing: whatever the next one adds.
func TestDiedBetweenSegmentAndHead(t *testing.T) {
	t.Parallel()
	db := &unwritable{Records: store.Memory()}
	l := openLog(t, db)
	noteEvent(t, l, api.Event{Type: api.EventPrompt, Prompt: &api.Prompt{ID: "first", State: api.PromptQueued}})
	for range segmentSize - 2 {
		noteEvent(t, l, api.Event{Type: api.EventNotice, Notice: &api.Notice{Text: "n"}})
	}
	db.lost = true
	noteEvent(t, l, api.Event{Type: api.EventNotice, Notice: &api.Notice{Text: "the last of a segment"}})
	db.lost = false

	l = openLog(t, db)
	dense(t, l, segmentSize)
	for i := range int64(3) {
		noteEvent(t, l, api.Event{Type: api.EventNotice, Notice: &api.Notice{Text: "more"}})
		dense(t, openLog(t, db), segmentSize+1+i)
	}
	// What is open stays known when its event is in a segment.
	head, _, err := l.book.head(t.Context(), "ada/1")
	if err != nil || head.Segments != 1 || !slices.Equal(head.openAfter(head.Events), []string{"first"}) {
		t.Fatalf("%+v, %v", head, err)
	}
	noteEvent(t, l, api.Event{Type: api.EventTurn, Turn: &api.Turn{Prompt: "first", State: api.PromptAnswered}})
	if head, _, err = l.book.head(t.Context(), "ada/1"); err != nil || len(head.openAfter(head.Events)) != 0 {
		t.Errorf("%v is open, %v", head.openAfter(head.Events), err)
	}
}

// Two processes that write into one log lose none of each other's events, not even
// where segments end.
func TestTwoWriters(t *testing.T) {
	t.Parallel()
	db := store.Memory()
	logs := []*eventLog{openLog(t, db), openLog(t, db)}
	const all = segmentSize + 20
	for i := range all {
		noteEvent(t, logs[(i/3)%2], api.Event{Type: api.EventNotice, Notice: &api.Notice{Text: fmt.Sprint(i)}})
	}
	for _, l := range logs {
		if err := l.refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range append(logs, openLog(t, db)) {
		dense(t, l, all)
		for i, e := range l.events {
			if e.Notice.Text != fmt.Sprint(i) {
				t.Fatalf("event %d is %q", i+1, e.Notice.Text)
			}
		}
	}
}

// A process takes over everything that another has written since its last look, however
// many segments that is.
func TestCatchUpOverSegments(t *testing.T) {
	t.Parallel()
	for _, segments := range []int{0, 1, 2, 3} {
		db := store.Memory()
		late, busy := openLog(t, db), openLog(t, db)
		noteEvent(t, late, api.Event{Type: api.EventNotice, Notice: &api.Notice{Text: "first"}})
		events := make([]logEvent, segmentSize)
		for i := range events {
			events[i] = logEvent{Event: api.Event{Type: api.EventNotice, Notice: &api.Notice{Text: "n"}}}
		}
		for range segments {
			if err := busy.append(t.Context(), func(*logHead) []logEvent { return slices.Clone(events) }); err != nil {
				t.Fatal(err)
			}
		}
		noteEvent(t, busy, api.Event{Type: api.EventNotice, Notice: &api.Notice{Text: "last"}})
		if busy.head.Segments != segments {
			t.Fatalf("%d segments, want %d", busy.head.Segments, segments)
		}
		if err := late.refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		dense(t, late, int64(segments*segmentSize)+2)
	}
}

// unknowing is a fleet that has no prompts.
type unknowing struct{ fleet.Conversations }

func (unknowing) Prompt(_ context.Context, key, _ string) (fleet.Ticket, error) {
	return fleet.Ticket{}, &fleet.ConversationError{Key: key, Reason: fleet.ErrUnknown}
}

// An attempt to send a prompt stays in the head when its events become a segment, until
// it is certain that the fleet never got the prompt.
func TestAcceptingEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		l, s := openLog(t, db), &logs{fleet: unknowing{}}
		senders := make(map[string]string)
		for _, id := range []string{"one", "two", "three"} {
			sender, err := l.intend(t.Context(), api.Prompt{ID: id})
			if err != nil {
				t.Fatal(err)
			}
			senders[id] = sender
		}
		if err := l.refuse(t.Context(), senders["two"]); err != nil {
			t.Fatal(err)
		}
		if _, err := l.confirm(t.Context(), senders["three"], api.Prompt{ID: "three"}); err != nil {
			t.Fatal(err)
		}
		for range segmentSize {
			noteEvent(t, l, api.Event{Type: api.EventNotice, Notice: &api.Notice{Text: "hello"}})
		}
		check := func(want ...string) {
			t.Helper()
			l := openLog(t, db)
			var got []string
			for _, a := range l.head.Accepting {
				got = append(got, a.Prompt.ID)
			}
			if !slices.Equal(got, want) || l.head.Segments != 1 {
				t.Errorf("%q are about to be accepted, want %q; %d segments", got, want, l.head.Segments)
			}
		}
		for _, want := range [][]string{{"one"}, {"one"}, nil} {
			if err := s.finishAccepting(t.Context(), l, 0); err != nil {
				t.Fatal(err)
			}
			check(want...)
			<-time.After(lastingBound)
		}
		dense(t, l, segmentSize+1)
	})
}

// If a prompt is sent twice at once, each attempt is noted until it has ended, however
// the other one did.
func TestAcceptingTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		l := openLog(t, db)
		var senders []string
		for range 3 {
			sender, err := l.intend(t.Context(), api.Prompt{ID: "one"})
			if err != nil {
				t.Fatal(err)
			}
			senders = append(senders, sender)
		}
		check := func(want ...string) {
			t.Helper()
			var got []string
			for _, a := range openLog(t, db).head.Accepting {
				got = append(got, a.Sender)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%q are at it, want %q", got, want)
			}
		}
		if err := l.refuse(t.Context(), senders[0]); err != nil {
			t.Fatal(err)
		}
		check(senders[1:]...)
		for i := 1; i < 3; i++ {
			check(senders[i:]...)
			if _, err := l.confirm(t.Context(), senders[i], api.Prompt{ID: "one"}); err != nil {
				t.Fatal(err)
			}
		}
		check()
		dense(t, l, 1)

		// An attempt whose sender died is forgotten once it cannot be alive.
		if _, err := l.intend(t.Context(), api.Prompt{ID: "one"}); err != nil {
			t.Fatal(err)
		}
		<-time.After(settledAfter)
		noteEvent(t, l, api.Event{Type: api.EventNotice, Notice: &api.Notice{Text: "hello"}})
		check()
	})
}
