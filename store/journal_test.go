package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var errDiskFull = errors.New("no space left on device")

// fullDisk is the file of a journal on a disk that has room for some bytes more.
type fullDisk struct {
	*os.File
	room       int
	noSync     bool // nothing reaches the disk
	noTruncate bool
}

func (f *fullDisk) WriteAt(p []byte, at int64) (int, error) {
	n, err := f.File.WriteAt(p[:min(len(p), f.room)], at)
	f.room -= n
	if err == nil && n < len(p) {
		err = errDiskFull
	}
	return n, err
}

func (f *fullDisk) Sync() error {
	if f.noSync {
		return errDiskFull
	}
	return nil // the tests do not pull the plug
}

func (f *fullDisk) Truncate(size int64) error {
	if f.noTruncate {
		return errDiskFull
	}
	return f.File.Truncate(size)
}

// journalBatch is a batch of three entries.
func journalBatch(id string) Batch {
	b := crashBatch(`{"uuid":"`+id+`-1"}`, `{"uuid":"`+id+`-2"}`, `{"type":"tag"}`)
	b.ID = id
	return b
}

// readIDs returns the ids of the batches of a journal, with how many entries each
// has if that is not three.
func readIDs(path string) (ids []string, err error) {
	for b, err := range ReadJournal(path) {
		if err != nil {
			return ids, err
		}
		id := b.Batch.ID
		if n := len(b.Batch.Entries); n != 3 {
			id += fmt.Sprint(":", n)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// newJournal makes a journal with one batch on a disk that can be filled.
func newJournal(t *testing.T) (*Journal, *fullDisk) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "j.journal"))
	if err != nil {
		t.Fatal(err)
	}
	disk := &fullDisk{File: f, room: 1 << 20}
	j := &Journal{file: disk}
	t.Cleanup(func() { _ = j.Close() })
	if err := j.Append(crashKey(), journalBatch("a")); err != nil {
		t.Fatal(err)
	}
	return j, disk
}

// A batch that does not fit on the disk is not in the journal, wherever it is cut
// off, and the next one is where it would have been.
func TestJournalDiskFull(t *testing.T) {
	for room := 0; ; room++ {
		j, disk := newJournal(t)
		disk.room = room
		err := j.Append(crashKey(), journalBatch("b"))
		if err == nil {
			if room < 100 {
				t.Errorf("a batch fits into %d bytes", room)
			}
			return
		}
		if !errors.Is(err, errDiskFull) {
			t.Fatal(err)
		}
		if got, err := readIDs(j.Path()); err != nil || !slices.Equal(got, []string{"a"}) {
			t.Fatalf("with room for %d bytes: %q, %v", room, got, err)
		}
		disk.room = 1 << 20
		for _, id := range []string{"b", "c"} { // the mirror tries it again
			if err := j.Append(crashKey(), journalBatch(id)); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := readIDs(j.Path()); err != nil || !slices.Equal(got, []string{"a", "b", "c"}) {
			t.Fatalf("then, after room for %d bytes: %q, %v", room, got, err)
		}
	}
}

// A batch that was written, but perhaps never reached the disk, is not there
// either.
func TestJournalNotSynced(t *testing.T) {
	j, disk := newJournal(t)
	disk.noSync = true
	if err := j.Append(crashKey(), journalBatch("b")); !errors.Is(err, errDiskFull) {
		t.Fatal(err)
	}
	if got, err := readIDs(j.Path()); err != nil || !slices.Equal(got, []string{"a"}) {
		t.Errorf("%q, %v", got, err)
	}
}

// What cannot even be cut off is overwritten by the next batch or not at all:
// nothing is written behind it.
func TestJournalNotCut(t *testing.T) {
	j, disk := newJournal(t)
	disk.room, disk.noTruncate = 70, true
	if err := j.Append(crashKey(), journalBatch("long"+strings.Repeat("g", 40))); !errors.Is(err, errDiskFull) {
		t.Fatal(err)
	}
	disk.room = 1 << 20
	size := j.Size()
	if err := j.Append(crashKey(), journalBatch("b")); !errors.Is(err, errDiskFull) || j.Size() != size {
		t.Errorf("Append = %v, the size is %d, want %d", err, j.Size(), size)
	}
	disk.noTruncate = false
	if err := j.Append(crashKey(), journalBatch("b")); err != nil {
		t.Fatal(err)
	}
	if got, err := readIDs(j.Path()); err != nil || !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("%q, %v", got, err)
	}
}

// A journal whose writer was killed at any byte still yields every record written
// in full. A journal that was tampered with is an error. Neither case stores an
// entry twice.
func TestJournalCutAnywhere(t *testing.T) {
	j, _ := newJournal(t)
	if err := j.Append(crashKey(), journalBatch("b")); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(j.Path())
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, id := range []string{"a", "b"} {
		for _, e := range journalBatch(id).Entries {
			want = append(want, string(e))
		}
	}
	path := filepath.Join(t.TempDir(), "cut.journal")
	for end := range len(text) + 1 {
		if err := os.WriteFile(path, text[:end], 0o600); err != nil {
			t.Fatal(err)
		}
		whole := strings.Count(string(text[:end]), "}\n") - strings.Count(string(text[:end]), `:3}`+"\n") // without the heads
		s := Memory()
		for range 2 {
			n, err := ImportJournal(t.Context(), s, path, Fence{})
			if got := all(t.Context(), s); err != nil || n != whole || !slices.Equal(got, want[:whole]) {
				t.Fatalf("%d bytes: %d entries, want %d, %v: %q", end, n, whole, err, got)
			}
		}
	}
	for name, broken := range map[string]string{
		"garbage":        "%PDF\n",
		"garbage behind": string(text) + "%PDF\n",
		"another order":  string(text[len(text)/2+20:]),
		"a newer format": `{"journal":2,"project":"p","session":"` + crashKey().Session + `","batch":"x","entries":0}` + "\n",
		"a bad key":      `{"journal":1,"project":"../p","session":"` + crashKey().Session + `","batch":"x","entries":0}` + "\n",
		"a bad entry":    `{"journal":1,"project":"p","session":"` + crashKey().Session + `","batch":"x","entries":1}` + "\n17\n",
		"fewer than one": `{"journal":1,"project":"p","session":"` + crashKey().Session + `","batch":"x","entries":-1}` + "\n",
	} {
		if err := os.WriteFile(path, []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ImportJournal(t.Context(), Memory(), path, Fence{}); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// all returns every entry of the transcript of the tests.
func all(ctx context.Context, s Transcripts) (lines []string) {
	for e, err := range Entries(ctx, s, crashKey()) {
		if err == nil {
			lines = append(lines, string(e))
		}
	}
	return lines
}
