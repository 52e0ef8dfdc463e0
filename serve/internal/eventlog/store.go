package eventlog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/internal/recordio"
	"github.com/claude-agent-go/claude/store"
)

// Head is the record with the newest events of a conversation. Older ones are in
// segments, which never change again. Every change is a compare-and-set of the head, so
// the numbers have no gaps even if several processes write.
type Head struct {
	// Segments is the number of segments, and First the number of the first event in
	// the head.
	Segments int      `json:"segments"`
	First    int64    `json:"first"`
	Events   []Stored `json:"events"`
	// Open are the prompts of segments that did not end there.
	Open []string `json:"open,omitempty"`
	// Accepting are the prompts that the fleet may have accepted and that are not among
	// the events yet.
	Accepting []acceptance `json:"accepting,omitempty"`
	// Erasing is set while the conversation is being deleted.
	Erasing *Erasure `json:"erasing,omitempty"`
	// Days are the costs of the turns on each day, and Unprompted the part that comes
	// from turns that answer no prompt.
	Days       map[string]DaySum `json:"days,omitempty"`
	Unprompted fleet.Ledger      `json:"unprompted,omitzero"`
	// Context is how full the context is.
	Context contextNote `json:"context,omitzero"`
	// Unknown are members that a newer program has added.
	Unknown jsonx.Unknown `json:",embed"`
}

// Stored is an event as it is kept, without the text of a message: the transcript
// has it, at Cursor.
type Stored struct {
	api.Event
	Type   api.EventType `json:"type"`
	Cursor string        `json:"cursor,omitzero"`
}

func (e *Stored) event() Event {
	out := Event{Event: e.Event, cursor: e.Cursor}
	out.Type = e.Type
	return out
}

func storable(e Event) Stored {
	s := Stored{Event: e.Event, Type: e.Type, Cursor: e.cursor}
	s.Message, s.HTML = nil, ""
	return s
}

// Last is the number of the last event.
func (h *Head) Last() int64 { return h.First + int64(len(h.Events)) - 1 }

// segmentSize is how many events the head has before they become a segment, and
// segmentBytes about how large it may be.
const (
	SegmentSize  = 256
	segmentBytes = 256 << 10
)

// Store keeps the logs of all conversations. Its methods may be called by several
// goroutines.
type Store struct {
	Records store.Records
	Project string
}

// NewStore returns the logs of a project.
func NewStore(records store.Records, project string) Store { return Store{records, project} }

func (b Store) at(key, name string) store.RecordKey {
	return store.RecordKey{Project: b.Project, Kind: Kind, Name: recordio.Place(key) + "/" + name}
}

// Kind is the kind of the records.
const Kind = "serve-log"

const headName = "head"

// KeyOfHead returns the conversation whose log has a record as its head.
func KeyOfHead(k store.RecordKey) (key string, ok bool) {
	place, ok := strings.CutSuffix(k.Name, "/"+headName)
	if !ok || k.Kind != Kind {
		return "", false
	}
	return recordio.KeyAt(place), true
}

func segmentName(i int) string { return fmt.Sprintf("%08d", i) }

// Head returns the head of a log. A log that does not exist is empty.
func (b Store) Head(ctx context.Context, key string) (Head, int64, error) {
	h, revision, err := recordio.Get[Head](ctx, b.Records, b.at(key, headName))
	if errors.Is(err, store.ErrNotFound) {
		return Head{First: 1}, 0, nil
	}
	return h, revision, err
}

// headsAtOnce is how many heads are read with one view: few calls, and little in memory.
const headsAtOnce = 50

// Heads calls seen with the head of each log, in order. It asks the store once for many of
// them.
func (b Store) Heads(ctx context.Context, keys []string, seen func(i int, h *Head)) error {
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
			h := Head{First: 1}
			if r, ok := found[b.at(key, headName)]; ok {
				h = Head{}
				if err := recordio.Decode(r, &h); err != nil {
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
func (b Store) viewHeads(ctx context.Context, keys []string) (map[store.RecordKey]store.Record, error) {
	var v store.View
	for _, key := range keys {
		if at := b.at(key, headName); at.Check() == nil { // others have no log
			v.Keys = append(v.Keys, at)
		}
	}
	if len(v.Keys) == 0 {
		return nil, nil
	}
	records, err := b.Records.View(ctx, v)
	found := make(map[store.RecordKey]store.Record, len(records))
	for _, r := range records {
		found[r.Key] = r
	}
	return found, err
}

// Put writes the head. If the head has grown long, put first turns its events into a
// segment.
func (b Store) Put(ctx context.Context, key string, h Head, revision int64) (Head, int64, error) {
	revision, err := recordio.Put(ctx, b.Records, b.at(key, headName), &h, revision)
	if err != nil || len(h.Events) < SegmentSize && h.size() < segmentBytes {
		return h, revision, err
	}
	segment := Head{First: h.First, Events: h.Events}
	at := b.at(key, segmentName(h.Segments))
	_, err = recordio.Put(ctx, b.Records, at, &segment, 0)
	if errors.Is(err, store.ErrConflict) {
		// The segment comes from a process that died in between, or that is behind: it
		// may hold fewer events than there are by now. The others stay in the head.
		segment, err = b.wholeSegment(ctx, key, h.Segments)
	}
	if err != nil || segment.First != h.First || segment.Last() > h.Last() {
		return h, revision, nil // the head stays as it was written
	}
	short := h
	short.Segments, short.Open = h.Segments+1, h.OpenAfter(segment.Events)
	short.First, short.Events = segment.Last()+1, h.Events[len(segment.Events):]
	if next, err := recordio.Put(ctx, b.Records, b.at(key, headName), &short, revision); err == nil {
		return short, next, nil
	}
	return h, revision, nil
}

// OpenAfter returns the prompts that are still open after the first events of the head.
func (h *Head) OpenAfter(events []Stored) []string {
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
func unmentioned(ids []string, events []Stored) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		return slices.ContainsFunc(events, func(e Stored) bool { return e.Type == api.EventPrompt && e.Prompt.ID == id })
	})
}

// oldPrompts returns the states of prompts as of some events and of the segments before
// them. It reads as few segments as it can, the newest first.
func (b Store) oldPrompts(ctx context.Context, key string, ids []string, events []Stored, before int) (map[string]api.Prompt, error) {
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
func (h *Head) size() int {
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
func (b Store) segment(ctx context.Context, key string, i int) ([]Stored, error) {
	h, err := b.wholeSegment(ctx, key, i)
	return h.Events, err
}

// wholeSegment returns a segment. There is room for its events from the beginning: to make
// it while they are read costs more than they take.
func (b Store) wholeSegment(ctx context.Context, key string, i int) (Head, error) {
	h := Head{Events: make([]Stored, 0, SegmentSize)}
	_, err := recordio.Into(ctx, b.Records, b.at(key, segmentName(i)), &h)
	return h, err
}

// lastMessage returns the cursor of the last message in the segments before one, empty
// if there is none.
func (b Store) lastMessage(ctx context.Context, key string, before int) (string, error) {
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
func lastCursor(events []Stored) string {
	for _, e := range slices.Backward(events) {
		if e.Type == api.EventMessage {
			return e.Cursor
		}
	}
	return ""
}
