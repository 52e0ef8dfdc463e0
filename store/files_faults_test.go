package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/test/need"
)

// diskDeed is a write of a store, after others have prepared for it.
type diskDeed struct {
	name    string
	prepare func(t *testing.T, s *FileStore)
	do      func(t *testing.T, s *FileStore) error
	// synced are the files and folders that are on the disk when it returns, in order.
	synced string
}

func diskDeeds() []diskDeed {
	main := Key{Project: "p", Session: crashKey().Session}
	record := RecordKey{Project: "p", Kind: "k", Name: "a/b"}
	b := crashBatch(`{"uuid":"9"}`)
	b.ID = "ninth"
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	stored := func(t *testing.T, s *FileStore) {
		t.Helper()
		must(t, s.Append(t.Context(), main, crashBatch(`{"uuid":"1"}`)))
		must(t, s.Append(t.Context(), crashKey(), crashBatch(`{"uuid":"2"}`)))
		_, err := Put(t.Context(), s, record, []byte("one"), 0, Fence{})
		must(t, err)
		lease, err := s.Acquire(t.Context(), "p", "lease", "old", time.Hour)
		must(t, err)
		must(t, s.Release(t.Context(), lease))
	}
	leased := func(t *testing.T, s *FileStore) {
		t.Helper()
		stored(t, s)
		_, err := s.Acquire(t.Context(), "p", "lease", "me", time.Hour)
		must(t, err)
	}
	lease := Lease{Fence{"p", "lease", 2}, "me", time.Hour}
	change := func(value string) func(t *testing.T, s *FileStore) error {
		return func(t *testing.T, s *FileStore) error {
			now, err := Get(t.Context(), s, record)
			if err == nil && string(now.Value) != value { // a change whose reply was lost is there
				_, err = Put(t.Context(), s, record, []byte(value), now.Revision, Fence{})
			}
			return err
		}
	}
	return []diskDeed{
		{"first append", func(*testing.T, *FileStore) {}, func(t *testing.T, s *FileStore) error { return s.Append(t.Context(), main, b) },
			"over; TEMP; top; top; p; top; data; commits; sessions; p; top; data; commits"},
		{"append", stored, func(t *testing.T, s *FileStore) error { return s.Append(t.Context(), main, b) }, "sessions; p; top; data; commits"},
		{"append of a subagent", stored, func(t *testing.T, s *FileStore) error { return s.Append(t.Context(), crashKey(), b) }, "subagents; 00000000-0000-4000-8000-000000000001; sessions; p; top; data; commits"},
		{"acquire", stored, func(t *testing.T, s *FileStore) error {
			_, err := s.Acquire(t.Context(), "p", "lease", "me", time.Hour)
			if errors.Is(err, ErrLeased) {
				return nil // by the attempt whose reply was lost
			}
			return err
		}, "TEMP; leases"},
		{"renew", leased, func(t *testing.T, s *FileStore) error { return s.Renew(t.Context(), lease) }, "TEMP; leases"},
		{"release", leased, func(t *testing.T, s *FileStore) error { return s.Release(t.Context(), lease) }, "TEMP; leases"},
		{"first record", func(t *testing.T, s *FileStore) { must(t, s.Append(t.Context(), main, crashBatch(`{"uuid":"1"}`))) }, func(t *testing.T, s *FileStore) error {
			_, err := s.Change(t.Context(), Fence{}, RecordChange{Key: record, Value: []byte("one")}, RecordChange{Key: RecordKey{"p", "k", "c"}})
			if errors.Is(err, ErrConflict) {
				return nil
			}
			return err
		}, "p; top; log; p; log"},
		{"change of a record", stored, change("two"), "p; top; log"},
		{"change after an unfinished one", func(t *testing.T, s *FileStore) {
			stored(t, s)
			must(t, os.WriteFile(filepath.Join(s.dir, "p", logLockFile), []byte{markBegun}, 0o600))
		}, change("two"), "p; top; log; p; log"},
		{"change of an old record", func(t *testing.T, s *FileStore) {
			oldRecord(t, s.dir, record, "one", 7)
			must(t, os.WriteFile(filepath.Join(s.dir, layoutFile), []byte("1"), 0o600))
		}, change("two"), "TEMP; top; log; p; p; p; top; log"},
		{"drop of a record", stored, func(t *testing.T, s *FileStore) error {
			now, err := Get(t.Context(), s, record)
			if err == nil {
				err = Drop(t.Context(), s, record, now.Revision, Fence{})
			}
			if errors.Is(err, ErrNotFound) {
				return nil
			}
			return err
		}, "p; top; log"},
		{"delete", stored, func(t *testing.T, s *FileStore) error { return s.Delete(t.Context(), main, Fence{}) },
			"TEMP; sessions; commits; subagents; commits; sessions; sessions"},
		{"delete of a subagent", stored, func(t *testing.T, s *FileStore) error { return s.Delete(t.Context(), crashKey(), Fence{}) }, "commits; subagents"},
	}
}

