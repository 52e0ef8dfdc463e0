package workspace

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// WorktreeOptions says of which repository worktrees are, and where they go. Repo and
// Root are needed.
type WorktreeOptions struct {
	// Repo is the repository, bare or with files. It is only read, and gets branches.
	Repo string
	// Root is where the worktrees are. It must not be inside Repo.
	Root string
	// Base is the commit on which new branches begin. Empty: HEAD of Repo.
	Base string
	// Prefix begins the names of branches: "claude/".
	Prefix string
	// KeepBranches lets Remove keep the branch of a conversation, as its result.
	KeepBranches bool
	// Timeout limits each call of git: 2 minutes.
	Timeout time.Duration
}

// Worktrees is a [Provider] of git worktrees, one for each conversation, on a branch of
// its own. Changes that Claude does not commit stay in the worktree. Worktrees stay on
// this machine. It may be used from several goroutines at once; git locks the
// repository.
type Worktrees struct{ o WorktreeOptions }

// ErrBranchExists means that the branch of a conversation is there without its worktree:
// it belongs to someone else, or is the result of an earlier conversation.
var ErrBranchExists = errors.New("the branch exists already")

// NewWorktrees returns a provider, or an error if git is missing, Repo is not a
// repository, or Base is not a commit of it.
func NewWorktrees(ctx context.Context, o WorktreeOptions) (*Worktrees, error) {
	bad := func(field string, err error) error {
		return fmt.Errorf("claude: workspace: WorktreeOptions.%s: %w", field, err)
	}
	var err error
	switch {
	case o.Repo == "":
		return nil, bad("Repo", errors.New("is missing"))
	case o.Root == "":
		return nil, bad("Root", errors.New("is missing"))
	}
	if o.Repo, err = filepath.Abs(o.Repo); err != nil {
		return nil, bad("Repo", err)
	}
	if o.Root, err = filepath.Abs(o.Root); err != nil {
		return nil, bad("Root", err)
	}
	if rel, err := filepath.Rel(o.Repo, o.Root); err == nil && filepath.IsLocal(rel) {
		return nil, bad("Root", errors.New("it is inside of the repository"))
	}
	o.Base, o.Prefix = cmp.Or(o.Base, "HEAD"), cmp.Or(o.Prefix, "claude/")
	o.Timeout = cmp.Or(o.Timeout, 2*time.Minute)
	w := &Worktrees{o}
	if _, err := w.git(ctx, o.Repo, "rev-parse", "--git-dir"); err != nil {
		return nil, bad("Repo", err)
	}
	if _, err := w.git(ctx, o.Repo, "check-ref-format", "refs/heads/"+w.Branch("x")); err != nil {
		return nil, bad("Prefix", fmt.Errorf("%q does not begin a branch", o.Prefix))
	}
	if _, err := w.commit(ctx); err != nil {
		return nil, bad("Base", err)
	}
	return w, nil
}

// Branch returns the name of the branch of a conversation.
func (w *Worktrees) Branch(key string) string { return w.o.Prefix + nameOf(key) }

func (w *Worktrees) path(key string) string { return filepath.Join(w.o.Root, nameOf(key)) }

func (w *Worktrees) commit(ctx context.Context) (string, error) {
	return w.git(ctx, w.o.Repo, "rev-parse", "--verify", "--quiet", "--end-of-options", w.o.Base+"^{commit}")
}

// Open implements [Provider]. A worktree that is there is opened as it is; otherwise one
// is made on a new branch at Base. Changes in the repository's own files that are not
// committed do not matter: a worktree has what is committed. If the branch exists without
// the worktree, the error matches [ErrBranchExists].
func (w *Worktrees) Open(ctx context.Context, key string) (Workdir, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	path, branch := w.path(key), w.Branch(key)
	d := &WorktreeDir{plainDir: plainDir(path), w: w, branch: branch}
	if _, err := os.Lstat(path); err == nil {
		top, err := w.git(ctx, path, "rev-parse", "--show-toplevel")
		if real, _ := filepath.EvalSymlinks(path); err != nil || filepath.FromSlash(top) != real {
			return nil, fmt.Errorf("claude: workspace: %s is there and is not a worktree: %w", path, fs.ErrExist)
		}
		d.base, err = w.git(ctx, path, "config", "--get", w.baseName(branch))
		if err != nil {
			return nil, fmt.Errorf("claude: workspace: worktree of %q: the commit that it began with is not known: %w", key, err)
		}
		return d, nil
	}
	if err := os.MkdirAll(w.o.Root, 0o700); err != nil {
		return nil, fmt.Errorf("claude: workspace: %w", err)
	}
	base, err := w.commit(ctx)
	if err != nil {
		return nil, fmt.Errorf("claude: workspace: %w", err)
	}
	if _, err := w.git(ctx, w.o.Repo, "rev-parse", "--verify", "--quiet", "refs/heads/"+branch); err == nil {
		return nil, fmt.Errorf("claude: workspace: conversation %q: %s: %w", key, branch, ErrBranchExists)
	}
	d.base = base
	_, err = w.git(ctx, w.o.Repo, "config", w.baseName(branch), base)
	if err == nil {
		_, err = w.git(ctx, w.o.Repo, "worktree", "add", "--quiet", "-b", branch, path, base)
	}
	if err != nil {
		w.undo(key)
		return nil, fmt.Errorf("claude: workspace: conversation %q: %w", key, err)
	}
	return d, nil
}

