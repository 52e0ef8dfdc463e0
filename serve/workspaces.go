package serve

import (
	"context"
	"errors"
	"reflect"
	"slices"

	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/workspace"
)

// Workspaces returns the provider for [fleet.Options] that gives each conversation the
// folder of its preset: one of its own by Preset.Workspace, or else the directory in which
// it was begun. Records and project are those of the server's options. Conversations that
// were not begun through a server get theirs from other; if that is nil, they cannot wake.
// It returns nil if neither a preset nor other gives folders: the fleet then needs no
// provider. What it returns may be used from several goroutines at once, and lasts as long
// as the providers of the presets.
func Workspaces(r store.Records, project string, presets []Preset, other workspace.Provider) (workspace.Provider, error) {
	if err := checkPresets(presets); err != nil {
		return nil, err
	}
	w := &workspaces{notes: noteStore{r, project}, presets: slices.Clone(presets), other: other}
	w.keep(other)
	for i := range presets {
		w.keep(presets[i].Workspace)
	}
	if len(w.all) == 0 {
		return nil, nil
	}
	return w, nil
}

type workspaces struct {
	notes   noteStore
	presets []Preset
	other   workspace.Provider
	all     []workspace.Provider // each once
}

// keep adds a provider, unless it is there: presets may share one.
func (w *workspaces) keep(p workspace.Provider) {
	if p == nil || reflect.ValueOf(p).Comparable() && slices.Contains(w.all, p) {
		return
	}
	w.all = append(w.all, p)
}

// Open implements [workspace.Provider].
func (w *workspaces) Open(ctx context.Context, key string) (workspace.Workdir, error) {
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
	var all error
	for _, p := range w.all {
		all = errors.Join(all, p.Remove(ctx, key, fence))
	}
	return all
}

// sharedDir is a directory that belongs to no conversation: it is not saved and not removed.
type sharedDir string

func (d sharedDir) Path() string                                  { return string(d) }
func (d sharedDir) Save(ctx context.Context, _ store.Fence) error { return ctx.Err() }
func (d sharedDir) Close() error                                  { return nil }
