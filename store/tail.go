package store

import (
	"context"
	"iter"
)

// Tailer is a [Store] that can read on in a transcript where a reader stopped,
// without reading what comes before.
type Tailer interface {
	// LoadAfter is like Load, but starts after a place: that of an entry that
	// was read before, or 0 for the beginning. It yields nothing if no entry
	// follows. Places grow with the transcript, and are valid only for the
	// store that they come from.
	LoadAfter(ctx context.Context, k Key, place int64) iter.Seq2[PlacedEntry, error]

	// Tails reports whether LoadAfter yields what Load of s does. As with Batches
	// of a [RecordBatcher], a store says yes only to itself: one that embeds it may
	// have a Load of its own.
	Tails(s Store) bool
}

// PlacedEntry is an entry with its place in the transcript.
type PlacedEntry struct {
	Entry Entry
	Place int64
}

// LoadAfter reads on in a transcript of any store. One that is not a [Tailer], or only
// embeds one, is read from the beginning.
func LoadAfter(ctx context.Context, s Store, k Key, place int64) iter.Seq2[PlacedEntry, error] {
	if t, ok := s.(Tailer); ok && t.Tails(s) {
		return t.LoadAfter(ctx, k, place)
	}
	return func(yield func(PlacedEntry, error) bool) {
		at := int64(0)
		for e, err := range s.Load(ctx, k) {
			if at++; err == nil && at <= place {
				continue
			}
			if !yield(PlacedEntry{e, at}, err) {
				return
			}
		}
	}
}