// holds is all that a store holds, without what differs from run to run.
func holds(t *testing.T, s *FileStore) string {
	t.Helper()
	var out strings.Builder
	main := Key{Project: "p", Session: crashKey().Session}
	for _, k := range []Key{main, crashKey()} {
		fmt.Fprintf(&out, "%s\n", loaded(t, s, k))
	}
	for l, err := range s.List(t.Context(), "p") {
		fmt.Fprintf(&out, "session %s %v\n", l.Session, err)
	}
	for sub, err := range s.Subagents(t.Context(), main.Project, main.Session) {
		fmt.Fprintf(&out, "sub %s %v\n", sub, err)
	}
	for r, err := range s.Scan(t.Context(), Folder{Project: "p", Kind: "k"}, "") {
		fmt.Fprintf(&out, "record %s %s %v\n", r.Key, r.Value, err)
	}
	_, err := s.Acquire(t.Context(), "p", "lease", "next", time.Hour)
	held, ok := errors.AsType[*HeldError](err)
	if ok {
		err = fmt.Errorf("held by %s", held.Owner)
	}
	fmt.Fprintf(&out, "lease: %v\n", err)
	return out.String()
}

// spot names a file or folder that is synced, without what differs from run to run.
func spot(dir, name string) string {
	for end, kind := range map[string]string{dataEnd: "data", commitsEnd: "commits"} {
		if strings.HasSuffix(name, end) {
			return kind
		}
	}
	switch base := filepath.Base(name); {
	case base == logFile || base == logNewFile:
		return "log"
	case strings.HasPrefix(base, ".") && len(base) > 20:
		return "TEMP"
	case name == dir || filepath.Clean(name) == dir:
		return "top"
	case name == filepath.Dir(dir):
		return "over"
	default:
		return base
	}
}

// Everything that a write leaves is on the disk when it returns. If the disk fails at
// any of these places, the write fails, and done again it does what it would have done.
func TestFilesSyncAtEveryCall(t *testing.T) {
	need.FolderSync.Test(t)
	errDisk := errors.New("input/output error")
	for _, d := range diskDeeds() {
		t.Run(d.name, func(t *testing.T) {
			run := func(failAt int) (spots []string, left string, err error) {
				dir := filepath.Join(t.TempDir(), "store")
				if d.name != "first append" {
					quick := Files(dir)
					quick.NoSync = true
					d.prepare(t, quick)
				}
				s := Files(dir)
				s.made = d.name != "first append"
				s.fsync = func(f *os.File) error {
					if spots = append(spots, spot(dir, f.Name())); len(spots) == failAt {
						return errDisk
					}
					return nil // no test pulls the plug
				}
				err = d.do(t, s)
				if failAt > 0 {
					s.fsync = func(*os.File) error { return nil }
					if again := d.do(t, s); again != nil {
						t.Errorf("again, after a failure at %s: %v", spots[failAt-1], again)
					}
				}
				other := Files(dir)
				other.NoSync = true
				return spots, holds(t, other), err
			}
			spots, want, err := run(0)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(spots, "; "); got != d.synced {
				t.Errorf("synced %s\nwant   %s", got, d.synced)
			}
			for at := 1; at <= len(spots); at++ {
				_, left, err := run(at)
				if !errors.Is(err, errDisk) {
					t.Errorf("the disk fails at %d, %s: %v", at, spots[at-1], err)
				}
				if left != want {
					t.Errorf("again, after a failure at %d, %s, there is\n%swant\n%s", at, spots[at-1], left, want)
				}
			}
		})
	}
}