// baseName is the setting of the repository that has the commit at which a branch began.
func (w *Worktrees) baseName(branch string) string { return "branch." + branch + ".claudeBase" }

// undo takes back what a failed Open may have done.
func (w *Worktrees) undo(key string) {
	ctx, cancel := context.WithTimeout(context.Background(), w.o.Timeout)
	defer cancel()
	_ = w.drop(ctx, key, false)
}

// Remove implements [Provider]: worktree and branch go, even with changes, unless
// KeepBranches is set. Take the patch before.
func (w *Worktrees) Remove(ctx context.Context, key string, _ store.Fence) error {
	if err := checkKey(key); err != nil {
		return err
	}
	if err := w.drop(ctx, key, w.o.KeepBranches); err != nil {
		return fmt.Errorf("claude: workspace: remove %q: %w", key, err)
	}
	return nil
}

func (w *Worktrees) drop(ctx context.Context, key string, keep bool) error {
	path, branch := w.path(key), w.Branch(key)
	if err := removeAll(path); err != nil {
		return err
	}
	if _, err := w.git(ctx, w.o.Repo, "worktree", "prune"); err != nil {
		return err
	}
	if keep {
		return nil
	}
	if _, err := w.git(ctx, w.o.Repo, "rev-parse", "--verify", "--quiet", "refs/heads/"+branch); err == nil {
		if _, err := w.git(ctx, w.o.Repo, "branch", "-D", "--quiet", "--end-of-options", branch); err != nil {
			return err
		}
	}
	_, _ = w.git(ctx, w.o.Repo, "config", "--unset-all", w.baseName(branch)) // git drops it with the branch
	return nil
}

// WorktreeDir is the open worktree of a conversation. Its methods are called by one
// goroutine at a time.
type WorktreeDir struct {
	plainDir
	w      *Worktrees
	branch string
	base   string
}

// Branch is the branch of the conversation.
func (d *WorktreeDir) Branch() string { return d.branch }

// Base is the commit at which the branch began.
func (d *WorktreeDir) Base() string { return d.base }

// Patch returns all changes since Base, committed or not, new files included, in the
// form of git diff --binary. It changes neither the branch nor the index. Files that git
// ignores are not in it.
func (d *WorktreeDir) Patch(ctx context.Context) ([]byte, error) {
	temp, err := os.MkdirTemp("", "claude-patch-")
	if err != nil {
		return nil, fmt.Errorf("claude: workspace: patch: %w", err)
	}
	defer os.RemoveAll(temp)
	own := "GIT_INDEX_FILE=" + filepath.Join(temp, "index")
	for _, args := range [][]string{{"read-tree", "HEAD"}, {"add", "--all", "."}} {
		if _, err := d.w.gitWith(ctx, string(d.plainDir), []string{own}, args...); err != nil {
			return nil, fmt.Errorf("claude: workspace: patch: %w", err)
		}
	}
	patch, err := d.w.gitWith(ctx, string(d.plainDir), []string{own}, "diff", "--cached", "--binary", "--no-ext-diff", "--no-textconv", "--no-color", "--end-of-options", d.base)
	if err != nil {
		return nil, fmt.Errorf("claude: workspace: patch: %w", err)
	}
	return patch, nil
}

// git runs git and returns what it prints, without the last line's end.
func (w *Worktrees) git(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := w.gitWith(ctx, dir, nil, args...)
	return strings.TrimSpace(string(out)), err
}

// gitWith runs git in a folder that others may have filled: no hook, no monitor and no
// filter of a configuration there is to run as this process. Filters that the repository
// itself defines do run.
func (w *Worktrees) gitWith(ctx context.Context, dir string, env []string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, w.o.Timeout)
	defer cancel()
	safe := []string{"-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false", "-c", "advice.detachedHead=false", "-c", "gc.auto=0",
		"-c", "checkout.workers=0", "-c", "checkout.thresholdForParallelism=500"} // as many as there are cores, where it pays
	cmd := exec.CommandContext(ctx, "git", append(safe, args...)...)
	cmd.Dir, cmd.WaitDelay = dir, 5*time.Second
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "GIT_") { // of a git that started this process
			cmd.Env = append(cmd.Env, entry)
		}
	}
	cmd.Env = append(append(cmd.Env, "GIT_TERMINAL_PROMPT=0", "LC_ALL=C"), env...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		text := strings.TrimSpace(said.String())
		if len(text) > 500 {
			text = text[:500]
		}
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, text)
	}
	return out.Bytes(), nil
}
