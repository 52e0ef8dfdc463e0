//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package scratch

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/private"
)

// A sweep takes only what a Folder of this user left, wherever that lies. Others
// use names that begin alike, and lock files of other kinds.
func TestSweepSpares(t *testing.T) {
	for name, tt := range map[string]struct {
		folder, lock os.FileMode
		text         string
		change       func(t *testing.T, dir, lock string)
		swept        bool
	}{
		"left":             {folder: 0o700, lock: 0o600, swept: true},
		"folder for all":   {folder: 0o755, lock: 0o600},
		"lock for all":     {folder: 0o700, lock: 0o644},
		"lock with a text": {folder: 0o700, lock: 0o600, text: "4711"},
		"lock that is a pipe": {folder: 0o700, lock: 0o600, change: func(t *testing.T, _, lock string) {
			if err := os.Remove(lock); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Mkfifo(lock, 0o600); err != nil {
				t.Fatal(err)
			}
		}},
		"lock that is a link": {folder: 0o700, lock: 0o600, change: func(t *testing.T, dir, lock string) {
			if err := os.Rename(lock, filepath.Join(dir, "aside")); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("aside", lock); err != nil {
				t.Fatal(err)
			}
		}},
		"somebody else's": {folder: 0o700, lock: 0o600, change: func(t *testing.T, dir, lock string) {
			if os.Geteuid() != 0 {
				if err := os.Chmod(dir, 0); err != nil { // what it comes to for all but root
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
				return
			}
			for _, path := range []string{dir, lock} {
				if err := os.Chown(path, 4711, 4711); err != nil {
					t.Fatal(err)
				}
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			tmp := filepath.Join(t.TempDir(), "a[b-]*?\\")
			dir := filepath.Join(tmp, prefix+"1")
			if err := os.Mkdir(tmp, 0o700); err != nil {
				t.Fatal(err)
			}
			lock := filepath.Join(dir, lockName)
			if err := os.Mkdir(dir, tt.folder); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(lock, []byte(tt.text), tt.lock); err != nil {
				t.Fatal(err)
			}
			if tt.change != nil {
				tt.change(t, dir, lock)
			}
			sweep(tmp)
			if got := !exists(dir); got != tt.swept {
				t.Errorf("swept = %v, want %v", got, tt.swept)
			}
		})
	}
}

// What a dead owner had started may make the folder again after a sweep. It is removed
// when nothing is added to it any more; anything else without a lock stays.
func TestSweepMadeAgain(t *testing.T) {
	made, err := private.MkdirTemp(t.TempDir(), prefix) // for its name
	if err != nil {
		t.Fatal(err)
	}
	own := filepath.Base(made)
	for name, tt := range map[string]struct {
		folder string
		inside []string
		age    time.Duration
		swept  bool
	}{
		"made again":         {own, []string{"config/projects/x"}, 2 * settleTime, true},
		"both folders":       {own, []string{"config/projects/x", "tmp/y"}, 2 * settleTime, true},
		"a moment ago":       {own, []string{"config/projects/x"}, 0, false},
		"in the making":      {own, nil, 2 * settleTime, false},
		"without locks":      {own, []string{"config/x", "lock.new"}, 2 * settleTime, false},
		"somebody's notes":   {prefix + "notes", []string{"config/projects/x"}, 2 * settleTime, false},
		"with other folders": {own, []string{"config/projects/x", "mine/x"}, 2 * settleTime, false},
	} {
		t.Run(name, func(t *testing.T) {
			tmp := t.TempDir()
			dir := filepath.Join(tmp, tt.folder)
			for _, inside := range append(tt.inside, "") {
				if err := os.MkdirAll(filepath.Join(dir, inside), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			then := time.Now().Add(-tt.age)
			if err := os.Chtimes(dir, then, then); err != nil {
				t.Fatal(err)
			}
			sweep(tmp)
			if got := !exists(dir); got != tt.swept {
				t.Errorf("swept = %v, want %v", got, tt.swept)
			}
		})
	}
}

// A folder that cannot be removed yet keeps its lock, and the next sweep removes it.
func TestSweepInterrupted(t *testing.T) {
	tmp := t.TempDir()
	dir := filepath.Join(tmp, prefix+"1")
	held := filepath.Join(dir, ConfigName)
	if err := os.MkdirAll(filepath.Join(held, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, lockName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	removeAbandoned(dir, func(path string) error {
		if path == held {
			return &fs.PathError{Op: "unlinkat", Path: path, Err: syscall.ENOTEMPTY}
		}
		return os.RemoveAll(path)
	})
	if !exists(filepath.Join(dir, lockName)) {
		t.Fatal("the lock is gone, and nobody knows any more whose the folder is")
	}
	if sweep(tmp); exists(dir) {
		t.Error("the next sweep leaves it")
	}
}
