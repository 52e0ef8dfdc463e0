package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// A mark is held by one at a time, even when its last holder has removed it. What the holder
// has noted stays until it is taken back.
func TestMark(t *testing.T) {
	path := filepath.Join(t.TempDir(), "root", "tree")
	w := &Worktrees{o: WorktreeOptions{Timeout: time.Minute}, sync: (*os.File).Sync, syncs: make(syncs, 1)}
	impatient := &Worktrees{o: WorktreeOptions{Timeout: 20 * time.Millisecond}, sync: w.sync} // real time: it has to end, and nothing else ends it
	for _, tt := range []struct{ note, found string }{{"", ""}, {strings.Repeat("a", 40), strings.Repeat("a", 40)}, {"", ""}} {
		first, err := w.hold(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := impatient.hold(t.Context(), path); !errors.Is(err, store.ErrBusy) {
			t.Errorf("held twice: %v", err)
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
			return
		}
		if second.begun != tt.found {
			t.Errorf("after %q the mark names %q", tt.note, second.begun)
		}
		if _, err := impatient.hold(t.Context(), path); !errors.Is(err, store.ErrBusy) {
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
