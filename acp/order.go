package acp

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/message"
)

// overtaking is how long a question may wait for its call while nothing else is
// shown. The CLI announces a call before it asks about it, so the wait ends
// early; a call that is never announced must not hold its question for ever.
const overtaking = 2 * time.Second

// announced knows which tool calls the editor has been shown. The CLI's messages
// and its questions reach a session on two paths: without it, a question could
// overtake the call it is about, and the text before it. Its zero value is
// ready. It is safe for concurrent use.
type announced struct {
	mu      sync.Mutex
	calls   map[string]bool // shown with their input, and without a result
	changed chan struct{}   // closed at the next message; nil: nothing waits
}

// know takes calls of an earlier process, which are not waited for.
func (a *announced) know(calls iter.Seq[string]) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.calls == nil {
		a.calls = make(map[string]bool)
	}
	for id := range calls {
		a.calls[id] = true
	}
}

// note takes a message whose updates were sent.
func (a *announced) note(msg message.Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch msg := msg.(type) {
	case *message.Assistant:
		for _, b := range msg.Content {
			if use, ok := b.(*message.ToolUseBlock); ok {
				if a.calls == nil {
					a.calls = make(map[string]bool)
				}
				a.calls[use.ID] = true
			}
		}
	case *message.User:
		for _, r := range msg.ToolResults() {
			delete(a.calls, r.ToolUseID)
		}
	}
	if a.changed != nil {
		close(a.changed)
		a.changed = nil
	}
}

// wait returns when a call was shown, when nothing was shown for a while, and
// when ctx ends. An empty id is not waited for.
func (a *announced) wait(ctx context.Context, id string) {
	if id == "" {
		return
	}
	patience := time.NewTimer(overtaking)
	defer patience.Stop()
	for {
		a.mu.Lock()
		if a.calls[id] {
			a.mu.Unlock()
			return
		}
		if a.changed == nil {
			a.changed = make(chan struct{})
		}
		changed := a.changed
		a.mu.Unlock()
		select {
		case <-changed:
			patience.Reset(overtaking)
		case <-patience.C:
			return
		case <-ctx.Done():
			return
		}
	}
}
