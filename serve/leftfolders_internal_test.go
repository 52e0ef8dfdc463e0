package serve

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/internal/removal"
	"github.com/claude-agent-go/claude/serve/internal/recordio"
	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/workspace"
)

// stuckFolders is a provider whose removals hang until they are let go. It may ignore that
// their time is over.
type stuckFolders struct {
	deaf bool
	free chan struct{}

	mu    sync.Mutex
	gone  []string
	begun int
}

// removed returns the conversations whose folders are gone.
func (f *stuckFolders) removed() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.gone)
}

// tried returns how many removals were begun.
func (f *stuckFolders) tried() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.begun
}

func (f *stuckFolders) Open(_ context.Context, key string) (workspace.Workdir, error) {
	return sharedDir("/" + key), nil
}

func (f *stuckFolders) Remove(ctx context.Context, key string, _ store.Fence) error {
	f.mu.Lock()
	f.begun++
	f.mu.Unlock()
	done := ctx.Done()
	if f.deaf {
		done = nil
	}
	select {
	case <-f.free:
		f.mu.Lock()
		defer f.mu.Unlock()
		f.gone = append(f.gone, key)
		return nil
	case <-done:
		return ctx.Err()
	}
}

// stuckRig has a preset whose provider hangs, and one whose provider does not.
func stuckRig(t *testing.T, deaf bool) (w *workspaces, stuck, quick *stuckFolders) {
	stuck, quick = &stuckFolders{deaf: deaf, free: make(chan struct{})}, &stuckFolders{free: make(chan struct{})}
	close(quick.free)
	root := t.TempDir()
	w = newWorkspaces(store.Memory(), "p", []Preset{{Name: "stuck", Roots: []string{root}, Workspace: stuck}, {Name: "quick", Roots: []string{root}, Workspace: quick}}, nil)
	for _, n := range []*note{{Key: "ada/stuck", Preset: "stuck"}, {Key: "ada/quick", Preset: "quick"}} {
		if err := w.notes.create(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	return w, stuck, quick
}

// A provider that hangs holds up the deletions of its own conversations, and no others. What
// it has of these is removed later, and the log says so.
func TestOneProviderHangs(t *testing.T) {
	for name, deaf := range map[string]bool{"until its time is over": false, "for ever": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, stuck, quick := stuckRig(t, deaf)
				log := new(bytes.Buffer)
				j := &journal{logger: slog.New(slog.NewTextHandler(log, nil))}
				remove := func(key string) (time.Duration, error) {
					ctx, cancel := context.WithTimeout(t.Context(), lastingBound)
					defer cancel()
					begin := time.Now()
					err := w.Remove(ctx, key, store.Fence{})
					return time.Since(begin), err
				}
				if took, err := remove("ada/quick"); err != nil || took > othersBound+removal.Grace || len(quick.removed()) != 1 {
					t.Errorf("the other's conversation: %v after %v, removed %q", err, took, quick.removed())
				}
				if took, err := remove("ada/stuck"); err == nil || took > lastingBound+removal.Grace {
					t.Errorf("its own conversation: %v after %v", err, took)
				}
				if err := recordio.Drop(t.Context(), w.notes.records, w.notes.at("ada/quick")); err != nil { // its deletion is over
					t.Fatal(err)
				}
				w.clearAll(t.Context(), j)
				if text := log.String(); !strings.Contains(text, "could not be removed yet") || !strings.Contains(text, "conversation=ada/quick") {
					t.Errorf("the log says %q", text)
				}
				if stuck.tried() > 4 {
					t.Errorf("%d removals were begun", stuck.tried())
				}
				close(stuck.free)
				<-time.After(leftBound + leftAgain) // the attempt that hung is over
				w.clearAll(t.Context(), j)
				if text := log.String(); !strings.Contains(text, "is removed now") {
					t.Errorf("the log says %q", text)
				}
				if _, _, err := recordio.Get[leftFolder](t.Context(), w.left.records, w.left.at("ada/quick", thisHost())); !errors.Is(err, store.ErrNotFound) {
					t.Errorf("it is still to be removed: %v", err)
				}
				if _, err := remove("ada/stuck"); err != nil {
					t.Errorf("its own conversation, again: %v", err)
				}
			})
		})
	}
}

// A conversation that begins again under the name of a deleted one does not get its folder.
func TestFolderIsClearedBeforeItOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, stuck, _ := stuckRig(t, false)
		if err := w.left.add(t.Context(), "ada/stuck", store.Fence{}); err != nil {
			t.Fatal(err)
		}
		if d, err := w.Open(t.Context(), "ada/stuck"); err == nil || d != nil {
			t.Errorf("opened %v, %v", d, err)
		}
		w.clearOne(t.Context(), &journal{logger: slog.New(slog.DiscardHandler)}, "ada/stuck") // leaves it to the conversation
		close(stuck.free)
		if d, err := w.Open(t.Context(), "ada/stuck"); err != nil || len(stuck.removed()) != 1 {
			t.Errorf("opened %v, %v, removed %q", d, err, stuck.removed())
		}
		if _, err := w.Open(t.Context(), "ada/stuck"); err != nil || len(stuck.removed()) != 1 {
			t.Errorf("the second time: %v, removed %q", err, stuck.removed())
		}
	})
}

// While one process removes what is left, no other opens the folder.
func TestOneClearsAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, quick := stuckRig(t, false)
		err := w.left.add(t.Context(), "ada/quick", store.Fence{})
		f, missing := w.left.get(t.Context(), "ada/quick", thisHost())
		if err = errors.Join(err, missing); err == nil {
			err = w.left.claim(t.Context(), &f)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Open(t.Context(), "ada/quick"); !errors.Is(err, store.ErrConflict) || len(quick.removed()) != 0 {
			t.Errorf("while another clears: %v, removed %q", err, quick.removed())
		}
	})
}

