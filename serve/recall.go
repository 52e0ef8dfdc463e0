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

// tail returns the last events before a number, of all if it is 0.
func (l *eventLog) tail(ctx context.Context, before int64, limit int) (Tail, error) {
	limit = max(0, limit)
	t, first := l.tailInMemory(before, limit)
	if before > 0 {
		first = min(first, before)
	}
	if missing := limit - len(t.Events); missing > 0 && first > 1 && l.older != nil {
		old, err := l.older(ctx, l.key, first, missing)
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

// recall brings events back into memory, from a number on, but no more than a log keeps.
// Those that cannot be read stay away.
func (l *eventLog) recall(ctx context.Context, from int64) error {
	if l.older == nil {
		return nil
	}
	l.recalling.Lock()
	defer l.recalling.Unlock()
	l.mu.Lock()
	first, room := l.first, int64(keepEvents-len(l.events))
	l.mu.Unlock()
	missing := min(first-max(1, from), room)
	if missing <= 0 {
		return nil
	}
	old, err := l.older(ctx, l.key, first, int(missing))
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.prepend(old)
	return nil
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

// knowsPrompt reports whether a prompt is in memory.
func (l *eventLog) knowsPrompt(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.prompts[id].By != ""
}

// prepend takes older events into memory, as far as they adjoin those that are there, and
// have their messages. The caller has the lock.
func (l *eventLog) prepend(old []logEvent) {
	for _, e := range slices.Backward(old) {
		if e.Seq != l.first-1 || e.Type == api.EventMessage && e.Message == nil || l.bytes+e.size() > keepBytes || len(l.events) >= keepEvents {
			break
		}
		l.first--
		l.bytes += e.size()
	}
	n := slices.IndexFunc(old, func(e logEvent) bool { return e.Seq == l.first })
	if n < 0 {
		return
	}
	old = old[n:]
	l.events = append(slices.Clone(old), l.events...)
	for _, e := range slices.Backward(old) { // newer states are known already
		switch e.Type {
		case api.EventMessage:
			l.cursors[e.place()] = e.Seq
		case api.EventPrompt:
			if _, known := l.prompts[e.Prompt.ID]; !known {
				l.prompts[e.Prompt.ID] = *e.Prompt
			} else if p := l.prompts[e.Prompt.ID]; p.By == "" && p.Text == "" { // only its end was known
				p.By, p.Text = e.Prompt.By, e.Prompt.Text
				l.prompts[p.ID] = p
			}
		case api.EventTurn:
			if _, known := l.prompts[e.Turn.Prompt]; !known {
				l.prompts[e.Turn.Prompt] = api.Prompt{ID: e.Turn.Prompt, State: e.Turn.State, Error: e.Turn.Error}
			}
		case api.EventApproval:
			if _, known := l.approvals[e.Approval.ID]; !known {
				l.approvals[e.Approval.ID] = *e.Approval
			}
		}
	}
}

// before returns events of a log from before a number, at most limit of them, the oldest
// first. It reads no more of a long log than of a short one.
func (r *reader) before(ctx context.Context, key string, first int64, limit int) ([]logEvent, error) {
	head, _, err := r.book.head(ctx, key)
	if err != nil || limit <= 0 {
		return nil, err
	}
	found := eventsBefore(head.Events, first)
	last := func() (cursor string) { // of the last message before the wanted ones
		for i := range max(0, len(found)-limit) {
			if found[i].Type == api.EventMessage {
				cursor = found[i].cursor
			}
		}
		return cursor
	}
	for i := head.Segments - 1; i >= 0 && (len(found) < limit || last() == ""); i-- {
		stored, err := r.book.segment(ctx, key, i)
		if err != nil {
			return nil, err
		}
		found = append(eventsBefore(stored, first), found...)
	}
	return r.fillIn(ctx, key, last(), found[max(0, len(found)-limit):])
}

// eventsBefore returns the events before a number.
func eventsBefore(stored []storedEvent, first int64) []logEvent {
	var events []logEvent
	for i := range stored {
		if stored[i].Seq < first {
			events = append(events, stored[i].event())
		}
	}
	return events
}

// fillIn fills in the texts of the messages among events, behind a cursor.
func (r *reader) fillIn(ctx context.Context, key, after string, events []logEvent) ([]logEvent, error) {
	var messages []logEvent
	var at []int
	for i := range events {
		if events[i].Type == api.EventMessage {
			messages, at = append(messages, events[i]), append(at, i)
		}
	}
	messages, err := r.texts(ctx, key, fleet.Cursor(after), messages)
	for i := range messages {
		events[at[i]] = messages[i]
	}
	return events, err
}
