package eventlog

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/internal/recordio"
	"github.com/claude-agent-go/claude/store"
)

// transcript is a fleet that has the messages of one conversation.
type transcript struct {
	fleet.Conversations
	cursors []string
}

func (f transcript) Events(_ context.Context, _ string, after fleet.Cursor) iter.Seq2[fleet.ConversationEvent, error] {
	return func(yield func(fleet.ConversationEvent, error) bool) {
		for _, cursor := range f.cursors[slices.Index(f.cursors, string(after))+1:] {
			if !yield(fleet.ConversationEvent{Cursor: fleet.Cursor(cursor), Entry: []byte("text " + cursor)}, nil) {
				return
			}
		}
	}
}

// Every page of messages equals the same part of the whole list: in both directions,
// with any bound and any number, wherever the memory begins and the segments end. Pages follow each other without a gap or a repetition.
func TestPagesOfMessages(t *testing.T) {
	t.Parallel()
	for seed := range uint64(long.Pick(4, 12)) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		db, key := store.Memory(), "ada/1"
		book := NewStore(db, "p")
		l := New(key, book, Hooks{Exists: always, Touched: func(string) {}})
		var all []int64
		var f transcript
		head := Head{First: 1}
		last, kept := int64(30+rnd.IntN(40)), int64(1+rnd.IntN(30))
		if seed%4 == 0 {
			kept = 1 // everything is in memory
		}
		for seq := int64(1); seq <= last; seq++ {
			e := Event{Event: api.Event{Type: api.EventNotice, Seq: seq, Notice: &api.Notice{}}}
			if rnd.IntN(3) > 0 {
				e = said(int(seq), "")
				all, f.cursors = append(all, seq), append(f.cursors, e.cursor)
			}
			head.Events = append(head.Events, storable(e))
			if seq >= kept {
				if e.Type == api.EventMessage {
					e.Message = []byte("text " + e.cursor)
				}
				l.events = append(l.events, e)
			}
			if seq < kept && (rnd.IntN(5) == 0 || seed%2 == 0 && seq == kept-1) { // otherwise the memory begins within the head
				if _, err := recordio.Put(t.Context(), db, book.at(key, segmentName(head.Segments)), &Head{First: head.First, Events: head.Events}, 0); err != nil {
					t.Fatal(err)
				}
				head.Segments, head.First, head.Events = head.Segments+1, seq+1, nil
			}
		}
		l.first = kept
		if _, err := recordio.Put(t.Context(), db, book.at(key, headName), &head, 0); err != nil {
			t.Fatal(err)
		}
		r := NewReader(f, book)
		for limit := 1; limit <= 6; limit++ {
			for at := int64(0); at <= last+1; at++ {
				for _, q := range []api.MessageQuery{{Before: at, Limit: limit}, {After: at, Limit: limit}} {
					want := slices.Clone(all)
					more := false
					if q.After > 0 {
						want = slices.DeleteFunc(want, func(seq int64) bool { return seq <= q.After })
						more = len(want) > limit
						want = want[:min(limit, len(want))]
					} else {
						want = slices.DeleteFunc(want, func(seq int64) bool { return q.Before > 0 && seq >= q.Before })
						more = len(want) > limit
						want = want[max(0, len(want)-limit):]
					}
					events, gotMore, err := r.Messages(t.Context(), l, q)
					if err != nil {
						t.Fatal(err)
					}
					var got []int64
					for _, e := range events {
						got = append(got, e.Seq)
						if string(e.Message) != "text "+e.cursor || e.cursor != fmt.Sprint("at ", e.Seq) {
							t.Fatalf("seed %d, %+v: %d is %q at %q", seed, q, e.Seq, e.Message, e.cursor)
						}
					}
					if !slices.Equal(got, want) || gotMore != more {
						t.Fatalf("seed %d, memory from %d, %+v: %v, more: %v; want %v, %v", seed, kept, q, got, gotMore, want, more)
					}
				}
			}
		}
	}
}

// The tail of a log has the last events before a number, up to a limit, and reports
// whether there are more.
func TestTailOfLog(t *testing.T) {
	t.Parallel()
	l := New("ada/1", Store{}, Hooks{Exists: always, Touched: func(string) {}})
	l.first = 11
	for seq := int64(11); seq <= 20; seq++ {
		l.events = append(l.events, Event{Event: api.Event{Type: api.EventNotice, Seq: seq}})
	}
	for before := int64(0); before <= 25; before++ {
		for limit := -1; limit <= 12; limit++ {
			end := int64(20)
			if before > 0 {
				end = max(10, min(20, before-1))
			}
			begin := max(11, end-int64(max(0, limit))+1)
			got, err := l.Tail(t.Context(), before, limit)
			more := before != 1 // the log has ten more events, which are not in memory
			ok := err == nil && got.Last == 20 && got.More == more && int64(len(got.Events)) == end-begin+1
			for i, e := range got.Events {
				ok = ok && e.Seq == begin+int64(i)
			}
			if !ok {
				t.Errorf("%d before %d: %+v", limit, before, got)
			}
		}
	}
}

// A reader takes everything from its place on, in order, at most so much at a time,
// and stops at a message whose text another process has not stored yet. A place that the
// log does not have is lost.
func TestViewOfLog(t *testing.T) {
	t.Parallel()
	l := New("ada/1", Store{}, Hooks{Exists: always, Touched: func(string) {}})
	l.first = 11
	const last = 11 + 2*viewSize
	for seq := 11; seq <= last; seq++ {
		e := said(seq, "text")
		if seq%3 == 0 {
			e = Event{Event: api.Event{Type: api.EventTurn, Seq: int64(seq)}}
		}
		if seq == last-4 {
			e = said(seq, "") // not a turn: see below
		}
		l.events = append(l.events, e)
	}
	for after := int64(8); after <= last+2; after++ {
		v := l.view(after, new(seen), false)
		if lost := after < 10 || after > last; v.lost != lost {
			t.Fatalf("after %d it is lost: %v", after, v.lost)
		} else if lost {
			continue
		}
		end := min(int64(last), after+viewSize)
		if after < last-4 {
			end = min(end, last-5)
		}
		for i, e := range v.events {
			if e.Seq != after+1+int64(i) {
				t.Fatalf("after %d, event %d has the number %d", after, i, e.Seq)
			}
		}
		if got := after + int64(len(v.events)); got != end || v.more != (end-after == viewSize) || v.held || v.closed != "" || v.changed == nil {
			t.Errorf("after %d up to %d, want %d, more: %v", after, got, end, v.more)
		}
	}
	l.fill("at "+strconv.Itoa(last-4), []byte("late")) // a cursor that it does not know
	if got := l.view(last-5, new(seen), false); len(got.events) != 0 {
		t.Errorf("an unknown cursor fills %+v", got.events)
	}
	l.cursors["at "+strconv.Itoa(last-4)], l.unloaded = last-4, 1
	next := l.NextChange()
	l.fill("at "+strconv.Itoa(last-4), []byte("late"))
	select {
	case <-next:
	default:
		t.Error("readers are not woken by a late text")
	}
	if got := l.view(last-5, new(seen), false); len(got.events) != 5 || string(got.events[0].Message) != "late" || l.unloaded != 0 {
		t.Errorf("after the late text: %+v", got.events)
	}
	l.fill("at "+strconv.Itoa(last-4), []byte("again"))
	if got := l.view(last-5, new(seen), false); string(got.events[0].Message) != "late" || l.unloaded != 0 {
		t.Errorf("filled twice: %s, %d", got.events[0].Message, l.unloaded)
	}
}
