package s3store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// recordBody is a record as it is kept. One that was dropped stays, so that its
// revisions are not used again.
type recordBody struct {
	Revision int64  `json:"revision"`
	Value    []byte `json:"value,omitempty"`
	Gone     bool   `json:"gone,omitempty"`
}

func recordName(k store.RecordKey) string {
	return k.Project + "/records/" + k.Kind + "/" + strings.ReplaceAll(k.Name, "/", "!")
}

// readRecord reads a record; one that never was is gone.
func (s *Store) readRecord(ctx context.Context, k store.RecordKey) (r recordBody, o object, err error) {
	o, err = s.get(ctx, recordName(k))
	if errors.Is(err, store.ErrNotFound) {
		return recordBody{Gone: true}, object{}, nil
	}
	if err == nil {
		err = read(o, &r)
	}
	return r, o, err
}

// GetRecord implements [store.Records].
func (s *Store) GetRecord(ctx context.Context, k store.RecordKey) (store.Record, error) {
	if err := cmp.Or(k.Check(), ctx.Err()); err != nil {
		return store.Record{}, err
	}
	r, _, err := s.readRecord(ctx, k)
	if err == nil && r.Gone {
		err = store.ErrNotFound
	}
	if err != nil {
		return store.Record{}, fail(k, err)
	}
	return store.Record{Key: k, Value: r.Value, Revision: r.Revision}, nil
}

// PutRecord implements [store.Records].
func (s *Store) PutRecord(ctx context.Context, k store.RecordKey, value []byte, revision int64, f store.Fence) (int64, error) {
	if err := cmp.Or(store.CheckPut(k, value, revision, f), ctx.Err()); err != nil {
		return 0, err
	}
	next, err := s.changeRecord(ctx, k, f, func(r recordBody) (recordBody, error) {
		if r.Gone != (revision == 0) || !r.Gone && r.Revision != revision {
			return r, store.ErrConflict
		}
		return recordBody{Value: value}, nil
	})
	return next, fail(k, err)
}

// DropRecord implements [store.Records].
func (s *Store) DropRecord(ctx context.Context, k store.RecordKey, revision int64, f store.Fence) error {
	if err := cmp.Or(store.CheckDrop(k, revision, f), ctx.Err()); err != nil {
		return err
	}
	_, err := s.changeRecord(ctx, k, f, func(r recordBody) (recordBody, error) {
		switch {
		case r.Gone:
			return r, store.ErrNotFound
		case r.Revision != revision:
			return r, store.ErrConflict
		}
		return recordBody{Gone: true}, nil
	})
	return fail(k, err)
}

// changeRecord changes a record and returns its new revision.
func (s *Store) changeRecord(ctx context.Context, k store.RecordKey, f store.Fence, change func(recordBody) (recordBody, error)) (int64, error) {
	if err := s.fenced(ctx, f); err != nil {
		return 0, err
	}
	old, o, err := s.readRecord(ctx, k)
	if err != nil {
		return 0, err
	}
	r, err := change(old)
	if err != nil {
		return 0, err
	}
	r.Revision = old.Revision + 1
	body, err := json.Marshal(r)
	if err != nil {
		return 0, err
	}
	if err := s.put(ctx, recordName(k), body, o.etag); err != nil {
		if errors.Is(err, errTaken) {
			err = store.ErrConflict
		}
		return 0, err
	}
	return r.Revision, nil
}

// ScanRecords implements [store.Records].
func (s *Store) ScanRecords(ctx context.Context, project, kind, after string) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		if err := cmp.Or(store.CheckScan(project, kind), ctx.Err()); err != nil {
			yield(store.Record{}, err)
			return
		}
		prefix := project + "/records/" + kind + "/"
		var names []string
		for o, err := range s.list(ctx, prefix, "") {
			if err != nil {
				yield(store.Record{}, fail(project+"/"+kind, err))
				return
			}
			if name := strings.ReplaceAll(strings.TrimPrefix(*o.Key, prefix), "!", "/"); name > after {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		var objects []string
		for _, name := range names {
			objects = append(objects, recordName(store.RecordKey{Project: project, Kind: kind, Name: name}))
		}
		i := 0
		for body, err := range s.fetch(ctx, objects) {
			k := store.RecordKey{Project: project, Kind: kind, Name: names[i]}
			i++
			var r recordBody
			if err == nil {
				err = read(object{body: body}, &r)
			}
			if r.Gone && err == nil {
				continue
			}
			if !yield(store.Record{Key: k, Value: r.Value, Revision: r.Revision}, fail(k, err)) || err != nil {
				return
			}
		}
	}
}

// Now implements [store.Records]. The server reports its time with every
// answer, in whole seconds.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	now, err := s.serverTime(ctx)
	return now, fail("clock", err)
}
