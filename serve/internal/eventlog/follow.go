package eventlog

import (
	"context"
	"iter"
	"time"

	"github.com/claude-agent-go/claude/serve/api"
)

// The shortest pauses between two pieces of live text, and between two rounds of
// events, to one reader. People hardly see the difference, and a thousand readers of a
// busy conversation are woken less often. An event after a quiet time is sent at once.
const (
	deltaPause = 50 * time.Millisecond
	eventPause = 100 * time.Millisecond
)

// Follow yields the events after a number, then [api.EventSynced], and then new events,
// until ctx ends. A position that the log does not have yields [api.EventReset] and
// ends. Nothing waits for a reader: a slow one gets more at a time.
func (l *Log) Follow(ctx context.Context, after int64) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		synced := false
		var text seen
		var compacts compaction
		var quiet time.Time // no live text before
		var rest time.Time  // no events before
		for {
			v := l.view(after, &text, synced && time.Now().Before(quiet))
			if v.lost {
				yield(Event{Event: api.Event{Type: api.EventReset, Reason: "the server does not keep events from that place on: load the conversation again"}})
				return
			}
			if synced && !yieldAll(yield, l.compactionNews(&compacts, false)) { // its end comes before that of its turn
				return
			}
			for _, e := range v.events {
				if !yield(e) {
					return
				}
				after = e.Seq
			}
			if synced && len(v.events) > 0 {
				rest = time.Now().Add(eventPause)
			}
			if !synced && !v.more {
				if synced = true; !yield(Event{Event: api.Event{Type: api.EventSynced}}) || !yieldAll(yield, l.compactionNews(&compacts, true)) {
					return
				}
			}
			for _, e := range v.text {
				if !yield(e) {
					return
				}
				quiet = time.Now().Add(deltaPause)
			}
			switch {
			case ctx.Err() != nil:
				return
			case v.more:
			case v.closed != "":
				yield(Event{Event: api.Event{Type: api.EventBye, Reason: v.closed}})
				return
			case v.held:
				pause(ctx, time.Until(quiet))
			case time.Now().Before(rest):
				pause(ctx, time.Until(rest))
			default:
				select {
				case <-ctx.Done():
					return
				case <-v.changed:
				}
			}
		}
	}
}

func yieldAll(yield func(Event) bool, events []Event) bool {
	for _, e := range events {
		if !yield(e) {
			return false
		}
	}
	return true
}

// view holds what a reader finds at its position.
type view struct {
	events  []Event
	text    []Event
	more    bool // there are more events
	held    bool // live text is held back until later
	lost    bool
	closed  string
	changed <-chan struct{}
}

// viewSize is how many events a reader takes at a time.
const viewSize = 256

func (l *Log) view(after int64, text *seen, quiet bool) view {
	l.mu.Lock()
	defer l.mu.Unlock()
	v := view{closed: l.closed, changed: l.changed}
	last := l.first + int64(len(l.events)) - 1
	if after < l.first-1 || after > last {
		v.lost = true
		return v
	}
	for i := after + 1 - l.first; i < int64(len(l.events)); i++ {
		if e := l.events[i]; e.Type != api.EventMessage || e.Message != nil {
			v.events = append(v.events, e)
		} else {
			break // another process wrote it: its message will come
		}
		if len(v.events) == viewSize {
			v.more = true
			return v
		}
	}
	if v.held = quiet && len(l.writingOn.blocks) > 0; !v.held {
		v.text = l.writingOn.news(text)
	}
	return v
}

// pause waits, but not for longer than ctx lasts.
func pause(ctx context.Context, atMost time.Duration) {
	t := time.NewTimer(atMost)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

func (l *Log) compactionNews(sent *compaction, first bool) []Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.compacts.news(sent, first)
}
