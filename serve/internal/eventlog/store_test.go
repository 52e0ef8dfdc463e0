package eventlog

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// openLog opens the log of a conversation as a process that has just started.
func openLog(t *testing.T, db store.Records) *Log {
	t.Helper()
	l := New("ada/1", NewStore(db, "p"), Hooks{Exists: always, Touched: func(string) {}})
	l.Older = NewReader(nil, l.book).Before
	if err := l.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l
}

// always is for a log whose conversation exists.
func always(context.Context, string) (bool, error) { return true, nil }

// note appends an event.
func noteEvent(t *testing.T, l *Log, e api.Event) {
	t.Helper()
	if err := l.append(t.Context(), func(*Head) []Event { return []Event{{Event: e}} }); err != nil {
		t.Fatal(err)
	}
}

// dense checks that a log has all events up to a number.
func dense(t *testing.T, l *Log, last int64) {
	t.Helper()
	if err := l.RecallAll(t.Context()); err != nil {
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
	if m.lost && !c[0].Drop && len(c[0].Value) < 2000 && c[0].Key.Kind == Kind {
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
	for range SegmentSize - 2 {
		noteEvent(t, l, api.Event{Type: api.EventNotice, Notice: &api.Notice{Text: "n"}})
	}
	db.lost = true
	noteEvent(t, l, api.Event{Type: api.EventNotice, Notice: &api.Notice{Text: "the last of a segment"}})
	db.lost = false

	l = openLog(t, db)
	dense(t, l, SegmentSize)
	for i := range int64(3) {
		noteEvent(t, l, api.Event{Type: api.EventNotice, Notice: &api.Notice{Text: "more"}})
		dense(t, openLog(t, db), SegmentSize+1+i)
	}
	// What is open stays known when its event is in a segment.
	head, _, err := l.book.Head(t.Context(), "ada/1")
	if err != nil || head.Segments != 1 || !slices.Equal(head.OpenAfter(head.Events), []string{"first"}) {
		t.Fatalf("%+v, %v", head, err)
	}
	noteEvent(t, l, api.Event{Type: api.EventTurn, Turn: &api.Turn{Prompt: "first", State: api.PromptAnswered}})
	if head, _, err = l.book.Head(t.Context(), "ada/1"); err != nil || len(head.OpenAfter(head.Events)) != 0 {
		t.Errorf("%v is open, %v", head.OpenAfter(head.Events), err)
	}
}

// Two processes that write into one log lose none of each other's events, not even
// where segments end.
func TestTwoWriters(t *testing.T) {
	t.Parallel()
	db := store.Memory()
	logs := []*Log{openLog(t, db), openLog(t, db)}
	const all = SegmentSize + 20
	for i := range all {
		noteEvent(t, logs[(i/3)%2], api.Event{Type: api.EventNotice, Notice: &api.Notice{Text: fmt.Sprint(i)}})
	}
	for _, l := range logs {
		if err := l.Refresh(t.Context()); err != nil {
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
		events := make([]Event, SegmentSize)
		for i := range events {
			events[i] = Event{Event: api.Event{Type: api.EventNotice, Notice: &api.Notice{Text: "n"}}}
		}
		for range segments {
			if err := busy.append(t.Context(), func(*Head) []Event { return slices.Clone(events) }); err != nil {
				t.Fatal(err)
			}
		}
		noteEvent(t, busy, api.Event{Type: api.EventNotice, Notice: &api.Notice{Text: "last"}})
		if busy.head.Segments != segments {
			t.Fatalf("%d segments, want %d", busy.head.Segments, segments)
		}
		if err := late.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		dense(t, late, int64(segments*SegmentSize)+2)
	}
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
			sender, err := l.Intend(t.Context(), api.Prompt{ID: "one"})
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
		if err := l.Refuse(t.Context(), senders[0]); err != nil {
			t.Fatal(err)
		}
		check(senders[1:]...)
		for i := 1; i < 3; i++ {
			check(senders[i:]...)
			if _, err := l.Confirm(t.Context(), senders[i], api.Prompt{ID: "one"}); err != nil {
				t.Fatal(err)
			}
		}
		check()
		dense(t, l, 1)

		// An attempt whose sender died is forgotten once it cannot be alive.
		if _, err := l.Intend(t.Context(), api.Prompt{ID: "one"}); err != nil {
			t.Fatal(err)
		}
		<-time.After(SettledAfter)
		noteEvent(t, l, api.Event{Type: api.EventNotice, Notice: &api.Notice{Text: "hello"}})
		check()
	})
}
