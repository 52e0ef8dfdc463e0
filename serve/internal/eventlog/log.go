package eventlog

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// Log is the log of one conversation in memory. All readers share it, and each
// keeps only its position. Its methods may be called by several goroutines.
type Log struct {
	key  string
	book Store
	Hooks

	elsewhere chan struct{} // one slot: another server has written
	writing   chan struct{} // one slot: the right to append

	mu sync.Mutex
	kept
	head     Head
	revision int64
	newest   int64         // the revision that was announced last; 0: another server may have written
	changed  chan struct{} // closed at the next change
	closed   string        // why the log has ended

	writingOn liveText
	compacts  compaction
	results   results                 // everything said before them is in the log
	again     context.CancelCauseFunc // ends the current reading of messages
	recalling chan struct{}           // one slot: the right to bring events back
	unsent    []string                // prompts that were searched for and are not in the log
}

// Hooks connect a log to the rest of the server.
type Hooks struct {
	// Exists reports whether the conversation exists. It is asked after the first
	// write.
	Exists func(ctx context.Context, key string) (bool, error)
	// Touched is called after each change.
	Touched func(key string)
	// Wrote is called after each write. Nil: nothing is.
	Wrote func(key string)
	// Older reads events of the log from before a number, at most some of them and so many
	// bytes. Nil: nothing is older than what is in memory.
	Older func(ctx context.Context, key string, before int64, limit, bytes int) ([]Event, error)
}

// New returns the log of a conversation, which has to be loaded first.
func New(key string, book Store, h Hooks) *Log {
	return &Log{
		key: key, book: book, Hooks: h, kept: newKept(),
		writing: make(chan struct{}, 1), elsewhere: make(chan struct{}, 1), changed: make(chan struct{}), recalling: make(chan struct{}, 1),
	}
}

// Key returns the key of the conversation.
func (l *Log) Key() string { return l.key }

// Load reads the stored events.
func (l *Log) Load(ctx context.Context) error {
	h, revision, err := l.book.Head(ctx, l.key)
	if err == nil {
		err = h.writable()
	}
	if err != nil {
		return err
	}
	stored, kept := h.Events, h.Segments
	for len(stored) < LoadEvents && kept > 0 {
		kept--
		events, err := l.book.segment(ctx, l.key, kept)
		if err != nil {
			return err
		}
		stored = append(events, stored...)
	}
	past, stored := stored[:max(0, len(stored)-LoadEvents)], stored[max(0, len(stored)-LoadEvents):]
	begin := lastCursor(past)
	if begin == "" {
		if begin, err = l.book.lastMessage(ctx, l.key, kept); err != nil {
			return err
		}
	}
	open := h.OpenAfter(slices.DeleteFunc(slices.Clone(past), func(e Stored) bool { return e.Seq < h.First }))
	old, err := l.book.oldPrompts(ctx, l.key, unmentioned(open, stored), past, kept)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.head, l.revision, l.begin = h, revision, begin
	if len(stored) > 0 {
		l.first = stored[0].Seq
	} else {
		l.first = h.First
	}
	for _, id := range open { // their events may be older than those in memory
		p, ok := old[id]
		if !ok {
			p = api.Prompt{ID: id, State: api.PromptQueued}
		}
		l.prompts[id] = p
		l.unended = append(l.unended, id)
	}
	for i := range stored {
		l.add(stored[i].event())
	}
	return nil
}

// wake lets readers look again. The caller has the lock.
func (l *Log) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// append adds the events that fresh returns. It calls fresh with the lock held, and
// again if another process has written in between, so fresh must return only what is
// still news. The events are stored before any reader sees them.
func (l *Log) append(ctx context.Context, fresh func(h *Head) []Event) error {
	return l.write(ctx, func(h *Head) ([]Event, bool) {
		events := fresh(h)
		return events, len(events) > 0
	})
}

