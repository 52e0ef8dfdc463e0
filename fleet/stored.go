package fleet

import (
	"context"
	"errors"
	"strings"

	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/store"
)

// stored is what the store has of a conversation.
type stored struct {
	rec     record
	unknown bool      // the store does not have it
	prompts []*queued // without an outcome, in order
	// ended says which prompts have an outcome, of those that it was asked about.
	ended map[string]bool
}

// readStored reads a conversation and its prompts, in one step if the store can. It then
// also looks for the outcomes of the named prompts: even a prompt that was accepted here a
// moment ago may have one, because a store that did not get an answer may have written it
// twice, and another process may have run it in between. Otherwise the record is read
// first: a prompt that somebody retries has changed when its conversation is free.
func (rs *records) readStored(ctx context.Context, key string, names []string) (stored, error) {
	if v := store.Viewer(rs.store.Fleet); v != nil {
		if s, err := rs.viewStored(ctx, v, key, names); !errors.Is(err, errors.ErrUnsupported) {
			return s, err
		}
	}
	var s stored
	var err error
	s.rec, err = rs.read(ctx, key)
	if errors.Is(err, ErrUnknown) {
		s.unknown, err = true, nil
	}
	if err != nil {
		return s, err
	}
	for p, err := range rs.pending(ctx, key) {
		if err != nil {
			return s, err
		}
		s.prompts = append(s.prompts, p)
	}
	return s, nil
}

// maxViewed is of how many prompts the outcomes are looked for. Most often one is next.
const maxViewed = 8

// viewStored is readStored in one step.
func (rs *records) viewStored(ctx context.Context, v store.RecordViewer, key string, names []string) (stored, error) {
	s := stored{unknown: true, ended: make(map[string]bool)}
	keys := []store.RecordKey{rs.key(kindConversation, place(key))}
	for _, name := range names[:min(len(names), maxViewed)] {
		id := stamped(name)
		if !uuid.Valid(id) {
			continue // somebody else has put something into the queue
		}
		s.ended[id] = false
		keys = append(keys, rs.key(kindOutcome, outcomeName(key, id)))
	}
	all, err := v.ViewRecords(ctx, keys, []store.RecordKey{rs.key(kindPrompt, place(key))})
	if err != nil {
		return s, &ConversationError{key, err}
	}
	for _, r := range all {
		switch r.Key.Kind {
		case kindConversation:
			s.unknown, s.rec.revision = false, r.Revision
			err = decode(r, &s.rec)
		case kindOutcome:
			s.ended[r.Key.Name[strings.LastIndexByte(r.Key.Name, '/')+1:]] = true
		case kindPrompt:
			p := &queued{name: r.Key.Name, revision: r.Revision}
			err = decode(r, p)
			s.prompts = append(s.prompts, p)
		}
		if err != nil {
			return s, err
		}
	}
	return s, nil
}
