package eventlog

import (
	"context"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve/api"
)

// Reader reads messages: those in memory, and older ones from the store. Its methods may
// be called by several goroutines.
type Reader struct {
	fleet fleet.Conversations
	book  Store
}

// NewReader returns a reader of messages.
func NewReader(f fleet.Conversations, book Store) *Reader { return &Reader{f, book} }

// Messages returns a page of messages, from memory and, for older ones, from the store,
// and whether there are more in the direction of the query.
func (r *Reader) Messages(ctx context.Context, l *Log, q api.MessageQuery) (events []Event, more bool, err error) {
	limit := q.Limit
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
