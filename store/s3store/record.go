package s3store

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// recordBody is the stored form of a record. A dropped record leaves a tombstone,
// so that its revisions are not reused. Revision 0 means that it never existed.
type recordBody struct {
	stamp
	Name     string `json:"name"`
	Revision int64  `json:"revision"`
	Value    []byte `json:"value,omitempty"`
	Gone     bool   `json:"gone,omitempty"`
	// Writes are the nonces of the last changes, by which a writer finds that
	// its own was made though the reply was lost.
	Writes []string `json:"writes,omitempty"`
}

func (r recordBody) there() bool { return r.Revision > 0 && !r.Gone }

// records keeps records, each in an object.
type records struct{ *leases }

func recordFolder(project, kind string) string { return project + "/records/" + kind + "/" }

func (s records) recordName(k store.RecordKey) string {
	return s.short(recordFolder(k.Project, k.Kind), k.Name)
}

// GetRecord implements [store.Records].
func (s *Store) GetRecord(ctx context.Context, k store.RecordKey) (store.Record, error) {
	if err := cmp.Or(k.Check(), ctx.Err()); err != nil {
		return store.Record{}, err
	}
	var r recordBody
	_, err := s.getJSON(ctx, s.records.recordName(k), &r)
	if err == nil && !r.there() {
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
	next, err := s.records.changeRecord(ctx, k, f, func(r *recordBody) error {
		if r.there() != (revision > 0) || r.there() && r.Revision != revision {
			return store.ErrConflict
		}
		r.Value, r.Gone = value, false
		return nil
	})
	if err != nil {
		return 0, fail(k, err)
	}
	return next, nil
}

// DropRecord implements [store.Records].
func (s *Store) DropRecord(ctx context.Context, k store.RecordKey, revision int64, f store.Fence) error {
	if err := cmp.Or(store.CheckDrop(k, revision, f), ctx.Err()); err != nil {
		return err
	}
	_, err := s.records.changeRecord(ctx, k, f, func(r *recordBody) error {
		switch {
		case !r.there():
			return store.ErrNotFound
		case r.Revision != revision:
			return store.ErrConflict
		}
		r.Value, r.Gone = nil, true
		return nil
	})
	return fail(k, err)
}

// maxWrites is how many changes a record remembers.
const maxWrites = 8

// changeRecord changes a record and returns its new revision.
func (s records) changeRecord(ctx context.Context, k store.RecordKey, f store.Fence, change func(*recordBody) error) (int64, error) {
	name := s.recordName(k)
	if err := s.register(ctx, f, name); err != nil {
		return 0, err
	}
	nonce := rand.Text()
	var tried int64
	for {
		var r recordBody
		o, err := s.getJSON(ctx, name, &r)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return 0, err
		}
		if slices.Contains(r.Writes, nonce) { // the reply was lost
			return tried, nil
		}
		if err := r.pass(f); err != nil {
			return 0, err
		}
		if err := change(&r); err != nil {
			return 0, err
		}
		r.Name, r.Nonce, r.Revision = k.Name, nonce, r.Revision+1
		if r.Writes = append(r.Writes, nonce); len(r.Writes) > maxWrites {
			r.Writes = r.Writes[1:]
		}
		tried = r.Revision
		if _, err = s.putJSON(ctx, name, r, o.etag); !errors.Is(err, errTaken) {
			return tried, err
		}
		if err := pause(ctx); err != nil {
			return 0, err
		}
	}
}

// Scan implements [store.Records].
func (s *Store) Scan(ctx context.Context, f store.Folder, after string) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		if err := cmp.Or(f.Check(), ctx.Err()); err != nil {
			yield(store.Record{}, err)
			return
		}
		names, err := s.records.recordNames(ctx, f, after)
		if err != nil {
			yield(store.Record{}, fail(f, err))
			return
		}
		var objects []string
		for _, name := range names {
			objects = append(objects, s.records.recordName(store.RecordKey{Project: f.Project, Kind: f.Kind, Name: name}))
		}
		i := 0
		for body, err := range s.fetch(ctx, objects) {
			k := store.RecordKey{Project: f.Project, Kind: f.Kind, Name: names[i]}
			i++
			var r recordBody
			if err == nil && json.Unmarshal(body, &r) != nil {
				err = store.ErrDamaged
			}
			if err == nil && !r.there() {
				continue
			}
			if !yield(store.Record{Key: k, Value: r.Value, Revision: r.Revision}, fail(k, err)) || err != nil {
				return
			}
		}
	}
}

// recordNames returns the names of the records of a folder after one, in order.
func (s records) recordNames(ctx context.Context, f store.Folder, after string) ([]string, error) {
	folder := recordFolder(f.Project, f.Kind)
	from, to := f.Between(after)
	var names []string
	for o, err := range s.list(ctx, folder) {
		if err != nil {
			return nil, err
		}
		name := strings.ReplaceAll(strings.TrimPrefix(*o.Key, folder), "!", "/")
		if strings.HasPrefix(name, "~") { // too long for the name of an object
			var r recordBody
			if _, err := s.getJSON(ctx, *o.Key, &r); err != nil {
				return nil, err
			}
			name = r.Name
		}
		if name > from && (to == "" || name < to) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Now implements [store.Records]. The server reports its time with every
// answer, in whole seconds.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	now, err := s.serverTime(ctx)
	return now, fail("clock", err)
}
