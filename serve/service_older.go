package serve

import (
	"context"
	"slices"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve/api"
)

// olderWait limits how long reading messages that are no longer in memory may take.
const olderWait = 30 * time.Second

// older returns a page of stored messages from before the first event in memory, the
// oldest first, and whether there are more in the direction of the query. Their texts
// come from the transcript.
func (r *reader) older(ctx context.Context, key string, first int64, q api.MessageQuery, limit int) (events []logEvent, more bool, err error) {
	if q.Before > 0 {
		first = min(first, q.Before)
	}
	head, _, err := r.book.head(ctx, key)
	if err != nil {
		return nil, false, err
	}
	// One message more than the page has, and the one before it, at whose cursor the
	// reading begins.
	var found []logEvent
	for i := range head.Segments + 1 {
		if q.After == 0 { // the newest ones
			i = head.Segments - i
		}
		stored := head.Events // a log is opened at its end, which may be within the head
		if i < head.Segments {
			if stored, err = r.book.segment(ctx, key, i); err != nil {
				return nil, false, err
			}
		}
		var some []logEvent
		for j := range stored {
			if stored[j].Type == api.EventMessage && stored[j].Seq < first {
				some = append(some, stored[j].event())
			}
		}
		if q.After == 0 {
			found = append(some, found...)
		} else {
			found = append(found, some...)
		}
		if wanted := slices.IndexFunc(found, func(e logEvent) bool { return e.Seq > q.After }); wanted >= 0 && len(found)-wanted > limit {
			break
		}
	}
	begin := max(0, len(found)-limit)
	more = begin > 0
	if q.After > 0 {
		begin = slices.IndexFunc(found, func(e logEvent) bool { return e.Seq > q.After })
		if begin < 0 {
			return nil, false, nil
		}
		if more = len(found)-begin > limit; more {
			found = found[:begin+limit]
		}
	}
	after := fleet.Cursor("")
	if begin > 0 {
		after = fleet.Cursor(found[begin-1].cursor)
	}
	events, err = r.texts(ctx, key, after, found[begin:])
	return events, more, err
}

// texts fills in the texts of messages, which the transcript has after a cursor.
func (r *reader) texts(ctx context.Context, key string, after fleet.Cursor, events []logEvent) ([]logEvent, error) {
	if len(events) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, olderWait)
	defer cancel()
	places := make(map[string]int)
	for i := range events {
		places[events[i].place()] = i
	}
	for e, err := range r.fleet.Events(ctx, key, after) {
		if err != nil {
			return nil, err
		}
		if i, ok := places[e.Cursor.ID()]; ok && !e.Live {
			events[i].Message = []byte(e.Entry)
			delete(places, e.Cursor.ID())
		}
		if len(places) == 0 {
			break
		}
	}
	return events, nil
}
