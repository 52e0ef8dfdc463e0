package fleet

import (
	"context"
	"errors"
	"strings"

	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/store"
)

// stored is the state of a conversation in the store.
type stored struct {
	rec     record
	unknown bool      // the store does not have it
	prompts []*queued // without an outcome, in order
	// ended has the prompts with an outcome, of those that it was asked about.
	ended map[string]bool
}

// maxViewed is for how many prompts the outcomes are looked up. Mostly one is next.
const maxViewed = 8

// readStored reads a conversation and its prompts as one snapshot. It also looks for the
// outcomes of the named prompts: even a prompt that was accepted here a moment ago may
// have one, because a write whose reply was lost may have been made twice, and another
// process may have run the prompt in between. A queue that is too long for a snapshot is
// scanned, after the conversation was read: a retry changes the prompt before it frees the
// conversation.
func (rs *records) readStored(ctx context.Context, key string, names []string) (stored, error) {
	s, err := rs.viewStored(ctx, key, names)
	if !errors.Is(err, store.ErrTooLarge) {
		return s, err
	}
	s = stored{}
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

// viewStored is readStored as one snapshot.
func (rs *records) viewStored(ctx context.Context, key string, names []string) (stored, error) {
	s := stored{unknown: true, ended: make(map[string]bool)}
	keys := []store.RecordKey{rs.key(kindConversation, place(key))}
	for _, name := range names[:min(len(names), maxViewed)] {
		id := stamped(name)
		if !uuid.Valid(id) {
			continue // another program has put something into the queue
		}
		s.ended[id] = false
		keys = append(keys, rs.key(kindOutcome, outcomeName(key, id)))
	}
	all, err := rs.store.View(ctx, store.View{Keys: keys, Folders: []store.Folder{store.Folder(rs.key(kindPrompt, place(key)))}, Known: true})
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
