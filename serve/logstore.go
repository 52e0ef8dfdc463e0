package serve

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// logHead is the record with the newest events of a conversation. Older ones are in
// segments, which never change again. Every change is a compare-and-set of the head, so
// the numbers have no gaps even if several processes write.
type logHead struct {
	// Segments is the number of segments, and First the number of the first event in
	// the head.
	Segments int           `json:"segments"`
	First    int64         `json:"first"`
	Events   []storedEvent `json:"events"`
	// Open are the prompts of segments that did not end there.
	Open []string `json:"open,omitempty"`
	// Accepting are the prompts that the fleet may have accepted and that are not among
	// the events yet.
	Accepting []acceptance `json:"accepting,omitempty"`
	// Erasing is set while the conversation is being deleted.
	Erasing *erasure `json:"erasing,omitempty"`
	// Days are the costs of the turns on each day, and Unprompted the part that comes
	// from turns that answer no prompt.
	Days       map[string]daySum `json:"days,omitempty"`
	Unprompted fleet.Ledger      `json:"unprompted,omitzero"`
	// Context is how full the context is.
	Context contextNote `json:"context,omitzero"`
	// Unknown are members that a newer program has added.
	Unknown jsonx.Unknown `json:",embed"`
}

// storedEvent is an event as it is kept, without the text of a message: the transcript
// has it, at Cursor.
type storedEvent struct {
	api.Event
	Type   api.EventType `json:"type"`
	Cursor string        `json:"cursor,omitzero"`
}

func (e *storedEvent) event() logEvent {
	out := logEvent{Event: e.Event, cursor: e.Cursor}
	out.Type = e.Type
	return out
}

func storable(e logEvent) storedEvent {
	s := storedEvent{Event: e.Event, Type: e.Type, Cursor: e.cursor}
	s.Message, s.HTML = nil, ""
	return s
}

// last is the number of the last event.
func (h *logHead) last() int64 { return h.First + int64(len(h.Events)) - 1 }

// segmentSize is how many events the head has before they become a segment, and
// segmentBytes about how large it may be.
const (
	segmentSize  = 256
	segmentBytes = 256 << 10
)

// logStore keeps the logs of all conversations.
type logStore struct {
	records store.Records
	project string
}

func (b logStore) at(key, name string) store.RecordKey {
	return store.RecordKey{Project: b.project, Kind: kindLog, Name: placeOf(key) + "/" + name}
}

const headName = "head"

func segmentName(i int) string { return fmt.Sprintf("%08d", i) }

// head returns the head of a log. A log that does not exist is empty.
func (b logStore) head(ctx context.Context, key string) (logHead, int64, error) {
	h, revision, err := getRecord[logHead](ctx, b.records, b.at(key, headName))
	if errors.Is(err, store.ErrNotFound) {
		return logHead{First: 1}, 0, nil
	}
	return h, revision, err
}

// headsAtOnce is how many heads are read with one view: few calls, and little in memory.
const headsAtOnce = 50

// heads calls seen with the head of each log, in order. It asks the store once for many of
// them.
func (b logStore) heads(ctx context.Context, keys []string, seen func(i int, h *logHead)) error {
	for from, n := 0, headsAtOnce; from < len(keys); {
		some := keys[from:min(from+n, len(keys))]
		found, err := b.viewHeads(ctx, some)
		if errors.Is(err, store.ErrTooLarge) && n > 1 { // they are long
			n /= 2
			continue
		}
		if err != nil {
			return err
		}
		for i, key := range some {
			h := logHead{First: 1}
			if r, ok := found[b.at(key, headName)]; ok {
				h = logHead{}
				if err := decodeRecord(r, &h); err != nil {
					return err
				}
			}
			seen(from+i, &h)
		}
		from += len(some)
	}
	return nil
}

// viewHeads reads the heads that exist.
func (b logStore) viewHeads(ctx context.Context, keys []string) (map[store.RecordKey]store.Record, error) {
	var v store.View
	for _, key := range keys {
		if at := b.at(key, headName); at.Check() == nil { // others have no log
			v.Keys = append(v.Keys, at)
		}
	}
	if len(v.Keys) == 0 {
		return nil, nil
	}
	records, err := b.records.View(ctx, v)
	found := make(map[store.RecordKey]store.Record, len(records))
	for _, r := range records {
		found[r.Key] = r
	}
	return found, err
}

