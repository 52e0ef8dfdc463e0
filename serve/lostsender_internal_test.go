package serve

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/internal/eventlog"
	"github.com/claude-agent-go/claude/store"
)

// startedLog opens the log of a conversation as a process that has just started.
func startedLog(t *testing.T, db store.Records) *eventlog.Log {
	t.Helper()
	book := eventlog.NewStore(db, "p")
	exists := func(context.Context, string) (bool, error) { return true, nil }
	l := eventlog.New("ada/1", book, eventlog.Hooks{Exists: exists, Touched: func(string) {}, Older: eventlog.NewReader(nil, book).Before})
	if err := l.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l
}

// recordEvent appends an event.
func recordEvent(t *testing.T, l *eventlog.Log, e api.Event) {
	t.Helper()
	if err := l.Record(t.Context(), e); err != nil {
		t.Fatal(err)
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
		l, s := startedLog(t, db), &logs{fleet: unknowing{}}
		senders := make(map[string]string)
		for _, id := range []string{"one", "two", "three"} {
			sender, err := l.Intend(t.Context(), api.Prompt{ID: id})
			if err != nil {
				t.Fatal(err)
			}
			senders[id] = sender
		}
		if err := l.Refuse(t.Context(), senders["two"]); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Confirm(t.Context(), senders["three"], api.Prompt{ID: "three"}); err != nil {
			t.Fatal(err)
		}
		for range eventlog.SegmentSize {
			recordEvent(t, l, api.Event{Type: api.EventNotice, Notice: &api.Notice{Text: "hello"}})
		}
		check := func(want ...string) {
			t.Helper()
			head, _, err := eventlog.NewStore(db, "p").Head(t.Context(), "ada/1")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, a := range head.Accepting {
				got = append(got, a.Prompt.ID)
			}
			if !slices.Equal(got, want) || head.Segments != 1 {
				t.Errorf("%q are about to be accepted, want %q; %d segments", got, want, head.Segments)
			}
		}
		for _, want := range [][]string{{"one"}, {"one"}, nil} {
			if err := s.finishAccepting(t.Context(), l, 0); err != nil {
				t.Fatal(err)
			}
			check(want...)
			<-time.After(lastingBound)
		}
		if events, last := l.All(); last != eventlog.SegmentSize+1 || len(events) != eventlog.SegmentSize+1 {
			t.Errorf("the log has %d events up to %d", len(events), last)
		}
	})
}
