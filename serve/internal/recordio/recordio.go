package recordio

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/claude-agent-go/claude/internal/recordform"
	"github.com/claude-agent-go/claude/store"
)

// Place returns where the records of a conversation are. Keys with and without a
// tenant are kept apart, so that no place is a prefix of another.
func Place(key string) string {
	if strings.Contains(key, "/") {
		return "t/" + key
	}
	return "c/" + key
}

// KeyAt returns the conversation whose records are at a place.
func KeyAt(place string) string { return place[min(2, len(place)):] }

// Get reads a record.
func Get[T any](ctx context.Context, records store.Records, k store.RecordKey) (v T, revision int64, err error) {
	revision, err = Into(ctx, records, k, &v)
	return v, revision, err
}

// Into reads a record into a value, and uses the room that its slices have.
func Into(ctx context.Context, records store.Records, k store.RecordKey, v any) (revision int64, err error) {
	if k.Check() != nil { // a name that no record can have
		return 0, fmt.Errorf("claude: serve: %s: %w", k.Kind, store.ErrNotFound)
	}
	r, err := store.Get(ctx, records, k)
	if err != nil {
		return 0, err
	}
	return r.Revision, Decode(r, v)
}

// Decode reads the value of a record.
func Decode(r store.Record, v any) error {
	if err := recordform.Decode(r, v); err != nil {
		return fmt.Errorf("claude: serve: %w", err)
	}
	return nil
}

// Put writes a record.
func Put(ctx context.Context, records store.Records, k store.RecordKey, v any, revision int64) (int64, error) {
	value, err := recordform.Encode(v)
	if err != nil {
		return 0, fmt.Errorf("claude: serve: encode record %s: %w", k, err)
	}
	return store.Put(ctx, records, k, value, revision, store.Fence{})
}

// Drop removes a record, whatever its value. A missing record is not an error.
func Drop(ctx context.Context, records store.Records, k store.RecordKey) error {
	for {
		r, err := store.Get(ctx, records, k)
		if err == nil {
			err = store.Drop(ctx, records, k, r.Revision, store.Fence{})
		}
		switch {
		case errors.Is(err, store.ErrNotFound):
			return nil
		case !errors.Is(err, store.ErrConflict):
			return err
		}
	}
}
