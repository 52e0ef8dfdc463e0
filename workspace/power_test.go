package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/durable"
	"github.com/claude-agent-go/claude/store"
)

// disk knows which files of a folder are on it. The others are empty after a power loss.
type disk struct {
	root string
	safe []os.FileInfo
}

func (d *disk) options(o *SnapshotOptions) {
	o.sync = func(dir string, since time.Time) error {
		return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() {
				var info os.FileInfo
				if info, err = e.Info(); err == nil && !info.ModTime().Before(since.Add(-time.Minute)) { // as Tree may do
					d.safe = append(d.safe, info)
				}
			}
			return err
		})
	}
}

// losePower empties what is not on the disk. The index of a folder is: it was written with
// a sync of its own.
func (d *disk) losePower(t *testing.T) (lost int) {
	t.Helper()
	err := filepath.WalkDir(d.root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || strings.HasSuffix(path, indexed) {
			return err
		}
		info, err := e.Info()
		if err != nil || slices.ContainsFunc(d.safe, func(s os.FileInfo) bool { return os.SameFile(s, info) && s.ModTime().Equal(info.ModTime()) }) {
			return err
		}
		lost++
		return os.Truncate(path, 0)
	})
	if err != nil {
		t.Fatal(err)
	}
	return lost
}

// TestPowerLoss takes the power away at each step of a restore, and of a save: the machine
// then has a whole state, never files without their content.
func TestPowerLoss(t *testing.T) {
	first, second := states()
	for _, do := range []string{"restore", "restore over an older state", "save"} {
		lost := 0
		for n := 0; ; n++ {
			s := newShared(t)
			here := &disk{root: t.TempDir()}
			there := open(t, s.worker(t, t.TempDir()), "k")
			write(t, there.Path(), first)
			save(t, there)
			old := readTree(t, there.Path())
			if do != "restore" {
				open(t, s.worker(t, here.root, here.options), "k")
			}
			if do != "save" {
				write(t, there.Path(), second)
				save(t, there)
			}
			want, steps := readTree(t, there.Path()), 0
			d, err := s.worker(t, here.root, here.options, crashAt(n, &steps)).Open(t.Context(), "k")
			if err == nil && do == "save" {
				for name, text := range second {
					write(t, d.Path(), map[string]string{name: text})
				}
				want = readTree(t, d.Path())
				err = d.Save(t.Context(), store.Fence{})
			}
			if err != nil && !errors.Is(err, errCrash) {
				t.Fatal(err)
			}
			lost += here.losePower(t)
			if do != "save" || err == nil { // what was never saved may be lost
				wantTree(t, fmt.Sprintf("%s, the power is gone after %d steps: the machine", do, n), open(t, s.worker(t, here.root, here.options), "k").Path(), want)
			}
			if got := readTree(t, open(t, s.worker(t, t.TempDir()), "k").Path()); !maps.Equal(got, want) && !maps.Equal(got, old) {
				t.Errorf("%s, the power is gone after %d steps: another machine has %q", do, n, got)
			}
			if steps <= n {
				break
			}
		}
		if do == "save" && lost == 0 { // a restore that breaks off removes its files
			t.Error("nothing was lost at any step")
		}
	}
}

// A chunk counts as kept when its name and those of its folders are on disk, even when
// another has written it a moment ago.
func TestBlobsAreDurable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "blobs")
	text := []byte("text")
	name := digest(text)
	for _, who := range []string{"the writer", "one who finds it"} {
		var on []string // what the disk knows, in order
		b := &fileBlobs{dir: dir, touch: touch, sync: func(at string) error {
			entries, err := os.ReadDir(at)
			for _, e := range entries {
				on = append(on, e.Name())
			}
			return errors.Join(err, durable.Dir(at))
		}}
		for range 2 {
			on = on[:0:len(on)]
			if err := b.Put(t.Context(), name, text); err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(on, name) {
				t.Errorf("%s: the disk knows %q", who, on)
			}
			if _, again := b.synced.Load(filepath.Join(dir, name[:2])); !again {
				t.Errorf("%s: the folder of the chunk is not known to be on disk", who)
			}
		}
		b.synced.Clear()
		on = nil
		if err := b.Put(t.Context(), name, text); err != nil || !slices.Contains(on, name[:2]) || !slices.Contains(on, "blobs") {
			t.Errorf("%s: the disk knows %q, %v", who, on, err)
		}
		b.sync = func(string) error { return fs.ErrPermission }
		if err := b.Put(t.Context(), name, text); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: a folder that is not synced: %v", who, err)
		}
	}
}
