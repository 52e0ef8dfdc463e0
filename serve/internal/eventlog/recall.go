package eventlog

import (
	"context"
	"slices"
	"time"

	"github.com/claude-agent-go/claude/serve/api"
)

// lastEvents is the end of a conversation's events, or of those before a given event. It
// costs the same however long the conversation is.
type lastEvents struct {
	Events []api.Event // the oldest first
	Last   int64       // the number of the conversation's last event; following continues there
	More   bool        // there are older events
	// Prompts holds the prompts of the conversation that have not ended.
	Prompts []api.Prompt
}

// Tail returns the last events before a number, of all if it is 0. The last of all stay in
// memory, because an open page loads them again and again.
func (l *Log) Tail(ctx context.Context, before int64, limit int) (lastEvents, error) {
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
	if missing := limit - len(t.Events); missing > 0 && first > 1 && l.Older != nil {
		old, err := l.Older(ctx, l.key, first, missing, 0)
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
	t.More, t.Prompts = begin > 1, l.Open()
	return t, nil
}

// tailInMemory returns those that are in memory, and the number of the first there.
func (l *Log) tailInMemory(before int64, limit int) (lastEvents, int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := lastEvents{Last: l.first + int64(len(l.events)) - 1}
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
func (l *Log) recall(ctx context.Context, from int64) error {
	if l.Older == nil {
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
		old, err := l.Older(ctx, l.key, first, events, bytes)
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
func (l *Log) room(from int64) (first int64, events, bytes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	bytes = keepBytes - l.bytes
	if l.first <= l.edge || bytes < keepBytes/64 {
		return l.first, 0, 0
	}
	return l.first, int(min(l.first-max(1, from), int64(keepEvents-len(l.events)), recallChunk)), bytes
}

// RecallAfter brings back the events after a number, if a log keeps so many.
func (l *Log) RecallAfter(ctx context.Context, after int64) error {
	if last := l.LastSeq(); after >= last || last-after > keepEvents {
		return nil
	}
	return l.recall(ctx, after+1)
}

// RecallAll brings back all that a log keeps.
func (l *Log) RecallAll(ctx context.Context) error { return l.recall(ctx, 1) }

// RecallSince brings back the events since a time, if some may be out of memory.
func (l *Log) RecallSince(ctx context.Context, since time.Time) error {
	l.mu.Lock()
	have := l.first <= 1 || len(l.events) > 0 && l.events[0].At.Before(since.Add(-ClockSkew))
	l.mu.Unlock()
	if have {
		return nil
	}
	return l.RecallAll(ctx)
}

// RecallApproval brings back what the log knows about an approval that was asked at a
// time.
func (l *Log) RecallApproval(ctx context.Context, id string, asked time.Time) error {
	l.mu.Lock()
	_, known := l.approvals[id]
	l.mu.Unlock()
	if known {
		return nil
	}
	return l.RecallSince(ctx, asked)
}

// Sent returns a prompt as it was sent, or as far as the log knows it. A log that has
// forgotten it is searched once.
func (l *Log) Sent(ctx context.Context, id string, ended bool) api.Prompt {
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
