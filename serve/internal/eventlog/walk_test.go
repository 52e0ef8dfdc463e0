package eventlog

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/internal/recordio"
	"github.com/claude-agent-go/claude/store"
)

// segmentReads counts the segments that are read.
type segmentReads struct {
	store.Records
	n atomic.Int64
}

func (s *segmentReads) View(ctx context.Context, v store.View) ([]store.Record, error) {
	k := v.Keys[0]
	if k.Kind == Kind && !strings.HasSuffix(k.Name, "/"+headName) {
		s.n.Add(1)
	}
	return s.Records.View(ctx, v)
}

// storeLog stores a log of segments with so many events each, and returns the number of
// its last event.
func storeLog(t *testing.T, db store.Records, sizes []int, event func(seq int64) Event) int64 {
	t.Helper()
	book, key := NewStore(db, "p"), "ada/1"
	head := Head{First: 1}
	for i, size := range sizes {
		for range size {
			e := event(head.Last() + 1)
			e.Seq = head.Last() + 1
			head.Events = append(head.Events, storable(e))
		}
		if i < len(sizes)-1 { // the last ones are in the head
			if _, err := recordio.Put(t.Context(), db, book.at(key, segmentName(i)), &Head{First: head.First, Events: head.Events}, 0); err != nil {
				t.Fatal(err)
			}
			head.Segments, head.First, head.Events = head.Segments+1, head.Last()+1, nil
		}
	}
	if _, err := recordio.Put(t.Context(), db, book.at(key, headName), &head, 0); err != nil {
		t.Fatal(err)
	}
	return head.Last()
}

func silentNote(int64) Event {
	return Event{Event: api.Event{Type: api.EventNotice, Notice: &api.Notice{Text: "n"}}}
}

