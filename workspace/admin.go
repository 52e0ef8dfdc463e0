package workspace

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// admin returns the folder in which git keeps what belongs to a worktree: its HEAD and its
// index. The repository knows. The .git file in the worktree names it too, but
// Claude may have written that. Without one, the error matches [fs.ErrNotExist].
func (w *Worktrees) admin(path string) (string, error) {
	found, err := w.admins(filepath.Dir(path), func(name string) bool { return name == filepath.Base(path) })
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("%s has no worktree %s: %w", w.common, path, fs.ErrNotExist)
	}
	if err != nil {
		return "", err
	}
	return found[0], nil
}

// admins returns these folders of the worktrees below a root whose names fit.
func (w *Worktrees) admins(root string, fits func(name string) bool) (found []string, err error) {
	roots := []string{root}
	if real, err := filepath.EvalSymlinks(root); err == nil {
		roots = append(roots, real)
	}
	all := filepath.Join(w.common, "worktrees")
	entries, err := os.ReadDir(all)
	if err != nil {
		return nil, err
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
		if at, file := filepath.Split(leads); file == gitDir {
			if at = filepath.Clean(at); slices.Contains(roots, filepath.Dir(at)) && fits(filepath.Base(at)) {
				found = append(found, admin)
			}
		}
	}
	return found, nil
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
