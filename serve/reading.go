package serve

import (
	"context"
	"errors"

	"github.com/claude-agent-go/claude/serve/api"
)

// errReadAgain ends the reading of messages, so that it begins again.
var errReadAgain = errors.New("there are messages to read")

// reading returns a context for the reading of messages, which readAgain ends.
func (l *eventLog) reading(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.again = cancel
	return ctx, func() { cancel(nil) }
}

// readAgain reads messages at once, if another server has recorded some that are not
// read yet: a fleet looks at a quiet conversation rarely.
func (l *eventLog) readAgain() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unloaded > 0 && l.again != nil {
		l.again(errReadAgain)
	}
}

// beginning returns the cursor after which to read messages: that of the last message
// before which none is missing.
func (l *eventLog) beginning() string {
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

// readyIfWhole lets readers in once the log has all messages.
func (l *eventLog) readyIfWhole(readied func()) {
	l.mu.Lock()
	whole := l.unloaded <= 0
	l.mu.Unlock()
	if whole {
		readied()
	}
}
