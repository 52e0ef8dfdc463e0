package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// slowBlobs takes a second for each chunk, and counts how many are under way at once.
type slowBlobs struct {
	Blobs
	mu        sync.Mutex
	now, most int
	fail      atomic.Pointer[error] // of every Put
}

func (b *slowBlobs) wait(ctx context.Context) error {
	b.mu.Lock()
	b.now++
	b.most = max(b.most, b.now)
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		b.now--
		b.mu.Unlock()
	}()
	select {
	case <-time.After(time.Second):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b *slowBlobs) Put(ctx context.Context, name string, data []byte) error {
	if err := b.wait(ctx); err != nil {
		return err
	}
	if err := b.fail.Load(); err != nil {
		return *err
	}
	return b.Blobs.Put(ctx, name, data)
}

func (b *slowBlobs) Get(ctx context.Context, name string) ([]byte, error) {
	if err := b.wait(ctx); err != nil {
		return nil, err
	}
	return b.Blobs.Get(ctx, name)
}

// underWay returns how many calls there are now, and how many there were at most.
func (b *slowBlobs) underWay() (now, most int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, most = b.now, b.most
	b.most = 0
	return now, most
}

// manyTexts are files with a chunk each, but for some with the same and one with three.
func manyTexts() map[string]string {
	files := map[string]string{"long": strings.Repeat("x", 2*MaxBlob) + "y", "same1": "text 1", "same2": "text 1"}
	for i := range 37 {
		files[fmt.Sprintf("d%d/f%d", i%3, i)] = fmt.Sprint("text ", i)
	}
	return files
}

// Chunks of files travel eight at a time, and the files are as they were.
func TestTransfersAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShared(t)
		slow := &slowBlobs{Blobs: s.blobs}
		s.blobs = slow
		here := open(t, s.worker(t, t.TempDir()), "k")
		write(t, here.Path(), manyTexts())
		begin := time.Now()
		save(t, here)
		// 37 texts and two different parts of the long file, eight at a time, and then the list.
		if took := time.Since(begin); took != 6*time.Second {
			t.Errorf("a save takes %v", took)
		}
		if now, most := slow.underWay(); now != 0 || most != atOnce {
			t.Errorf("%d chunks were put at once, %d still are", most, now)
		}
		begin = time.Now()
		there := open(t, s.worker(t, t.TempDir()), "k")
		if took := time.Since(begin); took > 8*time.Second {
			t.Errorf("a restore takes %v", took)
		}
		if now, most := slow.underWay(); now != 0 || most != atOnce {
			t.Errorf("%d chunks were got at once, %d still are", most, now)
		}
		wantTree(t, "restored", there.Path(), readTree(t, here.Path()))
	})
}

// A chunk that cannot be put fails the save, whatever the reason: one that sounds like an
// unreadable file does not leave the file out. Nothing is under way when Save has returned,
// and the next save puts everything.
func TestTransferFails(t *testing.T) {
	for _, reason := range []error{errors.New("no route"), fs.ErrPermission, ErrChanging} {
		synctest.Test(t, func(t *testing.T) {
			s := newShared(t)
			slow := &slowBlobs{Blobs: s.blobs}
			s.blobs = slow
			d := open(t, s.worker(t, t.TempDir()), "k")
			write(t, d.Path(), manyTexts())
			slow.fail.Store(&reason)
			if err := d.Save(t.Context(), store.Fence{}); !errors.Is(err, reason) {
				t.Errorf("Save = %v, want %v", err, reason)
			}
			if now, _ := slow.underWay(); now != 0 {
				t.Errorf("%d chunks are still under way", now)
			}
			slow.fail.Store(nil)
			if got := readTree(t, open(t, s.worker(t, t.TempDir()), "k").Path()); len(got) != 0 {
				t.Errorf("something was saved: %q", got)
			}
			save(t, d)
			wantTree(t, "saved then", open(t, s.worker(t, t.TempDir()), "k").Path(), readTree(t, d.Path()))
		})
	}
}

// A chunk that is missing in the middle fails the restore, and ends those under way.
func TestTransferLacksAChunk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShared(t)
		d := open(t, s.worker(t, t.TempDir()), "k")
		files := manyTexts()
		write(t, d.Path(), files)
		save(t, d)
		slow := &slowBlobs{Blobs: s.blobs}
		kept := s.blobs
		s.blobs = slow
		if err := kept.Delete(t.Context(), digest([]byte(files["d1/f10"])), time.Now().AddDate(100, 0, 0)); err != nil {
			t.Fatal(err)
		}
		root := t.TempDir()
		if _, err := s.worker(t, root).Open(t.Context(), "k"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("Open = %v", err)
		}
		if now, _ := slow.underWay(); now != 0 {
			t.Errorf("%d chunks are still under way", now)
		}
		if left := slices.Collect(maps.Keys(readTree(t, root))); len(left) != 0 {
			t.Errorf("left: %q", left)
		}
	})
}
