package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/workspace"
)

// serveWorkspace are the flags that give the conversations of a server folders of their own.
type serveWorkspace struct {
	Workspace    string `enum:",folders,worktrees,snapshots" default:"" placeholder:"KIND" help:"Give each conversation a folder of its own, unless its preset says otherwise: folders, which are empty at first, worktrees of the git repository that it was begun in, or snapshots, which are folders whose state after each turn is kept in the store."`
	WorkspaceDir string `placeholder:"DIR" complete:"dir" help:"Where these folders are on this machine. Default: in the directory of the store."`
}

// The kinds of folders. A preset may also have none, whatever the flag says.
const (
	plainFolders = "folders"
	gitWorktrees = "worktrees"
	savedFolders = "snapshots"
	noFolders    = "none"
)

// sessionFunc makes the options of a conversation.
type sessionFunc = func(ctx context.Context, key string) (*claude.Options, error)

// open gives the presets what their conversations get folders from, and returns all of it
// together: nil if all work where they were begun.
func (s *serveWorkspace) open(ctx context.Context, setup *serveSetup, project string, sessions sessionFunc, logger *slog.Logger) (workspace.Provider, error) {
	if setup.dir == "" {
		if s.Workspace != "" || s.WorkspaceDir != "" {
			return nil, &failure{exitUsage, errors.New("--workspace: the simulated agent of --demo has a folder")}
		}
		return nil, nil
	}
	base, err := filepath.Abs(cmp.Or(s.WorkspaceDir, filepath.Join(setup.dir, workFolder)))
	if err != nil {
		return nil, &failure{exitUsage, fmt.Errorf("--workspace-dir: %w", err)}
	}
	some := false
	for _, kind := range [...]string{plainFolders, gitWorktrees, savedFolders} {
		var of []*serve.Preset
		for i := range setup.presets {
			if setup.kinds[setup.presets[i].Name] == kind {
				of = append(of, &setup.presets[i])
			}
		}
		if len(of) == 0 {
			continue
		}
		opener, err := openKind(ctx, kind, filepath.Join(base, project, kind), setup, project, of, sessions, logger)
		if err != nil {
			return nil, &failure{exitUsage, fmt.Errorf("%s as the workspace: %w", kind, err)}
		}
		own := &ownFolders{opener: opener, paths: setup.folders}
		for _, preset := range of {
			preset.Workspace, some = own, true
		}
	}
	if s.WorkspaceDir != "" && !some {
		return nil, &failure{exitUsage, errors.New(`--workspace-dir needs --workspace, or a preset with "workspace"`)}
	}
	return serve.Workspaces(setup.store, project, setup.presets, nil)
}

// openKind makes the provider of one kind, for the presets that have it.
func openKind(ctx context.Context, kind, root string, setup *serveSetup, project string, of []*serve.Preset, sessions sessionFunc, logger *slog.Logger) (workspace.Provider, error) {
	switch kind {
	case gitWorktrees:
		trees, err := newRootTrees(ctx, of, root, sessions)
		if err != nil {
			return nil, err
		}
		setup.patch = trees.patch
		return trees, nil
	case savedFolders:
		return openSaved(ctx, setup, project, root, logger)
	}
	return workspace.Folders(root), nil
}

// workFolder has the folders, in the directory of the store. A project does not begin with
// a dot.
const workFolder = ".work"

// openFolders are the folders of the conversations that are awake, by their keys.
type openFolders struct{ paths sync.Map }

// of returns the folder of a conversation, "" if it is not awake.
func (o *openFolders) of(key string) string {
	path, _ := o.paths.Load(key)
	text, _ := path.(string)
	return text
}

// ownFolders is a provider that notes which folders are open.
type ownFolders struct {
	opener workspace.Provider
	paths  *openFolders
}

// Open implements [workspace.Provider].
func (f *ownFolders) Open(ctx context.Context, key string) (workspace.Workdir, error) {
	d, err := f.opener.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	f.paths.paths.Store(key, d.Path())
	return &ownFolder{d, f.paths, key}, nil
}

// Remove implements [workspace.Provider].
func (f *ownFolders) Remove(ctx context.Context, key string, fence store.Fence) error {
	return f.opener.Remove(ctx, key, fence)
}

// ownFolder is an open folder that is noted.
type ownFolder struct {
	workspace.Workdir
	open *openFolders
	key  string
}

// Close implements [workspace.Workdir].
func (f *ownFolder) Close() error {
	f.open.paths.Delete(f.key)
	return f.Workdir.Close()
}

// rootTrees gives each conversation a worktree of the repository that it was begun in: the
// root of its preset.
type rootTrees struct {
	sessions sessionFunc
	roots    []serve.Preset // one for each root, only with that
	trees    []*workspace.Worktrees
	patches  chan struct{} // those that are being made
}

const (
	maxPatches = 2                // how many patches are made at once: each reads a whole worktree
	patchBound = 30 * time.Second // how long one may take, with its wait for others
	maxPatch   = 32 << 20         // bytes of one: a slow download keeps it in memory
)

// newRootTrees refuses roots that are not in a repository.
func newRootTrees(ctx context.Context, presets []*serve.Preset, dir string, sessions sessionFunc) (*rootTrees, error) {
	r := &rootTrees{sessions: sessions, patches: make(chan struct{}, maxPatches)}
	seen := make(map[string]bool)
	for i := range presets {
		for _, root := range presets[i].Roots {
			real, err := filepath.EvalSymlinks(root)
			if err != nil || seen[real] {
				if err != nil {
					return nil, fmt.Errorf("preset %q: %w", presets[i].Name, err)
				}
				continue
			}
			seen[real] = true
			sum := sha256.Sum256([]byte(real))
			trees, err := workspace.NewWorktrees(ctx, workspace.WorktreeOptions{Repo: real, Root: filepath.Join(dir, hex.EncodeToString(sum[:8]))})
			if err != nil {
				return nil, fmt.Errorf("preset %q: the root %s: %w", presets[i].Name, root, err)
			}
			r.roots, r.trees = append(r.roots, serve.Preset{Roots: []string{real}}), append(r.trees, trees)
		}
	}
	return r, nil
}

// Open implements [workspace.Provider].
func (r *rootTrees) Open(ctx context.Context, key string) (workspace.Workdir, error) {
	o, err := r.sessions(ctx, key)
	if err != nil {
		return nil, err
	}
	best := -1 // the innermost root counts
	for i := range r.roots {
		if r.roots[i].Contains(o.Cwd) && (best < 0 || len(r.roots[i].Roots[0]) > len(r.roots[best].Roots[0])) {
			best = i
		}
	}
	if best < 0 {
		return nil, fmt.Errorf("%s is in no root of a preset", o.Cwd)
	}
	return r.trees[best].Open(ctx, key)
}

// patch returns the changes in the worktree of a conversation.
func (r *rootTrees) patch(ctx context.Context, key string) (patch []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, patchBound)
	defer cancel()
	select {
	case r.patches <- struct{}{}:
		defer func() { <-r.patches }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	err = fs.ErrNotExist
	for _, trees := range r.trees {
		if patch, err = trees.Patch(ctx, key); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if len(patch) > maxPatch {
		return nil, fmt.Errorf("the patch has more than %d MiB: the branch of the conversation has the changes", maxPatch>>20)
	}
	return patch, err
}

// Remove implements [workspace.Provider]. The conversation may be gone already, and with
// it where it was begun.
func (r *rootTrees) Remove(ctx context.Context, key string, fence store.Fence) error {
	var all error
	for _, trees := range r.trees {
		all = errors.Join(all, trees.Remove(ctx, key, fence))
	}
	return all
}
