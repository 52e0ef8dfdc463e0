package workspace

import (
	"context"
	"os"
	"path/filepath"
	"strings"
)

// gitlink is an entry of an index that stands for a repository in a folder.
type gitlink struct{ commit, path string }

// parseGitlinks reads the output of git ls-files --stage -z.
func parseGitlinks(out string) (links []gitlink) {
	for line := range strings.SplitSeq(out, "\x00") {
		about, path, _ := strings.Cut(line, "\t")
		if f := strings.Fields(about); len(f) == 3 && f[0] == "160000" {
			links = append(links, gitlink{f[1], path})
		}
	}
	return links
}

// addAll fills an index, which env names, with HEAD and then with the files of a worktree.
//
// Where the index has a repository in a folder, git add would start a git there to see what
// has changed, with the configuration of that repository: Claude may have written it, with
// commands. So git add finds none: those that are still there are new to it, and it only
// looks which commit they have.
func (w *Worktrees) addAll(ctx context.Context, dir string, env []string) error {
	run := func(args ...string) (string, error) {
		out, err := w.gitWith(ctx, dir, env, args...)
		return string(out), err
	}
	if _, err := run("read-tree", "HEAD"); err != nil {
		return err
	}
	all, err := run("ls-files", "--stage", "-z")
	if err != nil {
		return err
	}
	links := parseGitlinks(all)
	if len(links) > 0 {
		args := []string{"update-index", "--force-remove", "--"}
		for _, l := range links {
			args = append(args, l.path)
		}
		if _, err := run(args...); err != nil {
			return err
		}
	}
	if _, err := run("add", "--all", "."); err != nil {
		return err
	}
	// A submodule that was never fetched is an empty folder, which git add leaves out.
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, l := range links {
		if !emptyFolder(root, l.path) {
			continue
		}
		if _, err := run("update-index", "--add", "--cacheinfo", "160000,"+l.commit+","+l.path); err != nil {
			return err
		}
	}
	return nil
}

// emptyFolder reports whether there is a folder without anything in it.
func emptyFolder(root *os.Root, path string) bool {
	f, err := root.Open(filepath.FromSlash(path))
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.IsDir() {
		return false
	}
	names, _ := f.Readdirnames(1)
	return len(names) == 0
}
