package serve

import (
	"context"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve/api"
)

// reader reads messages: those in memory, and older ones from the store.
type reader struct {
	fleet fleet.Conversations
	book  logStore
}

// messages returns a page of messages, from memory and, for older ones, from the store.
func (r *reader) messages(ctx context.Context, l *eventLog, q api.MessageQuery) (events []logEvent, more bool, err error) {
	limit := pageSize(q.Limit)
	l.mu.Lock()
	first := l.first
	l.mu.Unlock()
	if q.After > 0 && q.After < first-1 {
		events, more, err = r.older(ctx, l.key, first, q, limit)
		if err != nil || more || len(events) == limit {
			return events, true, err
		}
		q.Limit = limit - len(events)
		newer, more := l.messages(q)
		return append(events, newer...), more, nil
	}
	events, more = l.messages(q)
	switch {
	case more || q.After > 0 || first <= 1:
		return events, more, nil
	case len(events) == limit:
		return events, true, nil
	}
	old, more, err := r.older(ctx, l.key, first, q, limit-len(events))
	return append(old, events...), more, err
}
