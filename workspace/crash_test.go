package workspace

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/claude-agent-go/claude/store"
)

var errCrash = errors.New("the process was killed here")

// crashAt ends the work at the n-th step and at all after it, as a killed process does. It
// counts the steps.
func crashAt(n int, steps *int) func(*SnapshotOptions) {
	return func(o *SnapshotOptions) {
		o.step = func(what string) error {
			if *steps++; *steps > n {
				return fmt.Errorf("%s: %w", what, errCrash)
			}
			return nil
		}
	}
}

// lostReply is a store that does what it is asked, and says that it failed.
type lostReply struct {
	*store.MemoryStore
	lost *int // how many replies are lost from now on
}

func (s lostReply) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	next, err := s.MemoryStore.Change(ctx, f, c...)
	if err == nil && !c[0].Drop && c[0].Key.Kind == kindHead && *s.lost > 0 {
		*s.lost--
		return nil, errors.New("no reply")
	}
	return next, err
}

// states are the folder before and after the save of these tests.
func states() (first, second map[string]string) {
	return map[string]string{"a": "1", "d/b": "2", "d/c": "3"}, map[string]string{"a": "10", "d/b": "20", "d/new": "40"}
}

// TestSaveKilledAtEveryStep kills a save at each step: another machine finds the old
// state as a whole, or the new one, and the new one if the save has returned.
func TestSaveKilledAtEveryStep(t *testing.T) {
	first, second := states()
	for n := 0; ; n++ {
		s := newShared(t)
		root := t.TempDir()
		d := open(t, s.worker(t, root), "k")
		write(t, d.Path(), first)
		save(t, d)
		old := readTree(t, d.Path())
		steps := 0
		d = open(t, s.worker(t, root, crashAt(n, &steps)), "k")
		write(t, d.Path(), second)
		fresh := readTree(t, d.Path())
		err := d.Save(t.Context(), store.Fence{})
		got := readTree(t, open(t, s.worker(t, t.TempDir()), "k").Path())
		switch {
		case err == nil && !maps.Equal(got, fresh):
			t.Errorf("killed after step %d, saved: another machine has %q", n, got)
		case err != nil && !maps.Equal(got, old):
			t.Errorf("killed after step %d, not saved: another machine has %q", n, got)
		}
		// The same machine has lost nothing, and saves it.
		again := open(t, s.worker(t, root), "k")
		wantTree(t, fmt.Sprintf("killed after step %d, the same machine", n), again.Path(), fresh)
		save(t, again)
		wantTree(t, fmt.Sprintf("killed after step %d, saved again", n), open(t, s.worker(t, t.TempDir()), "k").Path(), fresh)
		if steps <= n {
			if n < 6 {
				t.Errorf("a save has only %d steps", n)
			}
			return
		}
	}
}

// TestRestoreKilledAtEveryStep kills a restore at each step: the next one on that machine
// finds the last whole state, and nothing is left beside it.
func TestRestoreKilledAtEveryStep(t *testing.T) {
	first, second := states()
	for _, had := range []bool{false, true} { // an older state on the machine
		for n := 0; ; n++ {
			s := newShared(t)
			root := t.TempDir()
			d := open(t, s.worker(t, t.TempDir()), "k")
			write(t, d.Path(), first)
			save(t, d)
			if had {
				open(t, s.worker(t, root), "k")
			}
			write(t, d.Path(), second)
			save(t, d)
			want := readTree(t, d.Path())
			steps := 0
			_, err := s.worker(t, root, crashAt(n, &steps)).Open(t.Context(), "k")
			if err != nil && !errors.Is(err, errCrash) {
				t.Fatal(err)
			}
			again := open(t, s.worker(t, root), "k")
			wantTree(t, fmt.Sprintf("killed after step %d, with an older state %v", n, had), again.Path(), want)
			if left, _ := filepath.Glob(filepath.Join(root, ".*-*")); len(left) > 1 { // the index
				t.Errorf("killed after step %d: %q is left", n, left)
			}
			if steps <= n {
				if n < 6 {
					t.Errorf("a restore has only %d steps", n)
				}
				break
			}
		}
	}
}

// The record may be written although the store says that it was not: the next save finds
// its own.
func TestLostReply(t *testing.T) {
	first, second := states()
	s := newShared(t)
	lost := 1
	w := s.worker(t, t.TempDir(), func(o *SnapshotOptions) { o.Records = lostReply{s.records, &lost} })
	d := open(t, w, "k")
	write(t, d.Path(), first)
	if err := d.Save(t.Context(), store.Fence{}); err == nil {
		t.Fatal("no error of a lost reply")
	}
	wantTree(t, "after a lost reply", open(t, s.worker(t, t.TempDir()), "k").Path(), readTree(t, d.Path()))
	write(t, d.Path(), second)
	if err := d.Save(t.Context(), store.Fence{}); err != nil {
		t.Errorf("the save after a lost reply: %v", err)
	}
	wantTree(t, "the save after", open(t, s.worker(t, t.TempDir()), "k").Path(), readTree(t, d.Path()))
}

// However many replies are lost, the next save finds its own, even when the folder is as
// it was before them.
func TestLostReplies(t *testing.T) {
	s := newShared(t)
	lost := 0
	w := s.worker(t, t.TempDir(), func(o *SnapshotOptions) { o.Records = lostReply{s.records, &lost} })
	d := open(t, w, "k")
	for _, text := range []string{"first", "second"} {
		write(t, d.Path(), map[string]string{"f": text})
		save(t, d)
		info, err := os.Stat(filepath.Join(d.Path(), "f"))
		if err != nil {
			t.Fatal(err)
		}
		lost = 3
		for i := range lost {
			write(t, d.Path(), map[string]string{"f": fmt.Sprint(text, i)})
			if err := d.Save(t.Context(), store.Fence{}); err == nil || errors.Is(err, store.ErrLeaseLost) {
				t.Fatalf("the save whose reply is lost: %v", err)
			}
		}
		write(t, d.Path(), map[string]string{"f": text})
		if err := os.Chtimes(filepath.Join(d.Path(), "f"), info.ModTime(), info.ModTime()); err != nil {
			t.Fatal(err)
		}
		save(t, d)
		wantTree(t, "another machine", open(t, s.worker(t, t.TempDir()), "k").Path(), readTree(t, d.Path()))
	}
}

// A process that is killed before the reply to its save arrives finds its work on the
// same machine, with what was added after the save.
func TestLostReplyAndRestart(t *testing.T) {
	for _, before := range []int{0, 1} { // saves that were replied to
		s := newShared(t)
		root, lost := t.TempDir(), 0
		d := open(t, s.worker(t, root, func(o *SnapshotOptions) { o.Records = lostReply{s.records, &lost} }), "k")
		for range before {
			write(t, d.Path(), map[string]string{"f": "before"})
			save(t, d)
		}
		lost = 1
		write(t, d.Path(), map[string]string{"f": "saved"})
		if err := d.Save(t.Context(), store.Fence{}); err == nil {
			t.Fatal("no error of a lost reply")
		}
		write(t, d.Path(), map[string]string{"g": "unsaved"})
		want := readTree(t, d.Path())
		d = open(t, s.worker(t, root), "k")
		wantTree(t, "the same machine", d.Path(), want)
		save(t, d)
		wantTree(t, "another machine", open(t, s.worker(t, t.TempDir()), "k").Path(), want)
	}
}
