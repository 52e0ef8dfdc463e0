package workspace

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/internal/durable"
	"github.com/claude-agent-go/claude/internal/private"
	"github.com/claude-agent-go/claude/store"
)

// Blobs keeps chunks of files by the digest of their content, at most [MaxBlob] bytes
// each; module store/s3store has some in a bucket. Names are 64 letters of hexadecimal. Its
// methods are called from several goroutines and processes at once.
type Blobs interface {
	// Put keeps a chunk. A chunk that is there already counts as new from then on: Delete
	// must not remove it as an old one.
	Put(ctx context.Context, name string, data []byte) error
	// Get returns a chunk, or an error that matches [store.ErrNotFound].
	Get(ctx context.Context, name string) ([]byte, error)
	// List yields the names of all chunks that were last put before a time.
	List(ctx context.Context, before time.Time) iter.Seq2[string, error]
	// Delete removes a chunk, unless it was put at that time or later. One that is not
	// there is not an error.
	Delete(ctx context.Context, name string, before time.Time) error
}

// MaxBlob is how many bytes a chunk has at most. It fits into a record of a store.
const MaxBlob = 512 << 10

// FileBlobs returns blobs in files below a folder, which may be shared by several
// machines. Put returns when the chunk and its name are on disk. If the disk is full, the
// error matches [ErrFull].
func FileBlobs(dir string) Blobs { return &fileBlobs{dir: dir, sync: durable.Dir, touch: touch} }

type fileBlobs struct {
	dir   string
	sync  func(dir string) error  // makes sure that the names in a folder are on disk
	touch func(path string) error // makes a file new again
	// synced are the folders whose own names are on disk, by their paths.
	synced sync.Map
}

// path spreads the chunks over 256 folders.
func (b *fileBlobs) path(name string) (string, error) {
	if _, err := hex.DecodeString(name); err != nil || len(name) != 64 {
		return "", fmt.Errorf("claude: workspace: %q is not the name of a chunk", name)
	}
	return filepath.Join(b.dir, name[:2], name), nil
}

func (b *fileBlobs) Put(_ context.Context, name string, data []byte) error {
	path, err := b.path(name)
	if err != nil {
		return err
	}
	folder := filepath.Dir(path)
	// One that is there is new again. Its writer may not have synced the folder yet. The
	// system looks for the file before it sets the time: one that is gone afterwards was
	// removed in between, as an old one.
	err = b.touch(path)
	if err == nil {
		_, err = os.Lstat(path)
	}
	if err != nil {
		if err := private.MkdirAll(folder); err != nil {
			return named(err)
		}
		if err := writeWhole(path, data); err != nil {
			return named(err)
		}
	}
	if err := b.sync(folder); err != nil {
		return named(err)
	}
	if _, ok := b.synced.Load(folder); ok {
		return nil
	}
	for _, dir := range []string{b.dir, filepath.Dir(b.dir)} {
		if err := b.sync(dir); err != nil {
			return named(err)
		}
	}
	b.synced.Store(folder, true)
	return nil
}

// touch makes a file as new as one that is written now.
func touch(path string) error {
	now := time.Now()
	return os.Chtimes(path, now, now)
}

// writeWhole writes a file that is there as a whole or not at all. Its name is on disk
// when its folder is synced.
func writeWhole(path string, data []byte) error {
	temp := filepath.Join(filepath.Dir(path), partPrefix+rand.Text())
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		_ = os.Remove(temp)
	}
	return err
}

// partPrefix begins the names of files that are being written, or removed.
const partPrefix = ".part-"

func (b *fileBlobs) Get(_ context.Context, name string) ([]byte, error) {
	path, err := b.path(name)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("claude: workspace: chunk %s: %w", name, store.ErrNotFound)
	}
	return data, err
}

