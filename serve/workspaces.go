package serve

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/claude-agent-go/claude/internal/removal"
	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/workspace"
)

// Workspaces returns the provider for [fleet.Options] that gives each conversation the
// folder of its preset: one of its own by Preset.Workspace, or else the directory in which
// it was begun. Pass the records and the project of the server's options. Conversations
// that were not begun through a server get theirs from other; if that is nil, they cannot
// wake. It returns nil if neither a preset nor other gives folders: the fleet then needs
// no provider.
//
// A deletion asks all providers at once, because the presets may have changed since the
// conversation began. It waits for the one that the conversation has now; what another has
// not removed within seconds, a [Server] with the same presets on this machine tries again
// each minute, and says so in its log.
//
// What it returns may be used from several goroutines at once, and lasts as long as the
// providers of the presets.
func Workspaces(r store.Records, project string, presets []Preset, other workspace.Provider) (workspace.Provider, error) {
	if err := checkPresets(presets); err != nil {
		return nil, err
	}
	w := newWorkspaces(r, project, presets, other)
	if len(w.all) == 0 && other == nil {
		return nil, nil
	}
	return w, nil
}

// newWorkspaces makes the provider of all presets, which must be valid.
func newWorkspaces(r store.Records, project string, presets []Preset, other workspace.Provider) *workspaces {
	w := &workspaces{notes: noteStore{r, project}, left: leftFolders{r, project, thisHost()}, presets: slices.Clone(presets), other: other}
	for i := range presets {
		w.keep(presets[i].Workspace)
	}
	return w
}

type workspaces struct {
	notes   noteStore
	left    leftFolders
	presets []Preset
	other   workspace.Provider
	all     []workspace.Provider // those of the presets, each once
	removes removal.Running
}

// keep adds a provider, unless it is there: presets may share one.
func (w *workspaces) keep(p workspace.Provider) {
	if p != nil && !slices.ContainsFunc(w.all, func(kept workspace.Provider) bool { return same(kept, p) }) {
		w.all = append(w.all, p)
	}
}

// same reports whether two providers are one.
func same(a, b workspace.Provider) bool {
	return a != nil && b != nil && reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}

// Open implements [workspace.Provider].
func (w *workspaces) Open(ctx context.Context, key string) (workspace.Workdir, error) {
	if err := w.cleared(ctx, key); err != nil {
		return nil, err
	}
	_, p, dir, err := w.notes.begun(ctx, w.presets, key)
	switch {
	case errors.Is(err, store.ErrNotFound) && w.other != nil:
		return w.other.Open(ctx, key)
	case err != nil:
		return nil, err
	case p.Workspace != nil:
		return p.Workspace.Open(ctx, key)
	}
	return sharedDir(dir), nil
}

// Remove implements [workspace.Provider]. The conversation may be gone already, and with it
// the name of its preset, so every provider removes what it has.
func (w *workspaces) Remove(ctx context.Context, key string, fence store.Fence) error {
	own, err := w.own(ctx, key)
	if err != nil {
		return err
	}
	wait := othersBound
	if end, ok := ctx.Deadline(); ok { // a deletion for another process has only seconds
		wait = min(wait, time.Until(end)/2)
	}
	brief, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	others := make(chan error, 1)
	go func() { others <- w.removeAll(brief, key, fence, own, false) }()
	if own != nil {
		err = w.removes.Remove(ctx, own, key, fence)
	}
	left := <-others
	switch {
	case err != nil:
		return errors.Join(err, left) // the next attempt asks all of them again
	case left != nil:
		return w.left.add(ctx, key, fence)
	}
	return w.left.settle(ctx, key)
}

// own returns the provider that a conversation has now, nil if none.
func (w *workspaces) own(ctx context.Context, key string) (workspace.Provider, error) {
	n, _, err := w.notes.loadAny(ctx, key)
	if errors.Is(err, store.ErrNotFound) || err == nil && n.Preset == "" {
		return w.other, nil
	}
	if p := find(w.presets, n.Preset); p != nil {
		return p.Workspace, err
	}
	return nil, err
}

// removeAll lets all providers of presets but one remove their folders of a conversation, at
// once. The one for other conversations has nothing of this one, unless a preset has it too.
// If it is late, the conversation may have begun again: a provider whose fence says so has
// nothing to remove.
func (w *workspaces) removeAll(ctx context.Context, key string, fence store.Fence, but workspace.Provider, late bool) error {
	errs := make(chan error)
	asked := 0
	for _, p := range w.all {
		if !same(p, but) {
			asked++
			go func() {
				err := w.removes.Remove(ctx, p, key, fence)
				if late && errors.Is(err, store.ErrLeaseLost) {
					err = nil
				}
				errs <- err
			}()
		}
	}
	var all error
	for range asked {
		all = errors.Join(all, <-errs)
	}
	return all
}

// sharedDir is a directory that belongs to no conversation: it is not saved and not removed.
type sharedDir string

func (d sharedDir) Path() string                                  { return string(d) }
func (d sharedDir) Save(ctx context.Context, _ store.Fence) error { return ctx.Err() }
func (d sharedDir) Close() error                                  { return nil }