// put writes the head. If the head has grown long, put first turns its events into a
// segment.
func (b logStore) put(ctx context.Context, key string, h logHead, revision int64) (logHead, int64, error) {
	revision, err := putRecord(ctx, b.records, b.at(key, headName), &h, revision)
	if err != nil || len(h.Events) < segmentSize && h.size() < segmentBytes {
		return h, revision, err
	}
	segment := logHead{First: h.First, Events: h.Events}
	at := b.at(key, segmentName(h.Segments))
	_, err = putRecord(ctx, b.records, at, &segment, 0)
	if errors.Is(err, store.ErrConflict) {
		// The segment comes from a process that died in between, or that is behind: it
		// may hold fewer events than there are by now. The others stay in the head.
		segment, err = b.wholeSegment(ctx, key, h.Segments)
	}
	if err != nil || segment.First != h.First || segment.last() > h.last() {
		return h, revision, nil // the head stays as it was written
	}
	short := h
	short.Segments, short.Open = h.Segments+1, h.openAfter(segment.Events)
	short.First, short.Events = segment.last()+1, h.Events[len(segment.Events):]
	if next, err := putRecord(ctx, b.records, b.at(key, headName), &short, revision); err == nil {
		return short, next, nil
	}
	return h, revision, nil
}

// openAfter returns the prompts that are still open after the first events of the head.
func (h *logHead) openAfter(events []storedEvent) []string {
	open := slices.Clone(h.Open)
	for i := range events {
		switch e := &events[i]; {
		case e.Type == api.EventPrompt && !slices.Contains(open, e.Prompt.ID):
			open = append(open, e.Prompt.ID)
		case e.Type == api.EventTurn:
			open = slices.DeleteFunc(open, func(id string) bool { return id == e.Turn.Prompt })
		}
	}
	return open
}

// unmentioned returns the prompts that no event is about.
func unmentioned(ids []string, events []storedEvent) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		return slices.ContainsFunc(events, func(e storedEvent) bool { return e.Type == api.EventPrompt && e.Prompt.ID == id })
	})
}

// oldPrompts returns the states of prompts as of some events and of the segments before
// them. It reads as few segments as it can, the newest first.
func (b logStore) oldPrompts(ctx context.Context, key string, ids []string, events []storedEvent, before int) (map[string]api.Prompt, error) {
	found := make(map[string]api.Prompt)
	for i := before - 1; ; i-- {
		for _, e := range slices.Backward(events) {
			if e.Type != api.EventPrompt || !slices.Contains(ids, e.Prompt.ID) {
				continue
			}
			if _, newer := found[e.Prompt.ID]; !newer {
				found[e.Prompt.ID] = *e.Prompt
			}
		}
		if i < 0 || len(found) == len(ids) {
			return found, nil
		}
		var err error
		if events, err = b.segment(ctx, key, i); err != nil {
			return nil, err
		}
	}
}

// size estimates how many bytes the events of a head take.
func (h *logHead) size() int {
	n := 0
	for i := range h.Events {
		n += 200
		if p := h.Events[i].Prompt; p != nil {
			n += len(p.Text)
		}
	}
	return n
}

// segment returns the events of a segment.
func (b logStore) segment(ctx context.Context, key string, i int) ([]storedEvent, error) {
	h, err := b.wholeSegment(ctx, key, i)
	return h.Events, err
}

// wholeSegment returns a segment. There is room for its events from the beginning: to make
// it while they are read costs more than they take.
func (b logStore) wholeSegment(ctx context.Context, key string, i int) (logHead, error) {
	h := logHead{Events: make([]storedEvent, 0, segmentSize)}
	_, err := getRecordInto(ctx, b.records, b.at(key, segmentName(i)), &h)
	return h, err
}

// lastMessage returns the cursor of the last message in the segments before one, empty
// if there is none.
func (b logStore) lastMessage(ctx context.Context, key string, before int) (string, error) {
	for i := before - 1; i >= 0; i-- {
		events, err := b.segment(ctx, key, i)
		if err != nil {
			return "", err
		}
		if cursor := lastCursor(events); cursor != "" {
			return cursor, nil
		}
	}
	return "", nil
}

// lastCursor returns the cursor of the last message among events, empty if there is
// none.
func lastCursor(events []storedEvent) string {
	for _, e := range slices.Backward(events) {
		if e.Type == api.EventMessage {
			return e.Cursor
		}
	}
	return ""
}