// A walk finds every event, in both directions, with few reads: of many segments that are
// alike, and of some that are not.
func TestWalkReadsFewSegments(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	like, unlike := make([]int, 400), make([]int, 400)
	for i := range like {
		like[i], unlike[i] = 8, 1+rnd.IntN(3)
		if i > 300 {
			unlike[i] = 1 + rnd.IntN(60)
		}
	}
	for _, test := range []struct {
		sizes []int
		reads int64
	}{{like, 3}, {unlike, 20}, {[]int{5}, 0}, {[]int{1, 0}, 1}} {
		db := &segmentReads{Records: store.Memory()}
		last := storeLog(t, db, test.sizes, silentNote)
		for n := int64(0); n <= last+2; n = n*5/4 + 1 {
			walk, err := NewStore(db, "p").walk(t.Context(), "ada/1")
			if err != nil {
				t.Fatal(err)
			}
			db.n.Store(0)
			for events, err := range walk.backward(t.Context(), n) {
				if err != nil || events[len(events)-1].Seq != min(n-1, last) {
					t.Fatalf("before %d: %d, %v", n, events[len(events)-1].Seq, err)
				}
				break
			}
			if reads := db.n.Load(); reads > test.reads {
				t.Errorf("%d segments: %d were read to find what is before %d", len(test.sizes), reads, n)
			}
			var on, back []int64
			for events, err := range walk.forward(t.Context(), n, n+70) {
				for _, e := range events {
					on = append(on, e.Seq)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			for events, err := range walk.backward(t.Context(), n+70) {
				for _, e := range slices.Backward(events) {
					if e.Seq >= n {
						back = append(back, e.Seq)
					}
				}
				if err != nil || events[0].Seq < n {
					break
				}
			}
			slices.Reverse(back)
			var want []int64
			for seq := max(1, n); seq < n+70 && seq <= last; seq++ {
				want = append(want, seq)
			}
			if !slices.Equal(on, want) || !slices.Equal(back, want) {
				t.Fatalf("70 from %d: %v, backward %v", n, on, back)
			}
		}
	}
}

// An old screen, an old picture and an old page of messages cost no more of a long log
// than of a short one.
func TestOldScreensReadFewSegments(t *testing.T) {
	t.Parallel()
	db := &segmentReads{Records: store.Memory()}
	var f transcript
	last := storeLog(t, db, slices.Repeat([]int{SegmentSize}, 100), func(seq int64) Event {
		e := said(int(seq), "")
		f.cursors = append(f.cursors, e.cursor)
		return e
	})
	r := NewReader(f, NewStore(db, "p"))
	l := New("ada/1", r.book, Hooks{Exists: always, Touched: func(string) {}})
	l.Older = r.Before
	if err := l.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	for before := int64(2); before < last; before += 1777 {
		for _, limit := range []int{1, 80} {
			db.n.Store(0)
			tail, err := l.Tail(t.Context(), before, limit)
			if err != nil || len(tail.Events) != int(min(before-1, int64(limit))) {
				t.Fatalf("%d before %d: %d, %v", limit, before, len(tail.Events), err)
			}
			for i, e := range tail.Events {
				if e.Seq != before-int64(len(tail.Events)-i) || string(e.Message) != "text "+fmt.Sprint("at ", e.Seq) {
					t.Fatalf("%d before %d: %d has %q", limit, before, e.Seq, e.Message)
				}
			}
			if n := db.n.Load(); n > 4 {
				t.Errorf("%d before %d: %d segments were read", limit, before, n)
			}
			for _, q := range []api.MessageQuery{{Before: before, Limit: limit}, {After: before, Limit: limit}} {
				db.n.Store(0)
				if _, _, err := r.Messages(t.Context(), l, q); err != nil {
					t.Fatal(err)
				}
				if n := db.n.Load(); n > 6 {
					t.Errorf("%+v: %d segments were read", q, n)
				}
			}
		}
	}
}

// endless is a fleet whose transcript may continue: a reader at its end waits.
type endless struct {
	transcript
	lost string // a cursor that the transcript does not have
	text []byte
	n    atomic.Int64 // messages that were read
}

func (f *endless) Events(ctx context.Context, key string, after fleet.Cursor) iter.Seq2[fleet.ConversationEvent, error] {
	return func(yield func(fleet.ConversationEvent, error) bool) {
		for e := range f.transcript.Events(ctx, key, after) {
			f.n.Add(1)
			if f.text != nil {
				e.Entry = f.text
			}
			if string(e.Cursor) != f.lost && !yield(e, nil) {
				return
			}
		}
		<-ctx.Done()
		yield(fleet.ConversationEvent{}, ctx.Err())
	}
}

// lineAt is a message as a transcript has it.
func lineAt(seq int64) Event {
	return Event{Event: api.Event{Type: api.EventMessage}, cursor: fmt.Sprintf("session:%d", seq)}
}

// recallRig opens the end of a log of messages.
func recallRig(t *testing.T, segments int, f *endless) *Log {
	t.Helper()
	db := store.Memory()
	storeLog(t, db, slices.Repeat([]int{SegmentSize}, segments), func(seq int64) Event {
		e := lineAt(seq)
		f.cursors = append(f.cursors, e.cursor)
		return e
	})
	l := New("ada/1", NewStore(db, "p"), Hooks{Exists: always, Touched: func(string) {}})
	l.Older = NewReader(f, l.book).Before
	if err := l.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l
}

// Large messages are brought back only as far as the memory has room for them, the newest
// first, and what has no room is not read again and again.
func TestRecallIsBoundedByBytes(t *testing.T) {
	t.Parallel()
	f := &endless{text: bytes.Repeat([]byte("x"), 1<<20)}
	l := recallRig(t, 20, f)
	whole := l.Older
	l.Older = func(ctx context.Context, key string, before int64, limit, most int) ([]Event, error) {
		events, err := whole(ctx, key, before, limit, most)
		sum := 0
		for i := range events {
			sum += len(events[i].Message)
		}
		if sum > keepBytes {
			t.Errorf("%d MiB at once", sum>>20)
		}
		return events, err
	}
	first := l.first
	for range 3 {
		if err := l.RecallAll(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := f.n.Load(); n > 2*recallChunk {
		t.Errorf("%d messages were read", n)
	}
	if got := first - l.first; got < 40 || l.bytes > keepBytes {
		t.Errorf("%d came back, %d MiB", got, l.bytes>>20)
	}
}

// A message that the transcript has lost, and all before it, stay away. The recall does
// not fail, a client that leaves does not wait for it, and it is found out once.
func TestRecallWithoutLostMessages(t *testing.T) {
	for _, lost := range []int64{300, 4*SegmentSize - LoadEvents} { // the second is the last that is wanted
		synctest.Test(t, func(t *testing.T) {
			f := &endless{lost: lineAt(lost).cursor}
			l := recallRig(t, 4, f)
			if lost != 300 {
				f.cursors = f.cursors[:lost] // nothing follows it
			}
			done := make(chan error)
			go func() { done <- l.RecallAll(t.Context()) }()
			synctest.Wait()
			left, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			begun := time.Now()
			if err := l.RecallAll(left); lost != 300 && err == nil || time.Since(begun) > time.Second {
				t.Errorf("a client that has left waits for %s: %v", time.Since(begun), err)
			}
			if err := <-done; err != nil {
				t.Errorf("lost %d: %v", lost, err)
			}
			if l.first != lost+1 || time.Since(begun) > olderPatience {
				t.Errorf("lost %d: the log begins at %d, after %s", lost, l.first, time.Since(begun))
			}
			n := f.n.Load()
			if err := l.RecallAll(t.Context()); err != nil || f.n.Load() > n {
				t.Errorf("lost %d: it is read again, %v", lost, err)
			}
		})
	}
}

// Who sent an old prompt is read from the log without its messages, and that a log has no
// sender is found out once.
func TestSenderOfOldPrompt(t *testing.T) {
	t.Parallel()
	db := &segmentReads{Records: store.Memory()}
	storeLog(t, db, slices.Repeat([]int{SegmentSize}, 8), func(seq int64) Event {
		if seq == 300 {
			return Event{Event: api.Event{Type: api.EventPrompt, Prompt: &api.Prompt{ID: "old", By: "ada", Text: "hello", State: api.PromptQueued}}}
		}
		if seq == 310 {
			return Event{Event: api.Event{Type: api.EventTurn, Turn: &api.Turn{Prompt: "old", State: api.PromptAnswered}}}
		}
		return silentNote(seq)
	})
	l := openLog(t, db)
	first := l.first
	if p := l.Sent(t.Context(), "old", true); p.By != "ada" || p.Text != "hello" {
		t.Errorf("%+v", p)
	}
	for i := range 3 {
		db.n.Store(0)
		if p := l.Sent(t.Context(), "of a program", true); p.By != "" {
			t.Errorf("%+v", p)
		}
		if n := db.n.Load(); i > 0 && n > 0 {
			t.Errorf("%d segments are read again", n)
		}
	}
	db.n.Store(0)
	if l.Sent(t.Context(), "runs", false); db.n.Load() > 0 {
		t.Error("a prompt that has not ended is searched for")
	}
	if l.first != first {
		t.Errorf("the log was brought back from %d", l.first)
	}
}
