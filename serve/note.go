package serve

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/serve/internal/recordio"
	"github.com/claude-agent-go/claude/store"
)

// note holds what the server knows about a conversation and the fleet does not.
type note struct {
	Key      string   `json:"key"`
	Owner    string   `json:"owner"`
	Preset   string   `json:"preset"`
	Title    string   `json:"title"`
	Dir      string   `json:"dir"`
	Shared   bool     `json:"shared,omitzero"`
	Archived bool     `json:"archived,omitzero"`
	Labels   []string `json:"labels,omitempty"`
	ForkOf   string   `json:"forkOf,omitzero"`
	// Resumed is the session on disk that the conversation continues, and Request names
	// the request for that, if it has a name.
	Resumed string `json:"resumed,omitzero"`
	Request string `json:"request,omitzero"`
	// Copied is the session on disk that the conversation began as a copy of.
	Copied string `json:"copied,omitzero"`
	// First is the id of the prompt that the conversation was made with.
	First   string    `json:"first,omitzero"`
	Created time.Time `json:"created"`
	// Model and Mode were chosen through a server, and hold from the first prompt
	// on: [Sessions] reads them here.
	Model string `json:"model,omitzero"`
	Mode  string `json:"mode,omitzero"`
	// Read is the number of the last event that each user has read.
	Read map[string]int64 `json:"read,omitempty"`
	// Deleted is when the deletion of the conversation began. From then on the note is
	// a tombstone: the conversation is hidden, and its note is removed last.
	Deleted time.Time `json:"deleted,omitzero"`
	// Unknown are members that a newer program has added.
	Unknown jsonx.Unknown `json:",embed"`
}

// The kinds of the server's records.
const (
	kindNote  = "serve-conversation"
	kindOnce  = "serve-once"
	kindFork  = "serve-fork"
	kindSpent = "serve-spent"
)

// noteStore keeps the notes.
type noteStore struct {
	records store.Records
	project string
}

func (b noteStore) at(key string) store.RecordKey {
	return store.RecordKey{Project: b.project, Kind: kindNote, Name: recordio.Place(key)}
}

// load returns the note of a conversation, or [store.ErrNotFound].
func (b noteStore) load(ctx context.Context, key string) (note, int64, error) {
	n, revision, err := b.loadAny(ctx, key)
	if err == nil && !n.Deleted.IsZero() {
		return note{}, 0, fmt.Errorf("claude: serve: conversation %q is being deleted: %w", key, store.ErrNotFound)
	}
	return n, revision, err
}

// loadAny is load, but includes conversations that are being deleted.
func (b noteStore) loadAny(ctx context.Context, key string) (note, int64, error) {
	return recordio.Get[note](ctx, b.records, b.at(key))
}

// create writes a new note. If there is one, it returns [store.ErrConflict].
func (b noteStore) create(ctx context.Context, n *note) error {
	_, err := recordio.Put(ctx, b.records, b.at(n.Key), n, 0)
	return err
}

// change changes a note with a compare-and-set that it repeats after a conflict.
func (b noteStore) change(ctx context.Context, key string, do func(*note) error) (note, error) {
	for {
		n, revision, err := b.load(ctx, key)
		if err != nil {
			return n, err
		}
		if err := do(&n); err != nil {
			return n, err
		}
		_, err = recordio.Put(ctx, b.records, b.at(key), &n, revision)
		if !errors.Is(err, store.ErrConflict) {
			return n, err
		}
	}
}

// markDeleted notes that a conversation is being deleted, and reports whether that is
// new. One that was not begun here gets a note for it, with the fleet's time of
// creation.
func (b noteStore) markDeleted(ctx context.Context, key string, created, now time.Time) (first bool, err error) {
	for {
		n, revision, err := b.loadAny(ctx, key)
		if errors.Is(err, store.ErrNotFound) {
			n, err = note{Key: key, Created: created}, nil
		}
		if err != nil || !n.Deleted.IsZero() {
			return false, err
		}
		n.Deleted = now.UTC()
		_, err = recordio.Put(ctx, b.records, b.at(key), &n, revision)
		if !errors.Is(err, store.ErrConflict) {
			return true, err
		}
	}
}

// unmarkDeleted notes that a conversation is not deleted after all.
func (b noteStore) unmarkDeleted(ctx context.Context, key string) error {
	for {
		n, revision, err := b.loadAny(ctx, key)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return nil
		case err != nil || n.Deleted.IsZero():
			return err
		case n.Owner == "":
			return b.drop(ctx, key)
		}
		n.Deleted = time.Time{}
		_, err = recordio.Put(ctx, b.records, b.at(key), &n, revision)
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}

// drop removes the note of a conversation that is being deleted.
func (b noteStore) drop(ctx context.Context, key string) error {
	for {
		n, revision, err := b.loadAny(ctx, key)
		if err == nil && n.Deleted.IsZero() {
			return nil // a new conversation
		}
		if err == nil {
			err = store.Drop(ctx, b.records, b.at(key), revision, store.Fence{})
		}
		switch {
		case errors.Is(err, store.ErrNotFound):
			return nil
		case !errors.Is(err, store.ErrConflict):
			return err
		}
	}
}

// tombstone returns the revision of the note of a conversation that is being deleted, 0
// if there is none.
func (b noteStore) tombstone(ctx context.Context, key string) (revision int64, err error) {
	n, revision, err := b.loadAny(ctx, key)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return 0, nil
	case err != nil || n.Deleted.IsZero():
		return 0, err
	}
	return revision, nil
}

// dropTombstone removes a note that still has the revision of its tombstone. One that
// has changed since then belongs to the attempt that changed it.
func (b noteStore) dropTombstone(ctx context.Context, key string, revision int64) error {
	if revision == 0 {
		return nil
	}
	err := store.Drop(ctx, b.records, b.at(key), revision, store.Fence{})
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrConflict) {
		return nil
	}
	return err
}

// all yields the notes of all conversations.
func (b noteStore) all(ctx context.Context) iter.Seq2[note, error] {
	return func(yield func(note, error) bool) {
		for n, err := range b.each(ctx) {
			if err == nil && !n.Deleted.IsZero() {
				continue
			}
			if !yield(n, err) {
				return
			}
		}
	}
}

// each is all, but includes conversations that are being deleted.
func (b noteStore) each(ctx context.Context) iter.Seq2[note, error] {
	return func(yield func(note, error) bool) {
		for r, err := range b.records.Scan(ctx, store.Folder{Project: b.project, Kind: kindNote}, "") {
			var n note
			if err == nil {
				err = recordio.Decode(r, &n)
			}
			if !yield(n, err) || err != nil {
				return
			}
		}
	}
}
