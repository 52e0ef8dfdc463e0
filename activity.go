package claude

import (
	"context"
	"sync"
	"time"
)

// Activity is what a session is doing. The session is idle if everything but
// Since is zero.
type Activity struct {
	// Turn says that a turn runs.
	Turn bool
	// Replaying says that the CLI is continuing what a resumed session left
	// unfinished, such as a tool call that a hook deferred. The result names no
	// prompt.
	Replaying bool
	// Queued counts the prompts whose turn has not begun.
	Queued int
	// Callbacks counts the requests of the CLI that are not yet answered:
	// permissions, hooks, and messages to MCP servers in this process.
	Callbacks int
	// Agents counts the background agents and workflows that are working, or
	// that the CLI has yet to answer.
	Agents int
	// Shells counts the shell commands running in the background.
	Shells int
	// Since is when the session last became idle or stopped being idle.
	Since time.Time
}

// Idle reports whether the session does nothing.
func (a Activity) Idle() bool {
	a.Since = time.Time{}
	return a == Activity{}
}

// Activity returns what the session is doing at this moment.
func (s *Session) Activity() Activity {
	a, _ := s.activity.look(s)
	return a
}

// Idle waits until the session does nothing: no turn runs, no prompt waits, no
// callback is unanswered, and nothing works in the background. It returns early
// with the error of ctx, or with what Wait returns when the session is over;
// that is ErrClosed if it was closed or ended normally.
//
// What the CLI says may then still be unread. A new prompt, or the end of a
// background command, can end the idleness at any time.
func (s *Session) Idle(ctx context.Context) error {
	for {
		now, changed := s.activity.look(s)
		select {
		case <-s.life.done:
			if s.life.cause != nil {
				return s.life.cause
			}
			return ErrClosed
		default:
		}
		if now.Idle() {
			return nil
		}
		select {
		case <-changed:
		case <-s.life.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// doing is what the session is doing, without the time.
func (s *Session) doing() Activity {
	a := s.inbox.Activity()
	s.held.mu.Lock()
	held := len(s.held.waiting)
	s.held.mu.Unlock()
	return Activity{
		Turn: a.Turn, Replaying: a.Replaying, Queued: a.Queued + held,
		Callbacks: s.peer.Unanswered(), Agents: a.Agents, Shells: a.Shells,
	}
}

// noteActivity is called after everything that may change what a session is
// doing, from any goroutine.
func (s *Session) noteActivity() { s.activity.look(s) }

// activityLog knows when a session became idle or busy, and wakes those waiting for
// it.
type activityLog struct {
	mu      sync.Mutex
	idle    bool
	since   time.Time
	changed chan struct{} // closed when idle changes
}

func newActivityLog() *activityLog {
	return &activityLog{idle: true, since: time.Now(), changed: make(chan struct{})}
}

// look takes note of what the session is doing, and returns it with a channel that
// is closed when it becomes idle or busy. One look follows another, so that an
// older one does not come last.
func (l *activityLog) look(s *Session) (Activity, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := s.doing()
	if idle := a.Idle(); idle != l.idle {
		l.idle, l.since = idle, time.Now()
		close(l.changed)
		l.changed = make(chan struct{})
	}
	a.Since = l.since
	return a, l.changed
}
