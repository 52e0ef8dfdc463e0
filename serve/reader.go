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

// messages returns a page of messages, from memory and, for older ones, from the store,
// and whether there are more in the direction of the query.
func (r *reader) messages(ctx context.Context, l *eventLog, q api.MessageQuery) (events []logEvent, more bool, err error) {
	limit := pageSize(q.Limit)
	events, more, first := l.messages(q)
	switch {
	case q.After > 0 && q.After < first-1:
		old, moreOld, err := r.older(ctx, l.key, first, q, limit)
		events = append(old, events...)
		return events[:min(limit, len(events))], more || moreOld || len(events) > limit, err
	case more || q.After > 0 || first <= 1:
		return events, more, nil
	}
	// If the page is full, this only finds out whether there are more.
	old, more, err := r.older(ctx, l.key, first, q, limit-len(events))
	return append(old, events...), more, err
}
