package serve

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/internal/eventlog"
	"github.com/claude-agent-go/claude/store"
)

// lonely is a fleet with one conversation. It reads what was said only when a reading
// begins, as over a store that announces no changes.
type lonely struct {
	fleet.Conversations
	mu      sync.Mutex
	said    []string // cursors
	asked   []approval.Question
	prompts map[string]fleet.Ticket
}

// sayAt is the message at a place of the transcript.
func sayAt(cursor string) fleet.ConversationEvent {
	return fleet.ConversationEvent{Cursor: fleet.Cursor(cursor), Entry: []byte("text " + cursor)}
}

func (f *lonely) Events(ctx context.Context, _ string, after fleet.Cursor) iter.Seq2[fleet.ConversationEvent, error] {
	return func(yield func(fleet.ConversationEvent, error) bool) {
		f.mu.Lock()
		said := slices.Clone(f.said)
		f.mu.Unlock()
		for _, cursor := range said[slices.Index(said, string(after))+1:] {
			if !yield(sayAt(cursor), nil) {
				return
			}
		}
		<-ctx.Done()
		yield(fleet.ConversationEvent{}, fmt.Errorf("the store: %w", ctx.Err()))
	}
}

func (f *lonely) Prompt(_ context.Context, _, id string) (fleet.Ticket, error) {
	if t, ok := f.prompts[id]; ok {
		return t, nil
	}
	return fleet.Ticket{}, fleet.ErrUnknown
}

func (f *lonely) Get(context.Context, string) (fleet.ConversationInfo, error) {
	return fleet.ConversationInfo{}, nil
}

func (f *lonely) Approvals() approval.Inbox { return lonelyInbox{questions: f.asked} }

type lonelyInbox struct {
	approval.Inbox
	questions []approval.Question
}

func (in lonelyInbox) List(context.Context, approval.Filter) iter.Seq2[approval.Question, error] {
	return func(yield func(approval.Question, error) bool) {
		for _, q := range in.questions {
			if !yield(q, nil) {
				return
			}
		}
	}
}

// mute is a store that does not answer for a while.
type mute struct {
	store.Records
	broken atomic.Bool
}

func (s *mute) View(ctx context.Context, v store.View) ([]store.Record, error) {
	if s.broken.Load() {
		return nil, errors.New("the store does not answer")
	}
	return s.Records.View(ctx, v)
}

// A server that learns about an event while its store does not answer takes it over soon
// after the store does, however long the conversation has been quiet, and complains
// once.
func TestToldWhileTheStoreIsSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db, key := store.Memory(), "ada/1"
		broken := &mute{Records: db}
		var log strings.Builder
		s := newLogs(t.Context(), new(lonely), eventlog.NewStore(broken, "p"), newFeed(), slog.New(slog.NewTextHandler(&log, nil)))
		defer s.close()
		other := startedLog(t, db)
		recordEvent(t, other, api.Event{Type: api.EventNotice, Notice: &api.Notice{}})
		l, release, err := s.use(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		<-time.After(24 * time.Hour)
		broken.broken.Store(true)
		recordEvent(t, other, api.Event{Type: api.EventNotice, Notice: &api.Notice{}})
		s.compare([]string{pulseSum(key)})
		<-time.After(time.Minute)
		if n := l.LastSeq(); n != 1 {
			t.Fatalf("%d events are known", n)
		}
		broken.broken.Store(false)
		<-time.After(6 * time.Second)
		if n := l.LastSeq(); n != 2 {
			t.Errorf("%d events are known after the silence", n)
		}
		if n := strings.Count(log.String(), "cannot be read"); n != 1 {
			t.Errorf("%d complaints\n%s", n, log.String())
		}
	})
}

// viewed counts the reads of logs.
type viewed struct {
	store.Records
	logs atomic.Int64
}

func (v *viewed) View(ctx context.Context, view store.View) ([]store.Record, error) {
	if view.Keys[0].Kind == eventlog.Kind {
		v.logs.Add(1)
	}
	return v.Records.View(ctx, view)
}

// A log that the store announces is read at once, though its writer died before it gave the
// pulse. Without announcements a quiet log is not read at all, and one that is written here
// only once.
func TestAnnouncedLogs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db, key := &viewed{Records: store.Memory()}, "ada/1"
		s := newLogs(t.Context(), new(lonely), eventlog.NewStore(db, "p"), newFeed(), slog.New(slog.DiscardHandler))
		defer s.close()
		ctx, cancel := context.WithCancel(t.Context())
		var beats sync.WaitGroup
		beats.Go(func() { s.pulse.run(ctx) })
		defer beats.Wait()
		defer cancel()
		notice := api.Event{Type: api.EventNotice, Notice: &api.Notice{}}
		other := startedLog(t, db)
		recordEvent(t, other, notice)
		l, release, err := s.use(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		reads := func(want int64, during string, d time.Duration) {
			t.Helper()
			before := db.logs.Load()
			<-time.After(d)
			if n := db.logs.Load() - before; n != want {
				t.Errorf("%d reads %s, not %d", n, during, want)
			}
		}
		<-time.After(time.Hour)
		reads(0, "in a quiet day", 24*time.Hour)
		recordEvent(t, other, notice)
		<-time.After(100 * time.Millisecond)
		if n := l.LastSeq(); n != 2 {
			t.Errorf("%d events are known", n)
		}
		<-time.After(time.Hour)
		recordEvent(t, l, notice)
		reads(1, "after a write", time.Hour)
	})
}

