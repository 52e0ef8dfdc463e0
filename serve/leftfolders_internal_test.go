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
				remove := func(key string) (error, time.Duration) {
					ctx, cancel := context.WithTimeout(t.Context(), lastingBound)
					defer cancel()
					begin := time.Now()
					return w.Remove(ctx, key, store.Fence{}), time.Since(begin)
				}
				if err, took := remove("ada/quick"); err != nil || took > othersBound+removal.Grace || len(quick.removed()) != 1 {
					t.Errorf("the other's conversation: %v after %v, removed %q", err, took, quick.removed())
				}
				if err, took := remove("ada/stuck"); err == nil || took > lastingBound+removal.Grace {
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
				if _, _, err := recordio.Get[leftFolder](t.Context(), w.left.records, w.left.at("ada/quick")); !errors.Is(err, store.ErrNotFound) {
					t.Errorf("it is still to be removed: %v", err)
				}
				if err, _ := remove("ada/stuck"); err != nil {
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
		if err == nil {
			_, err = w.left.claim(t.Context(), "ada/quick")
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Open(t.Context(), "ada/quick"); !errors.Is(err, store.ErrConflict) || len(quick.removed()) != 0 {
			t.Errorf("while another clears: %v, removed %q", err, quick.removed())
		}
	})
}

// What another machine has saved for a conversation that has begun again stays, although a
// folder of its predecessor is left here.
func TestClearingKeepsWhatIsNew(t *testing.T) {
	db := store.Memory()
	blobs := workspace.FileBlobs(t.TempDir())
	machine := func() *workspace.Snapshots {
		s, err := workspace.NewSnapshots(workspace.SnapshotOptions{Root: t.TempDir(), Records: db, Blobs: blobs, Project: "p"})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	saved, elsewhere := machine(), machine()
	w := newWorkspaces(db, "p", []Preset{{Name: "saved", Roots: []string{t.TempDir()}, Workspace: saved}}, nil)
	if err := w.notes.create(t.Context(), &note{Key: "ada/k", Preset: "saved"}); err != nil {
		t.Fatal(err)
	}
	lease := func() store.Lease {
		l, err := db.Acquire(t.Context(), "p", "fleet/t/ada/k", "here", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	old := lease()
	if err := errors.Join(w.left.add(t.Context(), "ada/k", old.Fence), db.Release(t.Context(), old)); err != nil {
		t.Fatal(err)
	}
	d, err := elsewhere.Open(t.Context(), "ada/k")
	if err == nil {
		err = os.WriteFile(filepath.Join(d.Path(), "new"), []byte("kept"), 0o600)
	}
	if err == nil {
		err = errors.Join(d.Save(t.Context(), lease().Fence), d.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	if d, err = w.Open(t.Context(), "ada/k"); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(d.Path(), "new")); string(text) != "kept" {
		t.Errorf("the folder has %q, %v", text, err)
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