// savedRig is two machines whose presets save folders in one store. A deletion has left a
// folder with a file on the first.
func savedRig(t *testing.T) (a, b *workspaces, db *store.MemoryStore) {
	db = store.Memory()
	blobs := workspace.FileBlobs(t.TempDir())
	machine := func(host string) *workspaces {
		s, err := workspace.NewSnapshots(workspace.SnapshotOptions{Root: t.TempDir(), Records: db, Blobs: blobs, Project: "p"})
		if err != nil {
			t.Fatal(err)
		}
		w := newWorkspaces(db, "p", []Preset{{Name: "saved", Roots: []string{t.TempDir()}, Workspace: s}}, nil)
		w.left.host = host
		return w
	}
	a, b = machine("a"), machine("b")
	if err := a.notes.create(t.Context(), &note{Key: "ada/k", Preset: "saved"}); err != nil {
		t.Fatal(err)
	}
	l := saveIn(t, a, db, "old")
	if err := errors.Join(a.left.add(t.Context(), "ada/k", l.Fence), db.Release(t.Context(), l)); err != nil {
		t.Fatal(err)
	}
	return a, b, db
}

// saveIn opens the folder of a conversation with a lease, which it returns, and saves it with
// a new file.
func saveIn(t *testing.T, w *workspaces, db store.Fleet, file string) store.Lease {
	t.Helper()
	l, err := db.Acquire(t.Context(), "p", "fleet/t/ada/k", "here", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	d, err := w.Open(t.Context(), "ada/k")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(d.Path(), file), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(d.Save(t.Context(), l.Fence), d.Close()); err != nil {
		t.Fatal(err)
	}
	return l
}

// filesIn opens the folder of a conversation and returns the names of its files.
func filesIn(t *testing.T, w *workspaces) (names []string) {
	t.Helper()
	d, err := w.Open(t.Context(), "ada/k")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	entries, err := os.ReadDir(d.Path())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// A conversation that begins again finds nothing of its predecessor, on whichever machine
// that was deleted, and keeps what it has saved when it comes to that machine later.
func TestClearingKeepsWhatIsNew(t *testing.T) {
	for _, elsewhere := range []bool{false, true} {
		a, b, db := savedRig(t)
		first := a
		if elsewhere {
			first = b
		}
		if got := filesIn(t, first); len(got) != 0 {
			t.Errorf("elsewhere %v: it begins with %q", elsewhere, got)
		}
		l := saveIn(t, first, db, "new")
		for _, w := range []*workspaces{a, b, a} {
			if got := filesIn(t, w); !slices.Equal(got, []string{"new"}) {
				t.Errorf("elsewhere %v: on machine %s it has %q", elsewhere, w.left.host, got)
			}
		}
		if err := db.Release(t.Context(), l); err != nil {
			t.Fatal(err)
		}
	}
}

// What a deleted conversation has saved is removed late, although its lease was given back
// long ago. If one with its name has begun, that one removes it.
func TestClearingWhenNothingBegins(t *testing.T) {
	a, b, _ := savedRig(t)
	j := &journal{logger: slog.New(slog.DiscardHandler)}
	left := func() bool {
		_, err := a.left.get(t.Context(), "ada/k", "a")
		return err == nil
	}
	a.clearOne(t.Context(), j, "ada/k")
	if f, err := a.left.get(t.Context(), "ada/k", "a"); err != nil || !f.Until.IsZero() {
		t.Errorf("while there is a conversation: %+v, %v", f, err)
	}
	at := a.notes.at("ada/k")
	if err := recordio.Drop(t.Context(), a.notes.records, at); err != nil {
		t.Fatal(err)
	}
	b.clearOne(t.Context(), j, "ada/k")
	if !left() {
		t.Error("another machine has dropped the record")
	}
	a.clearOne(t.Context(), j, "ada/k")
	if left() {
		t.Error("it is still to be removed")
	}
	if err := a.notes.create(t.Context(), &note{Key: "ada/k", Preset: "saved"}); err != nil {
		t.Fatal(err)
	}
	if got := filesIn(t, b); len(got) != 0 {
		t.Errorf("it has still %q", got)
	}
}

// A deletion after a conversation has begun again makes all that is left its own.
func TestClearingAfterASecondDeletion(t *testing.T) {
	a, b, db := savedRig(t)
	l := saveIn(t, b, db, "new")
	if err := errors.Join(a.left.add(t.Context(), "ada/k", l.Fence), db.Release(t.Context(), l)); err != nil {
		t.Fatal(err)
	}
	if got := filesIn(t, a); len(got) != 0 {
		t.Errorf("it begins with %q", got)
	}
}

// An attempt whose time is over lets the next one begin at once.
func TestClearingIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, stuck, _ := stuckRig(t, false)
		if err := w.left.add(t.Context(), "ada/stuck", store.Fence{}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := w.Open(ctx, "ada/stuck"); err == nil {
			t.Error("it opened")
		}
		close(stuck.free)
		if _, err := w.Open(t.Context(), "ada/stuck"); err != nil {
			t.Error(err)
		}
	})
}

// A deletion for another process has only a few seconds, and is not held up either.
func TestOtherProviderHangsBriefly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, stuck, _ := stuckRig(t, true)
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		if err := w.Remove(ctx, "ada/quick", store.Fence{}); err != nil {
			t.Error(err)
		}
		close(stuck.free)
	})
}