// No write leaves a temporary file behind, even if the disk fails.
func TestFilesLeaveNoTemporaries(t *testing.T) {
	for failing := range 2 {
		dir := t.TempDir()
		s := Files(dir)
		var taken []string
		s.fsync = func(f *os.File) error {
			if spot(dir, f.Name()) == "TEMP" && failing == 1 {
				taken = append(taken, f.Name())
				return errors.New("input/output error")
			}
			return nil
		}
		for _, d := range diskDeeds() {
			_ = d.do(t, s) // fails where the disk does
		}
		if failing == 1 && len(taken) == 0 {
			t.Fatal("no temporary file was made")
		}
		err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
			if spot(dir, path) == "TEMP" {
				t.Errorf("%s is left", path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// An unreadable file is an error, and never counts as missing: an unreadable lease
// would be granted with an old token.
func TestFilesUnreadable(t *testing.T) {
	record := RecordKey{Project: "p", Kind: "k", Name: "n"}
	main := Key{Project: "p", Session: crashKey().Session}
	for name, c := range map[string]struct {
		path string // a folder is in its place
		do   func(*FileStore) error
	}{
		"lease": {leasePath("p", "lease") + valueEnd, func(s *FileStore) error {
			_, err := s.Acquire(t.Context(), "p", "lease", "me", time.Hour)
			return err
		}},
		"fence": {leasePath("p", "lease") + valueEnd, func(s *FileStore) error {
			b := crashBatch(`{"uuid":"1"}`)
			b.Fence = Fence{"p", "lease", 1}
			return s.Append(t.Context(), main, b)
		}},
		"record": {"p/records.log", func(s *FileStore) error {
			_, err := Get(t.Context(), s, record)
			return err
		}},
		"record to change": {"p/records.log", func(s *FileStore) error {
			_, err := Put(t.Context(), s, record, nil, 0, Fence{})
			return err
		}},
		"record to drop": {"p/records.log", func(s *FileStore) error { return Drop(t.Context(), s, record, 1, Fence{}) }},
		"commits":        {transcriptFile(main) + commitsEnd, func(s *FileStore) error { return s.Append(t.Context(), main, crashBatch(`{"uuid":"1"}`)) }},
		"data":           {transcriptFile(main) + dataEnd, func(s *FileStore) error { return s.Append(t.Context(), main, crashBatch(`{"uuid":"1"}`)) }},
		"layout":         {layoutFile, func(s *FileStore) error { return s.Append(t.Context(), main, crashBatch(`{"uuid":"1"}`)) }},
		"layout to read": {layoutFile, func(s *FileStore) error {
			for _, err := range s.List(t.Context(), "p") {
				return err
			}
			return nil
		}},
	} {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(c.path), "x"), 0o700); err != nil {
			t.Fatal(err)
		}
		err := c.do(Files(dir))
		if err == nil || errors.Is(err, ErrNotFound) || errors.Is(err, ErrConflict) || errors.Is(err, ErrLeaseLost) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Texts of errors and values that people read.
func TestTexts(t *testing.T) {
	for got, want := range map[string]string{
		(&HeldError{Name: "c", Owner: "me", For: 1500*time.Millisecond + 7}).Error(): "claude: store: c is leased to me for another 1.5s",
		RecordKey{"p", "k", "a/b"}.String():                                          "p/k/a/b",
		Key{Project: "p", Session: "s", Sub: "x/y"}.String():                         "p/s/x/y",
		Key{Project: "p", Session: "s"}.String():                                     "p/s",
		Strict.String():                                                              "strict",
		Eventually.String():                                                          "eventually",
		(&NotStoredError{Journal: "/j", Err: errors.New("down")}).Error():            "",
	} {
		if want != "" && got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if want == "" && (!strings.Contains(got, "/j") || !strings.Contains(got, "down")) {
			t.Errorf("%q", got)
		}
	}
	_, err := Memory().Acquire(t.Context(), "..", "n", "o", time.Minute)
	if bad, ok := errors.AsType[*KeyError](err); !ok || !strings.Contains(bad.Error(), bad.Reason) || !strings.Contains(bad.Error(), `".."`) {
		t.Errorf("%v", err)
	}
}
