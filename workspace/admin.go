package workspace

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// admin returns the folder in which git keeps what belongs to a worktree: its HEAD and its
// index. The repository knows. The .git file in the worktree names it too, but
// Claude may have written that. Without one, the error matches [fs.ErrNotExist].
func (w *Worktrees) admin(path string) (string, error) {
	wanted := map[string]bool{filepath.Join(path, ".git"): true}
	if root, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		wanted[filepath.Join(root, filepath.Base(path), ".git")] = true
	}
	all := filepath.Join(w.common, "worktrees")
	entries, err := os.ReadDir(all)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		admin := filepath.Join(all, e.Name())
		text, err := os.ReadFile(filepath.Join(admin, "gitdir"))
		if err != nil {
			continue // being made or removed
		}
		leads := filepath.FromSlash(strings.TrimRight(string(text), "\r\n"))
		if !filepath.IsAbs(leads) {
			leads = filepath.Join(admin, leads)
		}
		if wanted[filepath.Clean(leads)] {
			return admin, nil
		}
	}
	return "", fmt.Errorf("%s has no worktree %s: %w", w.common, path, fs.ErrNotExist)
}

// inside returns the environment for a git that works in a worktree, and looks for nothing
// there that tells it what to do.
func (w *Worktrees) inside(path string) ([]string, error) {
	info, err := os.Lstat(path)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", path)
	}
	if err != nil {
		return nil, err
	}
	admin, err := w.admin(path)
	if err != nil {
		return nil, err
	}
	return []string{"GIT_DIR=" + admin, "GIT_COMMON_DIR=" + w.common, "GIT_WORK_TREE=" + path}, nil
}
