package workspace

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/internal/filelock"
	"github.com/claude-agent-go/claude/store"
)

// A mark is held by one at a time, even when its last holder has removed it. What the holder
// has noted stays until it is taken back.
func TestMark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { testMark(t, filelock.Lock) })
}

// Without locks in the file system the same holds within one process, and a warning is logged
// once.
func TestMarkWithoutLocks(t *testing.T) {
	var said bytes.Buffer
	log := slog.New(slog.NewTextHandler(&said, nil))
	synctest.Test(t, func(t *testing.T) {
		w := testMark(t, func(context.Context, *os.File) error { return filelock.ErrUnsupported }, func(w *Worktrees) { w.o.Logger = log })
		if len(w.alone.held) > 0 {
			t.Errorf("%v is still locked", w.alone.held)
		}
	})
	if strings.Count(said.String(), "no locks") != 1 {
		t.Errorf("it logged %s", said.String())
	}
}

func testMark(t *testing.T, lock func(context.Context, *os.File) error, change ...func(*Worktrees)) *Worktrees {
	path := filepath.Join(t.TempDir(), "root", "tree")
	w := &Worktrees{o: WorktreeOptions{Timeout: time.Minute}, sync: (*os.File).Sync, syncs: make(syncs, 1), lock: lock}
	for _, do := range change {
		do(w)
	}
	for _, tt := range []struct{ note, found string }{{"", ""}, {strings.Repeat("a", 40), strings.Repeat("a", 40)}, {"", ""}} {
		first, err := w.hold(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if _, err := w.hold(t.Context(), path); !errors.Is(err, store.ErrBusy) || time.Since(start) < time.Minute {
			t.Errorf("held twice: %v after %v", err, time.Since(start))
		}
		next := make(chan *mark)
		go func() {
			m, err := w.hold(t.Context(), path)
			if err != nil {
				t.Error(err)
			}
			next <- m
		}()
		if tt.note != "" {
			if err := first.begin(t.Context(), tt.note); err != nil {
				t.Fatal(err)
			}
		}
		if err := first.close(); err != nil {
			t.Fatal(err)
		}
		second := <-next
		if second == nil {
			return w
		}
		if second.begun != tt.found {
			t.Errorf("after %q the mark names %q", tt.note, second.begun)
		}
		if _, err := w.hold(t.Context(), path); !errors.Is(err, store.ErrBusy) {
			t.Errorf("held twice after a wait: %v", err)
		}
		second.begun = ""
		if err := second.close(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(markPath(path)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the mark is left: %v", err)
		}
	}
	return w
}

// A mark counts only with a whole commit: git takes a part of one for the whole, and none
// for any.
func TestWholeCommit(t *testing.T) {
	short, long := strings.Repeat("0a", 20), strings.Repeat("0a", 32)
	for text, want := range map[string]string{
		short + "\n": short, long + "\n": long,
		"": "", "\n": "", short: "", long: "", short[:7] + "\n": "", long[:50] + "\n": "", short + "\n\n": "", strings.Repeat("x", 40) + "\n": "", "HEAD\n": "",
	} {
		if got := wholeCommit(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