// write is append for callers that may change the head without adding an event. It
// writes nothing if change reports no change.
func (l *Log) write(ctx context.Context, change func(h *Head) (events []Event, changed bool)) error {
	select {
	case l.writing <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-l.writing }()
	for {
		now, err := l.book.Records.Now(ctx)
		if err != nil {
			return err
		}
		next, revision, events, changed := l.prepare(now, change)
		if !changed {
			return nil
		}
		first := revision == 0
		next, revision, err = l.book.Put(ctx, l.key, next, revision)
		if err == nil && first {
			err = l.checkBegun(ctx)
		}
		switch {
		case err == nil:
			l.commit(next, revision, events)
			return nil
		case !errors.Is(err, store.ErrConflict):
			return err
		}
		if err := l.catchUp(ctx); err != nil {
			return err
		}
	}
}

// checkBegun is called after the first write to a log. A late writer may have begun the
// log of a deleted conversation: then it removes the log again. A deletion ends the
// conversation before it removes the log, so one of the two removes what was written.
func (l *Log) checkBegun(ctx context.Context) error {
	for {
		exists, err := l.Exists(ctx, l.key)
		if err != nil || exists {
			return err
		}
		_, revision, err := l.book.Head(ctx, l.key)
		if err == nil && revision != 0 {
			// Not if another process has written: the conversation may exist again.
			err = store.Drop(ctx, l.book.Records, l.book.at(l.key, headName), revision, store.Fence{})
		}
		switch {
		case errors.Is(err, store.ErrConflict):
			continue
		case err != nil && !errors.Is(err, store.ErrNotFound):
			return err
		}
		l.End(WasDeleted)
		return ErrDeleted
	}
}

// WasDeleted is the reason for the end of a deleted conversation's log.
const WasDeleted = "the conversation was deleted"

// ErrDeleted means that the conversation of a log was deleted.
var ErrDeleted = errors.New(WasDeleted)

// prepare makes the next head.
func (l *Log) prepare(now time.Time, change func(*Head) ([]Event, bool)) (next Head, revision int64, events []Event, changed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	next = l.head
	if events, changed = change(&next); !changed {
		return next, l.revision, nil, false
	}
	l.settle(&next, now)
	next.Events = slices.Clone(next.Events)
	for i := range events {
		events[i].Seq, events[i].At = next.Last()+1, now.UTC()
		next.Events = append(next.Events, storable(events[i]))
	}
	return next, l.revision, events, true
}

// commit shows stored events to the readers.
func (l *Log) commit(next Head, revision int64, events []Event) {
	l.mu.Lock()
	l.head, l.revision = next, revision
	for _, e := range events {
		l.add(e)
		if e.Type == api.EventMessage {
			l.writingOn.said(e.Message)
			l.compacts.heard(e.Message)
		}
		if e.Type == api.EventTurn && len(l.unended) == 0 {
			l.compacts.lost()
		}
	}
	l.wake()
	l.mu.Unlock()
	l.Touched(l.key)
	if l.Wrote != nil {
		l.Wrote(l.key)
	}
}

// Refresh takes over what other processes have written since.
func (l *Log) Refresh(ctx context.Context) error {
	select {
	case l.writing <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-l.writing }()
	return l.catchUp(ctx)
}

// Announced notes that the head has a revision, 0 if it has none or if it is not known, and
// lets the log be compared with the store unless that is its own.
func (l *Log) Announced(revision int64) {
	l.mu.Lock()
	own := revision != 0 && l.revision == revision
	if !own {
		l.newest = revision
	}
	l.mu.Unlock()
	if own {
		return
	}
	select {
	case l.elsewhere <- struct{}{}:
	default:
	}
}

// HasNewest reports whether the log has the revision that was announced. What is being
// written here may have been announced already, so it is waited for.
func (l *Log) HasNewest(ctx context.Context) bool {
	select {
	case l.writing <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	defer func() { <-l.writing }()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.newest != 0 && l.revision == l.newest
}

// Stored reports whether the store had anything of the log.
func (l *Log) Stored() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.revision != 0
}

