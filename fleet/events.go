package fleet

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/store"
)

// Cursor is a place in the history of a conversation. The zero Cursor is its
// beginning. It is a text that can be kept and sent.
type Cursor string

// ConversationEvent is something that was said in a conversation.
type ConversationEvent struct {
	// Cursor is the place behind the event, for the next Events.
	Cursor Cursor
	// Message is a [*message.User] or a [*message.Assistant].
	Message message.Message
	// Session is the session that it was said in, and Entry its line in the
	// transcript.
	Session string
	Entry   store.Entry
}

// Events yields what was said in a conversation after a place, and then what is
// being said, until ctx ends or the loop is left. It comes from the stored
// transcript, so each event comes once and none is left out, whichever process
// runs the conversation, even when it changes hands. An event is seen once
// it is stored: at the latest when its turn ends. Errors: [ErrUnknown], those of
// the store, ctx.
func (f *Fleet) Events(ctx context.Context, key string, after Cursor) iter.Seq2[ConversationEvent, error] {
	return func(yield func(ConversationEvent, error) bool) {
		at, err := parseCursor(after)
		if err != nil {
			yield(ConversationEvent{}, &ConversationError{key, err})
			return
		}
		r := &eventReader{f: f, key: key, at: at, yield: yield}
		for {
			changed := f.store.nextChange()
			more, err := r.read(ctx)
			if err != nil {
				yield(ConversationEvent{}, err)
				return
			}
			if !more {
				return
			}
			if !waitFor(ctx, changed, f.opts.Poll) {
				yield(ConversationEvent{}, context.Cause(ctx))
				return
			}
		}
	}
}

// position is a cursor taken apart: how many lines of a session were read.
type position struct {
	session string
	lines   int
}

func (p position) cursor() Cursor { return Cursor(p.session + ":" + strconv.Itoa(p.lines)) }

func parseCursor(c Cursor) (position, error) {
	if c == "" {
		return position{}, nil
	}
	session, lines, _ := strings.Cut(string(c), ":")
	n, err := strconv.Atoi(lines)
	if err != nil || n < 0 {
		return position{}, fmt.Errorf("%w: %q is not a cursor", store.ErrInvalid, string(c))
	}
	return position{session, n}, nil
}

// eventReader reads the transcripts of a conversation.
type eventReader struct {
	f     *Fleet
	key   string
	at    position
	yield func(ConversationEvent, error) bool
}

// read yields what is new; false if the loop was left.
func (r *eventReader) read(ctx context.Context) (more bool, err error) {
	rec, _, err := r.f.loadRecord(ctx, r.key)
	if err != nil {
		return false, err
	}
	sessions := append(slices.Clone(rec.Older), rec.Session)
	if r.at.session != "" {
		i := slices.Index(sessions, r.at.session)
		if i < 0 {
			return false, &ConversationError{r.key, fmt.Errorf("%w: the cursor is not one of this conversation", store.ErrInvalid)}
		}
		sessions = sessions[i:]
	}
	for _, session := range sessions {
		if session == "" {
			continue
		}
		if session != r.at.session {
			if stored, err := r.begun(ctx, session); err != nil || !stored {
				return err == nil, err
			}
			r.at = position{session: session}
		}
		if more, err := r.readSession(ctx); !more || err != nil {
			return more, err
		}
	}
	return true, nil
}

// begun reports whether something is stored of a session. One of which nothing
// is may never be: a cursor must not name it.
func (r *eventReader) begun(ctx context.Context, session string) (bool, error) {
	for _, err := range r.f.store.Load(ctx, store.Key{Project: r.f.opts.Project, Session: session}) {
		if errors.Is(err, store.ErrNotFound) {
			return false, nil
		}
		return err == nil, err
	}
	return false, nil
}

// readSession yields what is new in the session at the position.
func (r *eventReader) readSession(ctx context.Context) (more bool, err error) {
	n := 0
	for e, err := range r.f.store.Load(ctx, store.Key{Project: r.f.opts.Project, Session: r.at.session}) {
		if errors.Is(err, store.ErrNotFound) {
			return true, nil
		}
		if err != nil {
			return false, &ConversationError{r.key, err}
		}
		if n++; n <= r.at.lines {
			continue
		}
		r.at.lines = n
		if m := said(e); m != nil && !r.yield(ConversationEvent{r.at.cursor(), m, r.at.session, e}, nil) {
			return false, nil
		}
	}
	return true, nil
}

// said returns the message in a line of a transcript, nil if it has none that
// people see.
func said(e store.Entry) message.Message {
	kind := jsonx.Text(jsonx.Member(e, "type"))
	if kind != "user" && kind != "assistant" || string(jsonx.Member(e, "isMeta")) == "true" {
		return nil
	}
	m, _ := message.DecodeAs(kind, "", e) // a line with odd fields is still a message
	switch m.(type) {
	case *message.User, *message.Assistant:
		return m
	}
	return nil
}

// announcer is the store, and wakes the waiters for something to be appended
// to it by this process.
type announcer struct {
	store.Fleet
	mu      sync.Mutex
	changed chan struct{} // closed at the next append
}

func newAnnouncer(s store.Fleet) *announcer {
	return &announcer{Fleet: s, changed: make(chan struct{})}
}

// Append implements [store.Store].
func (a *announcer) Append(ctx context.Context, k store.Key, b store.Batch) error {
	err := a.Fleet.Append(ctx, k, b)
	if err == nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		close(a.changed)
		a.changed = make(chan struct{})
	}
	return err
}

func (a *announcer) nextChange() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.changed
}

// waitFor waits for a change, at most for the time between two polls. It
// returns false if ctx has ended.
func waitFor(ctx context.Context, changed <-chan struct{}, poll time.Duration) bool {
	t := time.NewTimer(poll)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-changed:
	case <-t.C:
	}
	return ctx.Err() == nil
}