func (b *fileBlobs) List(ctx context.Context, before time.Time) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		stop := errors.New("stop")
		err := filepath.WalkDir(b.dir, func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // nothing was put yet, or it has just gone
			}
			if err != nil || d.IsDir() {
				return errors.Join(err, ctx.Err())
			}
			info, err := d.Info()
			if err != nil || !info.ModTime().Before(before) {
				return nil
			}
			if strings.HasPrefix(d.Name(), partPrefix) { // its writer died long ago
				_ = os.Remove(path)
				return nil
			}
			if !yield(d.Name(), nil) {
				return stop
			}
			return nil
		})
		if err != nil && err != stop {
			yield("", err)
		}
	}
}

// Delete moves the chunk away before it looks at its time: one who puts it in between
// either has made it new, and it comes back, or finds it gone, and writes it.
func (b *fileBlobs) Delete(_ context.Context, name string, before time.Time) error {
	path, err := b.path(name)
	if err != nil {
		return err
	}
	aside := filepath.Join(filepath.Dir(path), partPrefix+rand.Text())
	if err := os.Rename(path, aside); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	info, err := os.Stat(aside)
	if err != nil || !info.ModTime().Before(before) {
		return errors.Join(err, os.Rename(aside, path))
	}
	return os.Remove(aside)
}

// StoreBlobs returns blobs in the records of a store, for small workspaces where there
// is nothing but the store. Keep them out of a store that is slow to scan: Collect reads
// all chunks.
func StoreBlobs(records store.Records, project string) Blobs { return storeBlobs{records, project} }

type storeBlobs struct {
	records store.Records
	project string
}

// kindBlob is the kind of records that are chunks, with the time of the last Put before
// the content.
const kindBlob = "workspace-blob"

// freshFor is how long a chunk that is put again keeps its time: a write less each time.
const freshFor = time.Hour

func (b storeBlobs) key(name string) store.RecordKey {
	return store.RecordKey{Project: b.project, Kind: kindBlob, Name: name}
}

func (b storeBlobs) Put(ctx context.Context, name string, data []byte) error {
	now, err := b.records.Now(ctx)
	if err != nil {
		return err
	}
	for {
		var revision int64
		r, err := store.Get(ctx, b.records, b.key(name))
		switch {
		case err == nil && now.Sub(putAt(r.Value)) < freshFor:
			return nil
		case err == nil:
			revision = r.Revision
		case !errors.Is(err, store.ErrNotFound):
			return err
		}
		value := append(binary.BigEndian.AppendUint64(nil, uint64(now.UnixNano())), data...)
		_, err = store.Put(ctx, b.records, b.key(name), value, revision, store.Fence{})
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}

// putAt is when the chunk of a record was put.
func putAt(value []byte) time.Time {
	if len(value) < 8 {
		return time.Time{}
	}
	return time.Unix(0, int64(binary.BigEndian.Uint64(value)))
}

func (b storeBlobs) Get(ctx context.Context, name string) ([]byte, error) {
	r, err := store.Get(ctx, b.records, b.key(name))
	if err != nil {
		return nil, err
	}
	if len(r.Value) < 8 {
		return nil, fmt.Errorf("claude: workspace: chunk %s: %w", name, store.ErrDamaged)
	}
	return r.Value[8:], nil
}

// List also leaves out what is almost new: Put may have left its time as it was.
func (b storeBlobs) List(ctx context.Context, before time.Time) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for r, err := range b.records.Scan(ctx, store.Folder{Project: b.project, Kind: kindBlob}, "") {
			if err != nil {
				yield("", err)
				return
			}
			if putAt(r.Value).Before(before.Add(-freshFor)) && !yield(r.Key.Name, nil) {
				return
			}
		}
	}
}

func (b storeBlobs) Delete(ctx context.Context, name string, before time.Time) error {
	r, err := store.Get(ctx, b.records, b.key(name))
	if err == nil && putAt(r.Value).Before(before.Add(-freshFor)) {
		err = store.Drop(ctx, b.records, b.key(name), r.Revision, store.Fence{})
	}
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrConflict) {
		return nil
	}
	return err
}
