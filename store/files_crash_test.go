package store

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/need"
)

func crashKey() Key {
	return Key{Project: "p", Session: "00000000-0000-4000-8000-000000000001", Sub: "subagents/agent-1"}
}

func crashBatch(lines ...string) Batch {
	var b Batch
	for _, l := range lines {
		b.Entries = append(b.Entries, Entry(l))
	}
	return b
}

func loaded(t *testing.T, s Transcripts, k Key) string {
	t.Helper()
	out := ""
	for e, err := range Entries(t.Context(), s, k) {
		if err != nil {
			return "error: " + err.Error()
		}
		out += string(e)
	}
	return out
}

// Files that a crash left: each row lists the bytes on disk, the entries loaded, and
// the content after one append.
func TestFilesAfterCrashes(t *testing.T) {
	const missing = "error: claude: store: p/00000000-0000-4000-8000-000000000001/subagents/agent-1: not found"
	for name, c := range map[string]struct{ commits, data, load, then string }{
		"copied beside empty commits":    {"", "{\"uuid\":\"1\"}\n", `{"uuid":"1"}`, `{"uuid":"1"}{"uuid":"2"}`},
		"copied beside half a commit":    {"0 AB", "{\"uuid\":\"1\"}\n", `{"uuid":"1"}`, `{"uuid":"1"}{"uuid":"2"}`},
		"copied without a line feed":     {"", "{\"uuid\":\"1\"}\n{\"uuid\":\"9\"}", `{"uuid":"1"}`, `{"uuid":"1"}{"uuid":"9"}{"uuid":"2"}`},
		"before the first commit":        {"0 AB\n", "{\"uuid\":\"1\"}\n", missing, `{"uuid":"2"}`},
		"deleted, the data not yet gone": {"0 AB\n13 b\n0 CD\n", "{\"uuid\":\"1\"}\n", missing, `{"uuid":"2"}`},
		"deleted, the data gone":         {"0 AB\n13 b\n0 CD\n", "", missing, `{"uuid":"2"}`},
		"deletion cut off":               {"0 AB\n13 b\n0 C", "{\"uuid\":\"1\"}\n", `{"uuid":"1"}`, `{"uuid":"1"}{"uuid":"2"}`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			k := crashKey()
			base := filepath.Join(dir, filepath.FromSlash(transcriptFile(k)))
			if err := os.MkdirAll(filepath.Dir(base), 0o700); err != nil {
				t.Fatal(err)
			}
			for end, text := range map[string]string{commitsEnd: c.commits, dataEnd: c.data} {
				if err := os.WriteFile(base+end, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if got := loaded(t, Files(dir), k); got != c.load {
				t.Errorf("Load = %s\nwant   %s", got, c.load)
			}
			if err := Files(dir).Append(t.Context(), k, crashBatch(`{"uuid":"2"}`)); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if got := loaded(t, Files(dir), k); got != c.then {
					t.Errorf("after an append: %s\nwant %s", got, c.then)
				}
				if err := Files(dir).Append(t.Context(), k, crashBatch(`{"uuid":"2"}`)); err != nil { // it is there
					t.Fatal(err)
				}
			}
		})
	}
}

// A transcript that was put there by hand is deleted by one process while others
// append to it. None finds it damaged.
func TestFilesAdoptBesideDelete(t *testing.T) {
	for range 30 {
		dir := t.TempDir()
		k := crashKey()
		data := filepath.Join(dir, filepath.FromSlash(transcriptFile(k))) + dataEnd
		if err := os.MkdirAll(filepath.Dir(data), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(data, []byte("{\"uuid\":\"hand\"}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		for _, do := range []func(*FileStore) error{
			func(s *FileStore) error { return s.Append(t.Context(), k, crashBatch(`{"uuid":"1"}`)) },
			func(s *FileStore) error { return s.Append(t.Context(), k, crashBatch(`{"uuid":"2"}`)) },
			func(s *FileStore) error { return s.Delete(t.Context(), k, Fence{}) },
		} {
			s := Files(dir)
			s.NoSync = true
			go func() { done <- do(s) }()
		}
		for range 3 {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		if err := Files(dir).Append(t.Context(), k, crashBatch(`{"uuid":"3"}`)); err != nil {
			t.Fatal(err)
		}
		if got := loaded(t, Files(dir), k); !slices.Contains([]string{
			`{"uuid":"3"}`, `{"uuid":"1"}{"uuid":"3"}`, `{"uuid":"2"}{"uuid":"3"}`, `{"uuid":"1"}{"uuid":"2"}{"uuid":"3"}`, `{"uuid":"2"}{"uuid":"1"}{"uuid":"3"}`,
		}, got) {
			t.Fatalf("Load = %s", got)
		}
	}
}

// Before an append returns, its files are on the disk, and the names of all
// directories above them, up to one that was there before.
func TestFilesAreSynced(t *testing.T) {
	need.FolderSync.Test(t)
	top := t.TempDir()
	s := Files(filepath.Join(top, "a", "b"))
	var synced []string
	s.fsync = func(f *os.File) error {
		name, err := filepath.Rel(top, f.Name())
		synced = append(synced, name)
		return err
	}
	k := crashKey()
	if err := s.Append(t.Context(), k, crashBatch(`{"uuid":"1"}`)); err != nil {
		t.Fatal(err)
	}
	base := filepath.Join("a", "b", filepath.FromSlash(transcriptFile(k)))
	want := []string{base + dataEnd, base + commitsEnd, "."}
	for dir := filepath.Dir(base); dir != "."; dir = filepath.Dir(dir) {
		want = append(want, dir)
	}
	for _, name := range want {
		if !slices.Contains(synced, name) {
			t.Errorf("%s is not synced; only %q", name, synced)
		}
	}
	// Another process, to which the directories are nothing new, cannot know that.
	synced = nil
	other := Files(filepath.Join(top, "a", "b"))
	other.fsync = s.fsync
	if err := other.Append(t.Context(), k, crashBatch(`{"uuid":"2"}`)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{filepath.Dir(base), filepath.Join("a", "b"), "a"} {
		if !slices.Contains(synced, name) {
			t.Errorf("another process: %s is not synced; only %q", name, synced)
		}
	}
}
