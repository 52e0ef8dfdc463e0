package store

import (
	"errors"
	"os"
	"strings"
	"testing"
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
