package workspace

import (
	"context"
	"errors"
	"fmt"
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

// parseTreeLinks reads the output of git ls-tree -r -z, and returns the commits of such
// entries by their paths.
func parseTreeLinks(out string) map[string]string {
	commits := make(map[string]string)
	for line := range strings.SplitSeq(out, "\x00") {
		about, path, _ := strings.Cut(line, "\t")
		if f := strings.Fields(about); len(f) == 3 && f[0] == "160000" {
			commits[path] = f[2]
		}
	}
	return commits
}

// gatherer fills indexes with the files of a worktree.
type gatherer struct {
	w    *Worktrees
	base string   // the commit at which the branch began
	env  []string // of a git in the worktree
	temp string   // a folder for indexes
	left int      // how many more repositories in folders may be looked at
}

// maxNested is how many repositories in folders a patch may have: each costs some
// processes.
const maxNested = 100

var errTooManyNested = fmt.Errorf("it has more than %d git repositories in folders", maxNested)

// in runs git on an index, with a folder as its worktree.
func (g *gatherer) in(ctx context.Context, dir, index string, feed string, args ...string) (string, error) {
	env := append(g.env[:len(g.env):len(g.env)], "GIT_WORK_TREE="+dir, "GIT_INDEX_FILE="+filepath.Join(g.temp, index))
	out, err := g.w.gitFed(ctx, dir, env, strings.NewReader(feed), args...)
	return string(out), err
}

// all fills an index with HEAD and then with the files of the worktree.
//
// Where the index has a repository in a folder, git add would start a git there to see what
// has changed, with the configuration of that repository: Claude may have written it, with
// commands. So git add finds none: those that are still there are new to it, and it only
// looks which commit they have. Of a repository that the base does not have it learns
// nothing: its files are added as those of any folder.
func (g *gatherer) all(ctx context.Context, dir, index string) error {
	run := func(args ...string) (string, error) { return g.in(ctx, dir, index, "", args...) }
	if _, err := run("read-tree", "HEAD"); err != nil {
		return err
	}
	staged, err := run("ls-files", "--stage", "-z")
	if err != nil {
		return err
	}
	links := parseGitlinks(staged)
	modules := make(map[string]bool) // those that stay links
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if len(links) > 0 {
		args := []string{"update-index", "--force-remove", "--"}
		for _, l := range links {
			args = append(args, l.path)
		}
		if _, err := run(args...); err != nil {
			return err
		}
		tree, err := run("ls-tree", "-r", "-z", "--full-tree", g.base)
		if err != nil {
			return err
		}
		for path, commit := range parseTreeLinks(tree) {
			if modules[path], err = g.module(ctx, root, path, commit); err != nil {
				return err
			}
		}
	}
	if err := g.add(ctx, dir, index, modules); err != nil {
		return err
	}
	// A submodule that was never fetched is an empty folder, which git add leaves out.
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

// module reports whether a folder still has the submodule that the base has there, with a
// commit of it. One that has become another repository, such as by git init, does not: its
// commits mean nothing elsewhere.
func (g *gatherer) module(ctx context.Context, root *os.Root, path, commit string) (bool, error) {
	inside, err := root.Lstat(filepath.FromSlash(path) + "/.git")
	if err != nil {
		return false, nil // a folder of files, or nothing
	}
	if g.left--; g.left < 0 {
		return false, errTooManyNested
	}
	dir := root.Name()
	// This git finds the commit without the configuration of the folder's repository.
	if _, err := g.in(ctx, dir, "probe", "", "update-index", "--add", "--", path); err != nil {
		return false, ctx.Err() // it has none
	}
	if !inside.IsDir() {
		return true, nil // a file, as git writes it for a submodule
	}
	objects := filepath.Join(dir, filepath.FromSlash(path), ".git", "objects")
	env := append(g.env[:len(g.env):len(g.env)], "GIT_OBJECT_DIRECTORY="+objects, "GIT_ALTERNATE_OBJECT_DIRECTORIES=", "GIT_NO_LAZY_FETCH=1")
	_, err = g.w.gitWith(ctx, dir, env, "cat-file", "-e", commit+"^{commit}")
	return err == nil, ctx.Err()
}

// add adds the files of a folder to an index, and those of the repositories in it that are
// not submodules.
func (g *gatherer) add(ctx context.Context, dir, index string, modules map[string]bool) error {
	others, err := g.in(ctx, dir, index, "", "ls-files", "--others", "--exclude-standard", "-z")
	if err != nil {
		return err
	}
	var nested []string
	for name := range strings.SplitSeq(others, "\x00") {
		if path, folder := strings.CutSuffix(name, "/"); folder && !modules[path] { // git does not look into it
			nested = append(nested, path)
		}
	}
	if g.left -= len(nested); g.left < 0 {
		return errTooManyNested
	}
	what := ".\x00"
	for _, path := range nested {
		what += ":(exclude,literal)" + path + "\x00"
	}
	if _, err := g.in(ctx, dir, index, what, "add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul"); err != nil {
		return err
	}
	for i, path := range nested {
		inner, own := filepath.Join(dir, filepath.FromSlash(path)), fmt.Sprintf("%s.%d", index, i)
		err := stays(dir, path)
		if err == nil {
			err = g.add(ctx, inner, own, nil)
		}
		if err == nil {
			err = stays(dir, path)
		}
		tree := ""
		if err == nil {
			tree, err = g.in(ctx, inner, own, "", "write-tree")
		}
		if err == nil {
			_, err = g.in(ctx, dir, index, "", "read-tree", "--prefix="+path+"/", strings.TrimSpace(tree))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// stays returns an error if a path in a folder has become a link, which git would follow out
// of the worktree. Claude may work in it meanwhile.
func stays(dir, path string) error {
	base, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	now, err := filepath.EvalSymlinks(filepath.Join(dir, filepath.FromSlash(path)))
	if err != nil {
		return err
	}
	if now != filepath.Join(base, filepath.FromSlash(path)) {
		return errors.New("a link has taken its place")
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