// catchUp takes over what another process has written. The caller has the right
// to append.
func (l *Log) catchUp(ctx context.Context) error {
	h, revision, err := l.book.Head(ctx, l.key)
	if err != nil {
		return err
	}
	l.mu.Lock()
	had, known, segments := l.revision, l.head.Last(), l.head.Segments
	l.mu.Unlock()
	deleted := revision == 0 && had != 0
	if revision == 0 && had == 0 { // it has no log: only its note, or the fleet, knows it
		exists, err := l.Exists(ctx, l.key)
		if err != nil {
			return err
		}
		deleted = !exists
	}
	switch {
	case deleted:
		l.End(WasDeleted)
		return ErrDeleted
	case revision == had:
		return nil
	}
	if err := h.writable(); err != nil {
		return err
	}
	var stored []Stored
	for i := segments; i < h.Segments; i++ {
		events, err := l.book.segment(ctx, l.key, i)
		if err != nil {
			return err
		}
		stored = append(stored, events...)
	}
	l.takeOver(h, revision, append(stored, h.Events...), known)
	l.Touched(l.key)
	return nil
}

// takeOver takes the stored events after known into memory.
func (l *Log) takeOver(h Head, revision int64, stored []Stored, known int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.head, l.revision = h, revision
	for _, e := range stored {
		if e.Seq > known {
			l.add(e.event())
			known = e.Seq
		}
	}
	l.wake()
}

// fill gives an event that another process wrote, or an earlier run of this one, its
// message.
func (l *Log) fill(cursor string, message []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	seq, known := l.cursors[fleet.Cursor(cursor).ID()]
	i := seq - l.first
	if known && i < 0 {
		l.passed(cursor)
	}
	if i < 0 || i >= int64(len(l.events)) || l.events[i].Message != nil {
		return
	}
	l.events[i].Message = message
	l.bytes += len(message)
	l.unloaded--
	l.writingOn.said(message)
	l.compacts.heard(message)
	l.wake()
}

// Open returns the prompts that have not ended, the oldest first.
func (l *Log) Open() []api.Prompt {
	l.mu.Lock()
	defer l.mu.Unlock()
	var open []api.Prompt
	for _, id := range l.unended {
		open = append(open, l.prompts[id])
	}
	return open
}

// End ends the log and gives its readers the reason.
func (l *Log) End(reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed == "" {
		l.closed = reason
		l.wake()
	}
}

// Ended reports whether the log has ended.
func (l *Log) Ended() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed != ""
}

// LastSeq returns the number of the last event.
func (l *Log) LastSeq() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.head.Last()
}

// NextChange returns a channel that is closed at the next change.
func (l *Log) NextChange() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed
}

// Mentions reports whether a message in memory names an id. It searches the newest
// first.
func (l *Log) Mentions(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range slices.Backward(l.events) {
		if e.Type == api.EventMessage && bytes.Contains(e.Message, []byte(id)) {
			return true
		}
	}
	return false
}

// messages returns a page of the messages in memory, whether there are more, and the
// number of the first event in memory.
func (l *Log) messages(q api.MessageQuery) (events []Event, more bool, first int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	limit := q.Limit
	if q.After > 0 {
		for _, e := range l.events {
			if e.Type != api.EventMessage || e.Message == nil || e.Seq <= q.After {
				continue
			}
			if len(events) == limit {
				return events, true, l.first
			}
			events = append(events, e)
		}
		return events, false, l.first
	}
	for _, e := range slices.Backward(l.events) {
		if e.Type != api.EventMessage || e.Message == nil || q.Before > 0 && e.Seq >= q.Before {
			continue
		}
		if more = len(events) == limit; more {
			break
		}
		events = append(events, e)
	}
	slices.Reverse(events)
	return events, more, l.first
}

// All returns the events in memory, and the number of the last.
func (l *Log) All() ([]api.Event, int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	events := make([]api.Event, len(l.events))
	for i := range events {
		events[i] = l.events[i].Event
	}
	return events, l.first + int64(len(l.events)) - 1
}

// Record adds an event.
func (l *Log) Record(ctx context.Context, e api.Event) error {
	return l.append(ctx, func(*Head) []Event { return []Event{{Event: e}} })
}

// Now returns the time of the store.
func (l *Log) Now(ctx context.Context) (time.Time, error) { return l.book.Records.Now(ctx) }

// Elsewhere gets a value when another server may have written the log.
func (l *Log) Elsewhere() <-chan struct{} { return l.elsewhere }
