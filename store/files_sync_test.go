package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/need"
	"github.com/claude-agent-go/claude/internal/transcript"
)

// A commit is written when its data is on the disk, and not before: a batch whose data
// cannot be synced does not count, in this process or in another.
func TestFilesCommitAfterData(t *testing.T) {
	errDisk := errors.New("input/output error")
	k, dir := crashKey(), t.TempDir()
	for _, batches := range []int{0, 1} { // that are stored before
		s := Files(dir)
		if batches > 0 {
			if err := s.Append(t.Context(), k, crashBatch(`{"uuid":"1"}`)); err != nil {
				t.Fatal(err)
			}
		}
		before := loaded(t, s, k)
		s.fsync = func(f *os.File) error {
			if strings.HasSuffix(f.Name(), dataEnd) {
				return errDisk
			}
			return f.Sync()
		}
		if err := s.Append(t.Context(), k, crashBatch(`{"uuid":"2"}`)); !errors.Is(err, errDisk) {
			t.Errorf("data that is not on the disk: Append = %v", err)
		}
		for name, reader := range map[string]*FileStore{"this process": s, "another": Files(dir)} {
			if got := loaded(t, reader, k); got != before && !strings.Contains(got, "not found") {
				t.Errorf("%d batches before: %s loads %q, want %q", batches, name, got, before)
			}
		}
	}
	// What was refused may be tried again, and is stored once.
	s := Files(dir)
	if err := s.Append(t.Context(), k, crashBatch(`{"uuid":"2"}`)); err != nil {
		t.Fatal(err)
	}
	if got := loaded(t, s, k); got != `{"uuid":"1"}{"uuid":"2"}` {
		t.Errorf("Load = %s", got)
	}
}

// A batch that comes again is on the disk when Append returns, like any other: the process
// that has written it may have died before it was synced.
func TestFilesSyncRepeatedBatch(t *testing.T) {
	k, dir := crashKey(), t.TempDir()
	b := crashBatch(`{"uuid":"1"}`)
	b.ID = "first"
	died := Files(dir)
	died.NoSync = true
	if err := died.Append(t.Context(), k, b); err != nil {
		t.Fatal(err)
	}
	errDisk := errors.New("input/output error")
	for _, ending := range []string{dataEnd, commitsEnd} {
		s := Files(dir)
		s.fsync = func(f *os.File) error {
			if strings.HasSuffix(f.Name(), ending) {
				return errDisk
			}
			return f.Sync()
		}
		if err := s.Append(t.Context(), k, b); !errors.Is(err, errDisk) {
			t.Errorf("%s is not on the disk: Append = %v", ending, err)
		}
	}
}

// A record is dropped when its folder is on the disk without it: else it would be there
// again after a crash of the machine.
func TestFilesSyncDroppedRecord(t *testing.T) {
	need.FolderSync.Test(t)
	s := Files(t.TempDir())
	k := RecordKey{Project: "p", Kind: "k", Name: "n"}
	revision, err := Put(t.Context(), s, k, []byte("{}"), 0, Fence{})
	if err != nil {
		t.Fatal(err)
	}
	errDisk := errors.New("input/output error")
	s.fsync = func(f *os.File) error {
		if _, err := Get(t.Context(), s, k); errors.Is(err, ErrNotFound) {
			return errDisk
		}
		return f.Sync()
	}
	if err := Drop(t.Context(), s, k, revision, Fence{}); !errors.Is(err, errDisk) {
		t.Errorf("the folder is not on the disk: DropRecord = %v", err)
	}
}

// A summary that is not of this transcript, because it is of more than there is, or cannot
// be read, is made again from the beginning.
func TestFilesStaleSummary(t *testing.T) {
	k, dir := Key{Project: "p", Session: crashKey().Session}, t.TempDir()
	s := Files(dir)
	s.NoSync = true
	lines := crashBatch(`{"type":"user","uuid":"1","message":{"role":"user","content":"one"}}`)
	if err := s.Append(t.Context(), k, lines); err != nil {
		t.Fatal(err)
	}
	want := string(transcript.FoldInto(nil, lines.Entries...))
	for _, kept := range []string{`{"end":100000,"data":{"title":"another"}}`, `{"end":`, ``} {
		if err := os.WriteFile(filepath.Join(dir, transcriptFile(k)+summaryEnd), []byte(kept), 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 { // made, and kept
			for l, err := range s.List(t.Context(), "p") {
				if err != nil || string(l.Data) != want {
					t.Errorf("beside %q the summary is %s, %v; want %s", kept, l.Data, err, want)
				}
			}
		}
	}
}
