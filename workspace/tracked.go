package workspace

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
)

// tracked are the paths that git tracks in a worktree: files, with true, and the folders
// above them. A worktree that arrives without one of these files looks as if Claude had
// deleted it, and the next commit of everything deletes it.
type tracked map[string]bool

// tracked asks git for the paths of its index and of the base. A folder that git does not
// know as a worktree has none.
func (d *WorktreeDir) tracked(ctx context.Context) (tracked, error) {
	env, err := d.w.inside(d.Path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out, err := d.w.gitWith(ctx, d.Path(), env, "ls-files", "-z", "--with-tree="+d.base)
	if err != nil {
		return nil, err
	}
	return parseTracked(string(out)), nil
}

// parseTracked reads the output of git ls-files -z. A folder of git is never tracked.
func parseTracked(out string) tracked {
	paths := make(tracked)
	for path := range strings.SplitSeq(out, "\x00") {
		if path == "" || slices.ContainsFunc(strings.Split(path, "/"), func(part string) bool { return strings.EqualFold(part, gitDir) }) {
			continue
		}
		paths[path] = true
		for end := strings.LastIndexByte(path, '/'); end > 0; end = strings.LastIndexByte(path[:end], '/') {
			paths[path[:end]] = false
		}
	}
	return paths
}

// has reports whether git tracks a file, or something in a folder.
func (t tracked) has(path string) bool {
	_, ok := t[path]
	return ok
}

// in returns the tracked files among some paths, and in folders among them, in order.
func (t tracked) in(paths []string) (files []string) {
	for path, file := range t {
		if file && slices.ContainsFunc(paths, func(p string) bool { return path == p || strings.HasPrefix(path, p+"/") }) {
			files = append(files, path)
		}
	}
	slices.Sort(files)
	return files
}

// fillUnread writes files that could not be read when the worktree was saved, as git's index
// has them.
func (d *WorktreeDir) fillUnread(ctx context.Context, fresh string, files []string, by *Snapshots) error {
	if len(files) == 0 {
		return nil
	}
	env, err := d.w.inside(fresh)
	if err != nil {
		return err
	}
	return by.do("write unread files", func() error {
		_, err := d.w.gitFed(ctx, fresh, env, strings.NewReader(strings.Join(files, "\x00")+"\x00"), "checkout-index", "-z", "--stdin")
		if err == nil || ctx.Err() != nil {
			return err
		}
		by.Logger.Warn("files that could not be read when a worktree was saved are missing, and git counts them as deleted", "path", d.Path(), "count", len(files), "files", files[:min(len(files), maxNamed)], "error", err)
		return nil
	})
}
