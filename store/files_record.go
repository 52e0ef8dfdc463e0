package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"iter"
	"os"
	"path"
	"slices"
	"time"
)

// recordFile is the stored form of a record.
type recordFile struct {
	Revision int64  `json:"revision"`
	Value    []byte `json:"value"`
}

func recordFolder(project, kind string) string {
	return path.Join(fileName(project), "records", fileName(kind))
}

func recordPath(k RecordKey) string {
	return path.Join(recordFolder(k.Project, k.Kind), filePath(k.Name)+valueEnd)
}

// lockRecord locks a record. Some share a lock: a file for each would be many.
func (s *FileStore) lockRecord(ctx context.Context, r *os.Root, k RecordKey) (unlock func(), err error) {
	h := fnv.New32a()
	h.Write([]byte(k.Name))
	return s.lock(ctx, r, path.Join(recordFolder(k.Project, k.Kind), fmt.Sprintf("%x%s", h.Sum32()%16, lockEnd)))
}

// readRecord reads a record, or returns [ErrNotFound].
func readRecord(r *os.Root, k RecordKey) (Record, error) {
	text, err := r.ReadFile(recordPath(k))
	if errors.Is(err, fs.ErrNotExist) {
		return Record{}, fmt.Errorf("claude: store: record %v: %w", k, ErrNotFound)
	}
	if err != nil {
		return Record{}, fail(err)
	}
	var f recordFile
	if err := json.Unmarshal(text, &f); err != nil {
		return Record{}, fmt.Errorf("claude: store: record %v: %w: %w", k, ErrDamaged, err)
	}
	return Record{k, f.Value, f.Revision}, nil
}

// GetRecord implements [Records].
func (s *FileStore) GetRecord(ctx context.Context, k RecordKey) (Record, error) {
	if err := cmp.Or(k.Check(), ctx.Err()); err != nil {
		return Record{}, err
	}
	r, err := s.root(false)
	if errors.Is(err, fs.ErrNotExist) {
		return Record{}, fmt.Errorf("claude: store: record %v: %w", k, ErrNotFound)
	}
	if err != nil {
		return Record{}, err
	}
	defer r.Close()
	return readRecord(r, k)
}

// PutRecord implements [Records].
func (s *FileStore) PutRecord(ctx context.Context, k RecordKey, value []byte, revision int64, f Fence) (int64, error) {
	if err := cmp.Or(CheckPut(k, value, revision, f), ctx.Err()); err != nil {
		return 0, err
	}
	var next int64
	err := s.changeRecord(ctx, k, f, func(r *os.Root, current int64) error {
		if current != revision {
			return fmt.Errorf("claude: store: record %v: %w", k, ErrConflict)
		}
		// The clock makes a revision that no dropped record of the name had.
		next = max(time.Now().UnixNano(), revision+1)
		text, err := json.Marshal(recordFile{next, value})
		if err != nil {
			return fail(err)
		}
		return s.replace(r, recordPath(k), text)
	})
	if err != nil {
		return 0, err
	}
	return next, nil
}

// DropRecord implements [Records].
func (s *FileStore) DropRecord(ctx context.Context, k RecordKey, revision int64, f Fence) error {
	if err := cmp.Or(CheckDrop(k, revision, f), ctx.Err()); err != nil {
		return err
	}
	return s.changeRecord(ctx, k, f, func(r *os.Root, current int64) error {
		switch current {
		case 0:
			return fmt.Errorf("claude: store: record %v: %w", k, ErrNotFound)
		case revision:
		default:
			return fmt.Errorf("claude: store: record %v: %w", k, ErrConflict)
		}
		if err := r.Remove(recordPath(k)); err != nil {
			return fail(err)
		}
		return s.syncFolder(r, path.Dir(recordPath(k)))
	})
}

// changeRecord changes a record under its lock. It tells change the current
// revision, 0 if there is no such record.
func (s *FileStore) changeRecord(ctx context.Context, k RecordKey, f Fence, change func(r *os.Root, current int64) error) error {
	r, err := s.root(true)
	if err != nil {
		return err
	}
	defer r.Close()
	unlockLease, err := s.fenced(ctx, r, f)
	if err != nil {
		return err
	}
	defer unlockLease()
	unlock, err := s.lockRecord(ctx, r, k)
	if err != nil {
		return err
	}
	defer unlock()
	current, err := readRecord(r, k)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	return change(r, current.Revision)
}

// Scan implements [Records].
func (s *FileStore) Scan(ctx context.Context, f Folder, after string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		if err := s.scan(ctx, f, after, yield); err != nil {
			yield(Record{}, err)
		}
	}
}

// scan yields the records of a folder, and returns the error that ends the loop.
func (s *FileStore) scan(ctx context.Context, f Folder, after string, yield func(Record, error) bool) error {
	if err := f.Check(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	r, err := s.root(false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer r.Close()
	in := recordFolder(f.Project, f.Kind)
	if f.Name != "" {
		in = path.Join(in, filePath(f.Name))
	}
	files, err := below(r, in, valueEnd)
	if err != nil {
		return err
	}
	var names []string
	for _, file := range files {
		if name, ok := fromFilePath(file); ok && path.Join(f.Name, name) > after {
			names = append(names, path.Join(f.Name, name))
		}
	}
	slices.Sort(names)
	for _, name := range names {
		rec, err := readRecord(r, RecordKey{f.Project, f.Kind, name})
		if errors.Is(err, ErrNotFound) {
			continue // dropped in the meantime
		}
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		if !yield(rec, nil) {
			return nil
		}
	}
	return nil
}

// Now implements [Records].
func (s *FileStore) Now(ctx context.Context) (time.Time, error) { return time.Now(), ctx.Err() }
