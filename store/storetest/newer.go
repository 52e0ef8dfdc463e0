package storetest

import (
	"context"
	"errors"
	"iter"

	"github.com/claude-agent-go/claude/store"
)

// The methods that a store of records is going to have. What a store has of them is
// tested already.
type (
	viewing interface {
		View(ctx context.Context, v store.View) ([]store.Record, error)
	}
	changing interface {
		Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error)
	}
	watching interface {
		Watch(ctx context.Context, project string) iter.Seq2[store.Changed, error]
	}
)

// changer is the store as one that makes several changes at once; nil if it does not.
func changer(r store.Records) changing {
	if c, ok := r.(changing); ok {
		return c
	}
	if b := store.Batcher(r); b != nil {
		return oldChanges{b}
	}
	return nil
}

// viewer is the store as one that reads several records at one moment; nil if it does not.
func viewer(r store.Records) viewing {
	if v, ok := r.(viewing); ok {
		return v
	}
	if v := store.Viewer(r); v != nil {
		return oldViews{v}
	}
	return nil
}

type oldChanges struct{ store.RecordBatcher }

func (b oldChanges) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	return b.ChangeRecords(ctx, c, f)
}

type oldViews struct{ store.RecordViewer }

func (o oldViews) View(ctx context.Context, v store.View) ([]store.Record, error) {
	var folders []store.RecordKey
	for _, f := range v.Folders {
		folders = append(folders, store.RecordKey(f))
	}
	const most = 1000 // a server may lag behind
	for i := 0; ; i++ {
		if all, err := o.ViewRecords(ctx, v.Keys, folders); i == most || !errors.Is(err, errors.ErrUnsupported) {
			return all, err
		}
	}
}