// A message that another server has recorded is read at once, though the fleet would
// look for it much later, and the reading that is given up for it is not a failure.
func TestReadsAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db, key, f := store.Memory(), "ada/1", new(lonely)
		var log strings.Builder
		s := newLogs(t.Context(), f, eventlog.NewStore(db, "p"), newFeed(), slog.New(slog.NewTextHandler(&log, nil)))
		defer s.close()
		other := startedLog(t, db)
		recordEvent(t, other, api.Event{Type: api.EventNotice, Notice: &api.Notice{}})
		l, release, err := s.use(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		for i := 2; i < 6; i++ {
			<-time.After(time.Hour)
			cursor := fmt.Sprint("at ", i)
			f.mu.Lock()
			f.said = append(f.said, cursor)
			f.mu.Unlock()
			if err := other.Hear(t.Context(), sayAt(cursor)); err != nil {
				t.Fatal(err)
			}
			s.compare([]string{pulseSum(key)})
			<-time.After(100 * time.Millisecond)
			if events, _ := l.All(); len(events) != i || string(events[i-1].Message) != "text "+cursor {
				t.Errorf("event %d: %+v", i, events)
			}
		}
		if log.Len() > 0 {
			t.Error(log.String())
		}
	})
}

// A log that is opened at its end records nothing a second time that is older than its
// memory: no question of the minute before a prompt, and no prompt whose sender died.
func TestNothingTwiceAtTheEnd(t *testing.T) {
	t.Parallel()
	db := store.Memory()
	asked := approval.Question{ID: "q", Conversation: "ada/1", Tool: "Bash", State: approval.StateGone, Outcome: approval.OutcomeRan, Asked: time.Now().Add(-eventlog.ClockSkew / 2)}
	f := &lonely{asked: []approval.Question{asked}, prompts: map[string]fleet.Ticket{"lost": {Prompt: "lost", Status: fleet.PromptAnswered}}}
	s := &logs{ctx: t.Context(), fleet: f}
	l := startedLog(t, db)
	if _, err := l.Intend(t.Context(), api.Prompt{ID: "lost", State: api.PromptQueued}); err != nil { // and its sender dies
		t.Fatal(err)
	}
	if err := s.finishAccepting(t.Context(), l, 0); err != nil || l.LastSeq() != 1 {
		t.Fatalf("%d, %v", l.LastSeq(), err)
	}
	recordEvent(t, l, api.Event{Type: api.EventTurn, Turn: &api.Turn{Prompt: "lost", State: api.PromptAnswered}})
	if err := l.NoteApproval(t.Context(), noteOf(&asked)); err != nil {
		t.Fatal(err)
	}
	recordEvent(t, l, api.Event{Type: api.EventPrompt, Prompt: &api.Prompt{ID: "next", State: api.PromptQueued}})
	for range eventlog.LoadEvents - 1 {
		recordEvent(t, l, api.Event{Type: api.EventNotice, Notice: &api.Notice{}})
	}
	last := l.LastSeq()
	l = startedLog(t, db)
	if events, _ := l.All(); events[0].Seq != 4 || events[0].Prompt == nil {
		t.Fatalf("the memory begins at %d", events[0].Seq)
	}
	if err := s.noteQuestions(t.Context(), l, "next"); err != nil || l.LastSeq() != last {
		t.Errorf("after the questions the last event is %d, want %d: %v", l.LastSeq(), last, err)
	}
	if l = startedLog(t, db); len(l.Undecided()) != 1 {
		t.Fatalf("%+v", l.Undecided())
	}
	if err := s.finishAccepting(t.Context(), l, 0); err != nil || l.LastSeq() != last {
		t.Errorf("after the prompts the last event is %d, want %d: %v", l.LastSeq(), last, err)
	}
}

// A server reports what it writes last before it ends, and one that could not
// listen at first looks at everything.
func TestPulseAtBothEnds(t *testing.T) {
	t.Parallel()
	db := &mute{Records: store.Memory()}
	heard := make(map[string][]string)
	newOne := func(name string) *pulse {
		return newPulse(db, "p", slog.New(slog.DiscardHandler), func(sums []string) { heard[name] = append(heard[name], fmt.Sprint(sums == nil, sums)) })
	}
	one, two, late := newOne("one"), newOne("two"), newOne("late")
	beat := func(p *pulse, fails bool) {
		t.Helper()
		if err := p.beat(t.Context()); (err != nil) != fails {
			t.Fatal(err)
		}
	}
	beat(two, false)
	db.broken.Store(true)
	one.mark("a")
	beat(one, true)
	beat(two, true)
	beat(late, true)
	db.broken.Store(false)
	one.last()
	one.last() // nothing is left to tell
	for range 2 {
		beat(two, false)
		beat(late, false)
	}
	want := map[string][]string{"one": {"true []"}, "two": {"false [" + pulseSum("a") + "]"}, "late": {"true []"}}
	if !maps.EqualFunc(heard, want, slices.Equal) {
		t.Errorf("%v, want %v", heard, want)
	}
}
