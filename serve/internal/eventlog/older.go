package eventlog

import (
	"context"
	"errors"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve/api"
)

// How long the reading of messages that are no longer in memory may take, and how long
// it may wait for the next of them before the rest counts as lost.
const (
	olderWait     = 30 * time.Second
	olderPatience = 10 * time.Second
)

// older returns a page of stored messages from before the first event in memory, the
// oldest first, and whether there are more in the direction of the query. Their texts
// come from the transcript; a message that it has lost has none.
func (r *Reader) older(ctx context.Context, key string, first int64, q api.MessageQuery, limit int) (events []Event, more bool, err error) {
	if q.Before > 0 {
		first = min(first, q.Before)
	}
	walk, err := r.book.walk(ctx, key)
	if err != nil {
		return nil, false, err
	}
	// One message more than the page has shows whether there are more, and where the
	// reading begins.
	after := ""
	if q.After > 0 {
		for some, err := range walk.forward(ctx, q.After+1, first) {
			if err != nil {
				return nil, false, err
			}
			if events = append(events, messagesOf(some)...); len(events) > limit {
				break
			}
		}
		more = len(events) > limit
		events = events[:min(limit, len(events))]
		if len(events) > 0 {
			after, err = walk.lastMessage(ctx, q.After+1)
		}
	} else {
		for some, err := range walk.backward(ctx, first) {
			if err != nil {
				return nil, false, err
			}
			if events = append(messagesOf(some), events...); len(events) > limit {
				break
			}
		}
		begin := max(0, len(events)-limit)
		if more = begin > 0; more {
			after = events[begin-1].cursor
		}
		events = events[begin:]
	}
	if err != nil || len(events) == 0 {
		return nil, more, err
	}
	err = r.texts(ctx, key, fleet.Cursor(after), events, 0)
	return events, more, err
}

// messagesOf returns the messages among stored events.
func messagesOf(stored []Stored) (events []Event) {
	for i := range stored {
		if stored[i].Type == api.EventMessage {
			events = append(events, stored[i].event())
		}
	}
	return events
}

// errLost ends the reading of messages that the transcript does not have.
var errLost = errors.New("the transcript does not have the message")

// texts fills in the texts of the messages among events, which the transcript has after
// a cursor. A message that the transcript has lost stays without one. If all together
// take more bytes than the limit, the oldest also do; 0 means no limit.
func (r *Reader) texts(ctx context.Context, key string, after fleet.Cursor, events []Event, limit int) error {
	missing := make(map[string]int)
	var last fleet.Cursor
	for i := range events {
		if events[i].Type == api.EventMessage {
			missing[events[i].place()], last = i, fleet.Cursor(events[i].cursor)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, olderWait)
	defer cancel()
	ctx, lose := context.WithCancelCause(ctx)
	patience := time.AfterFunc(olderPatience, func() { lose(errLost) })
	defer patience.Stop()
	window := textWindow{events: events, limit: limit}
	for e, err := range r.fleet.Events(ctx, key, after) {
		if err != nil {
			if errors.Is(context.Cause(ctx), errLost) {
				return nil
			}
			return err
		}
		if e.Live {
			continue
		}
		if e.Cursor.Behind(last) {
			break
		}
		patience.Reset(olderPatience)
		if i, ok := missing[e.Cursor.ID()]; ok {
			window.put(i, e.Entry)
			delete(missing, e.Cursor.ID())
		}
		if len(missing) == 0 {
			break
		}
	}
	return nil
}

// textWindow gives events their texts, in order, and takes the oldest away again when all
// together are too large.
type textWindow struct {
	events []Event
	limit  int // of bytes; 0: none
	bytes  int
	oldest int
}

func (w *textWindow) put(i int, text []byte) {
	w.events[i].Message = text
	w.bytes += len(text)
	for ; w.limit > 0 && w.bytes > w.limit && w.oldest < i; w.oldest++ {
		w.bytes -= len(w.events[w.oldest].Message)
		w.events[w.oldest].Message = nil
	}
}

// Before returns events of a log from before a number, at most limit of them, the oldest
// first. It reads no more of a long log than of a short one. Messages that the transcript
// has lost have no text, nor have the oldest if all take more than some bytes; 0 means
// that there is no limit.
func (r *Reader) Before(ctx context.Context, key string, first int64, limit, bytes int) ([]Event, error) {
	walk, err := r.book.walk(ctx, key)
	if err != nil || limit <= 0 {
		return nil, err
	}
	var events []Event
	after := "" // the last message before them
	for stored, err := range walk.backward(ctx, first) {
		if err != nil {
			return nil, err
		}
		begin := max(0, len(stored)-(limit-len(events)))
		some := make([]Event, 0, len(stored)-begin+len(events))
		for i := range stored[begin:] {
			some = append(some, stored[begin+i].event())
		}
		events = append(some, events...)
		if len(events) == limit {
			if after = lastCursor(stored[:begin]); after != "" {
				break
			}
		}
	}
	return events, r.texts(ctx, key, fleet.Cursor(after), events, bytes)
}
