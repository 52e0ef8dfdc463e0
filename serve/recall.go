package serve

import (
	"context"
	"slices"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve/api"
)

// Tail is the end of a conversation's events, or of those before a given event. It
// costs the same however long the conversation is.
type Tail struct {
	Events []api.Event // the oldest first
	Last   int64       // the number of the conversation's last event; Follow continues there
	More   bool        // there are older events
	// Prompts are those of the conversation that have not ended.
	Prompts []api.Prompt
}

// tail returns the last events before a number, of all if it is 0. The last of all stay in
// memory, because an open page loads them again and again.
func (l *eventLog) tail(ctx context.Context, before int64, limit int) (Tail, error) {
	limit = max(0, limit)
	t, first := l.tailInMemory(before, limit)
	if missing := limit - len(t.Events); before <= 0 && missing > 0 && first > 1 {
		if err := l.recall(ctx, first-int64(missing)); err != nil {
			return t, err
		}
		t, first = l.tailInMemory(before, limit)
	}
	if before > 0 {
		first = min(first, before)
	}
	if missing := limit - len(t.Events); missing > 0 && first > 1 && l.older != nil {
		old, err := l.older(ctx, l.key, first, missing, 0)
		if err != nil {
			return t, err
		}
		events := make([]api.Event, 0, len(old)+len(t.Events))
		for i := range old {
			events = append(events, old[i].Event)
		}
		t.Events = append(events, t.Events...)
	}
	begin := t.Last + 1
	if before > 0 {
		begin = min(begin, before)
	}
	if len(t.Events) > 0 {
		begin = t.Events[0].Seq
	}
	t.More, t.Prompts = begin > 1, l.open()
	return t, nil
}

// tailInMemory returns those that are in memory, and the number of the first there.
func (l *eventLog) tailInMemory(before int64, limit int) (Tail, int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := Tail{Last: l.first + int64(len(l.events)) - 1}
	end := len(l.events)
	if before > 0 {
		end = int(min(max(0, before-l.first), int64(end)))
	}
	for _, e := range l.events[max(0, end-limit):end] {
		t.Events = append(t.Events, e.Event)
	}
	return t, l.first
}

// recallChunk is how many events are brought back at a time, the newest first, so that
// nothing is read that the memory has no room for.
const recallChunk = 1000

// recall brings events back into memory, from a number on, but no more than a log keeps.
// Those that cannot be read stay away, and all before them.
func (l *eventLog) recall(ctx context.Context, from int64) error {
	if l.older == nil {
		return nil
	}
	select {
	case l.recalling <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-l.recalling }()
	for {
		first, events, bytes := l.room(from)
		if events <= 0 {
			return nil
		}
		old, err := l.older(ctx, l.key, first, events, bytes)
		if err != nil {
			return err
		}
		l.mu.Lock()
		if l.prepend(old); l.first > first-int64(events) {
			l.edge = l.first
		}
		l.mu.Unlock()
	}
}

// room returns the number of the first event in memory, and how many events and bytes
// may come before it, from a number on.
func (l *eventLog) room(from int64) (first int64, events, bytes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	bytes = keepBytes - l.bytes
	if l.first <= l.edge || bytes < keepBytes/64 {
		return l.first, 0, 0
	}
	return l.first, int(min(l.first-max(1, from), int64(keepEvents-len(l.events)), recallChunk)), bytes
}

// recallAll brings back all that a log keeps.
func (l *eventLog) recallAll(ctx context.Context) error { return l.recall(ctx, 1) }

// recallSince brings back the events since a time, if some may be out of memory.
func (l *eventLog) recallSince(ctx context.Context, since time.Time) error {
	l.mu.Lock()
	have := l.first <= 1 || len(l.events) > 0 && l.events[0].At.Before(since.Add(-clockSkew))
	l.mu.Unlock()
	if have {
		return nil
	}
	return l.recallAll(ctx)
}

// recallApproval brings back what the log knows about an approval.
func (l *eventLog) recallApproval(ctx context.Context, q *approval.Question) error {
	l.mu.Lock()
	_, known := l.approvals[q.ID]
	l.mu.Unlock()
	if known {
		return nil
	}
	return l.recallSince(ctx, q.Asked)
}

// sent returns a prompt as it was sent, or as far as the log knows it. A log that has
// forgotten it is searched once.
func (l *eventLog) sent(ctx context.Context, id string, ended bool) api.Prompt {
	l.mu.Lock()
	p, first := l.prompts[id], l.first
	search := ended && p.By == "" && p.Text == "" && !slices.Contains(l.unsent, id) // those that have not ended are known
	l.mu.Unlock()
	if !search {
		return p
	}
	walk, err := l.book.walk(ctx, l.key)
	if err != nil {
		return p
	}
	found, ok, err := walk.prompt(ctx, first, id)
	if ok {
		return found
	}
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.unsent = append(l.unsent[max(0, len(l.unsent)-keepUnsent+1):], id)
	}
	return p
}

// keepUnsent is how many prompts a log remembers that it does not have, because a program
// has given them to the fleet itself.
const keepUnsent = 1000

// before returns events of a log from before a number, at most limit of them, the oldest
// first. It reads no more of a long log than of a short one. Messages that the transcript
// has lost have no text, nor have the oldest if all take more than some bytes; 0 means
// that there is no limit.
func (r *reader) before(ctx context.Context, key string, first int64, limit, bytes int) ([]logEvent, error) {
	walk, err := r.book.walk(ctx, key)
	if err != nil || limit <= 0 {
		return nil, err
	}
	var events []logEvent
	after := "" // the last message before them
	for stored, err := range walk.backward(ctx, first) {
		if err != nil {
			return nil, err
		}
		begin := max(0, len(stored)-(limit-len(events)))
		some := make([]logEvent, 0, len(stored)-begin+len(events))
		for i := range stored[begin:] {
			some = append(some, stored[begin+i].event())
		}
		events = append(some, events...)
		if len(events) == limit {
			if after = lastCursor(stored[:begin]); after != "" {
				break
			}
		}
	}
	return events, r.texts(ctx, key, fleet.Cursor(after), events, bytes)
}
