package eventlog

import (
	"context"
	"errors"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/serve/api"
)

// Hear takes one event of the fleet into the log.
func (l *Log) Hear(ctx context.Context, e fleet.ConversationEvent) error {
	if piece, ok := e.Message.(*message.StreamEvent); ok {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.writingOn.take(piece, e.Offset) {
			l.wake()
		}
		return nil
	}
	if status, ok := e.Message.(*message.Status); ok {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.compacts.take(status)
		l.wake()
		return nil
	}
	if e.Live { // the end of a turn, for which the log has its own event
		l.mu.Lock()
		defer l.mu.Unlock()
		l.writingOn.blocks = nil // a block that is not stored by now never will be
		if r, ok := e.Message.(*message.Result); ok {
			l.results.add(r.UUID)
		}
		l.wake()
		return nil
	}
	cursor := string(e.Cursor)
	err := l.append(ctx, func(h *Head) []Event {
		if _, known := l.cursors[e.Cursor.ID()]; known {
			return nil
		}
		h.Context = h.Context.heard(&e)
		return []Event{{Event: api.Event{Type: api.EventMessage, Message: []byte(e.Entry)}, cursor: cursor}}
	})
	if err == nil {
		l.fill(cursor, []byte(e.Entry))
	}
	return err
}

// AwaitAnswer waits until the log has every message before a result. A client that
// leaves at the end of a turn must not miss the answer.
func (l *Log) AwaitAnswer(ctx context.Context, r *message.Result) {
	for before := l.results.last(); ; {
		next := l.NextChange()
		if l.results.has(r.UUID) || l.results.last() != before || ctx.Err() != nil {
			return
		}
		select {
		case <-next:
		case <-ctx.Done():
		}
	}
}

// Progress records the progress of a prompt, unless the log has it. unprompted is the
// cost of all turns that answer no prompt.
func (l *Log) Progress(ctx context.Context, t *fleet.Ticket, unprompted fleet.Ledger) error {
	return l.append(ctx, func(h *Head) []Event { return l.advance(h, t, unprompted) })
}

// ErrReadAgain ends the reading of messages, so that it begins again.
var ErrReadAgain = errors.New("there are messages to read")

// Reading returns a context for the reading of messages, which ReadAgain ends.
func (l *Log) Reading(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.again = cancel
	return ctx, func() { cancel(nil) }
}

// ReadAgain reads messages at once if another server has recorded some that are not
// read yet, because a fleet rarely looks at a quiet conversation.
func (l *Log) ReadAgain() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unloaded > 0 && l.again != nil {
		l.again(ErrReadAgain)
	}
}

// Beginning returns the cursor to read messages from: that of the last message
// without a gap before it.
func (l *Log) Beginning() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, seq := range l.cursors {
		if seq < l.first { // it left the memory before it was read
			return l.begin
		}
	}
	begin := l.begin
	for i := range l.events {
		if e := &l.events[i]; e.Type != api.EventMessage {
			continue
		} else if e.Message == nil {
			break
		} else {
			begin = e.cursor
		}
	}
	return begin
}

// ReadyIfWhole lets readers in once the log has all messages.
func (l *Log) ReadyIfWhole(readied func()) {
	l.mu.Lock()
	whole := l.unloaded <= 0
	l.mu.Unlock()
	if whole {
		readied()
	}
}
