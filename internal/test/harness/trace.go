package harness

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/claude-agent-go/claude"
)

// TraceEnds counts what a session reports as begun and as ended. A tracing
// library has a span for each, so nothing may be left, or end twice.
type TraceEnds struct {
	mu                           sync.Mutex
	sessions, callbacks, started int
}

// Trace returns functions that count. Several sessions may share them.
func (e *TraceEnds) Trace() *claude.Trace {
	add := func(n *int, by int) {
		e.mu.Lock()
		defer e.mu.Unlock()
		*n += by
	}
	return &claude.Trace{
		Starting: func(context.Context, *claude.TraceStart) *claude.Trace {
			add(&e.sessions, 1)
			return nil
		},
		Ended: func(error) { add(&e.sessions, -1) },
		CallbackContext: func(ctx context.Context, _ claude.TraceCallback) context.Context {
			add(&e.callbacks, 1)
			return ctx
		},
		CallbackStarted: func(claude.TraceCallback) { add(&e.started, 1) },
		CallbackDone: func(claude.TraceCallback) {
			add(&e.callbacks, -1)
			add(&e.started, -1)
		},
		CloseWait: time.Second,
	}
}

// Left names what has not ended, or ended twice, "" for nothing.
func (e *TraceEnds) Left() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var left []string
	for name, n := range map[string]int{"sessions": e.sessions, "contexts of callbacks": e.callbacks, "callbacks": e.started} {
		if n != 0 {
			left = append(left, fmt.Sprintf("%d %s", n, name))
		}
	}
	return strings.Join(left, ", ")
}

// LeftAfter is Left once nothing is left, or a time has passed: a session that
// could not be started may report its end after Connect has returned.
func (e *TraceEnds) LeftAfter(bound time.Duration) string {
	for begin := time.Now(); time.Since(begin) < bound && e.Left() != ""; {
		<-time.After(time.Millisecond)
	}
	return e.Left()
}
