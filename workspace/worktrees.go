package workspace

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/internal/filelock"
	"github.com/claude-agent-go/claude/internal/private"
	"github.com/claude-agent-go/claude/store"
)

// WorktreeOptions says of which repository worktrees are, and where they go. Repo and
// Root are needed.
type WorktreeOptions struct {
	// Repo is the repository, bare or with files. It is only read, and gets branches.
	Repo string
	// Root is where the worktrees are. It must not be inside Repo. Processes may share it if
	// its file system has locks; on one without them, it must belong to one [Worktrees].
	Root string
	// Base is the commit on which new branches begin. Empty: HEAD of Repo.
	Base string
	// Prefix begins the names of branches: "claude/".
	Prefix string
	// KeepBranches lets Remove keep the branch of a conversation, as its result.
	KeepBranches bool
	// Timeout limits each call of git, but not the transfer of commits as long as git does
	// its part, the wait for another process that opens or removes
	// the same worktree, and the wait for the disk: 2 minutes.
	Timeout time.Duration
	// Logger logs once if the file system has no locks. Nil: slog.Default().
	Logger *slog.Logger
}

// Worktrees is a [Provider] of git worktrees, one for each conversation, on a branch of
// its own. Changes that Claude does not commit stay in the worktree. Worktrees stay on
// this machine, unless [SnapshotOptions].Worktrees makes them travel. It may be used from
// several goroutines at once, and processes may share a Root: while one opens or removes a
// worktree, the others wait, and get [store.ErrBusy] if that takes too long.
//
// Git never looks for its folder from inside a worktree: what Claude writes there, a .git
// file or a repository of its own, configures nothing. Settings of Repo itself hold,
// filters among them: its .git/config must not be writable for Claude.
type Worktrees struct {
	o      WorktreeOptions
	common string // the folder of git that all worktrees share
	// changes is taken while git makes and removes worktrees, after the lock on the mark: git
	// fails where it finds the configuration locked.
	changes turn
	// pause waits before a try that found the configuration locked by another process.
	pause    func(ctx context.Context) error
	maxPatch int // bytes
	alarm    func(time.Duration, func()) alarm
	sync     func(*os.File) error
	syncs    syncs
	// lock locks a mark against other processes. Without such locks, alone does within this one.
	lock    func(context.Context, *os.File) error
	alone   aloneLocks
	isAlone sync.Once
}

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
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	w := &Worktrees{o: o, changes: newTurn(), pause: pauseForLock, maxPatch: 256 << 20, alarm: timeAlarm, sync: (*os.File).Sync, syncs: make(syncs, maxSyncs), lock: filelock.Lock}
	if w.common, err = w.git(ctx, o.Repo, "rev-parse", "--git-common-dir"); err != nil {
		return nil, bad("Repo", err)
	}
	if w.common = filepath.FromSlash(w.common); !filepath.IsAbs(w.common) {
		w.common = filepath.Join(o.Repo, w.common)
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
	d, err := w.openKey(ctx, key)
	if err != nil {
		return nil, err
	}
	return d, nil
}

func (w *Worktrees) openKey(ctx context.Context, key string) (*WorktreeDir, error) {
	d, err := w.open(ctx, w.dir(key))
	if err != nil {
		return nil, fmt.Errorf("claude: workspace: conversation %q: %w", key, named(err))
	}
	return d, nil
}

func (w *Worktrees) open(ctx context.Context, opened *WorktreeDir) (d *WorktreeDir, err error) {
	path, branch := opened.Path(), opened.branch
	m, err := w.hold(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err = firstError(err, m.close()); err != nil {
			d = nil
		}
	}()
	if err := w.takeBack(ctx, m, path, branch); err != nil {
		return nil, err
	}
	d = opened
	if _, err := os.Lstat(path); err == nil {
		if _, err := w.admin(path); err != nil {
			return nil, fmt.Errorf("%s is there and is not a worktree: %w: %w", path, fs.ErrExist, err)
		}
		if d.base, err = w.git(ctx, w.o.Repo, "config", "--get", w.baseName(branch)); err != nil {
			return nil, fmt.Errorf("the commit that the worktree began with is not known: %w", err)
		}
		return d, nil
	}
	if d.base, err = w.commit(ctx); err != nil {
		return nil, err
	}
	return d, w.make(ctx, m, path, branch, d.base)
}

// make makes a worktree on a new branch. It waits for the disk before its turn: a disk that
// hangs must not stop the other worktrees.
func (w *Worktrees) make(ctx context.Context, m *mark, path, branch, base string) error {
	exists, err := w.exists(ctx, branch)
	if err != nil {
		return err
	}
	if exists {
		return fmt.Errorf("%s: %w", branch, ErrBranchExists)
	}
	if err := m.begin(ctx, base); err != nil {
		return err
	}
	if err := w.changes.take(ctx); err != nil {
		m.begun = "" // nothing was made
		return err
	}
	defer w.changes.end()
	if err = w.config(ctx, w.baseName(branch), base); err == nil {
		_, err = w.git(ctx, w.o.Repo, "worktree", "add", "--quiet", "-b", branch, path, base)
	}
	if err != nil {
		return firstError(filled(err, w), w.undo(m, path, branch))
	}
	m.begun = ""
	return nil
}

// takeBack removes what a process has left that was killed while it made the worktree. Open
// has never returned it, so nothing but git has written there.
func (w *Worktrees) takeBack(ctx context.Context, m *mark, path, branch string) error {
	if m.begun == "" {
		return nil
	}
	if err := w.changes.take(ctx); err != nil {
		return err
	}
	defer w.changes.end()
	return w.undo(m, path, branch)
}

// exists reports whether there is a branch. A git that fails is not an answer.
func (w *Worktrees) exists(ctx context.Context, branch string) (bool, error) {
	_, err := w.git(ctx, w.o.Repo, "show-ref", "--verify", "--quiet", "refs/heads/"+branch)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 {
		return false, nil
	}
	return err == nil, err
}

// config changes the configuration of the repository, which another process may have
// locked for a moment.
func (w *Worktrees) config(ctx context.Context, args ...string) error {
	for try := 0; ; try++ {
		_, err := w.git(ctx, w.o.Repo, append([]string{"config"}, args...)...)
		if err == nil || try == 20 || !strings.Contains(err.Error(), "could not lock config file") {
			return err
		}
		if w.pause(ctx) != nil {
			return err
		}
	}
}

func pauseForLock(ctx context.Context) error {
	select {
	case <-time.After(50 * time.Millisecond):
	case <-ctx.Done():
	}
	return ctx.Err()
}

// baseName is the setting of the repository that has the commit at which a branch began.
func (w *Worktrees) baseName(branch string) string { return "branch." + branch + ".claudeBase" }

// undo takes back what a git that failed to add a worktree may have done. A branch that
// is not where it would have begun is not its own, and stays. The mark stays for the next
// Open if files cannot be removed.
func (w *Worktrees) undo(m *mark, path, branch string) error {
	ctx, cancel := context.WithTimeout(context.Background(), w.o.Timeout)
	defer cancel()
	_ = w.dropFiles(path)
	w.dropNameless(func(name string) bool {
		number, ok := strings.CutPrefix(name, filepath.Base(path)) // git adds one if the name is taken
		return ok && strings.Trim(number, "0123456789") == ""
	})
	_, _ = w.git(ctx, w.o.Repo, "update-ref", "-d", "refs/heads/"+branch, m.begun)
	_ = w.config(ctx, "--unset-all", w.baseName(branch))
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s was not made as a whole, and cannot be removed: %w", path, fs.ErrExist)
	}
	m.begun = ""
	return nil
}

// dropNameless removes what git has noted of worktrees before it knew where they are, in
// folders with names that fit.
func (w *Worktrees) dropNameless(fits func(name string) bool) {
	entries, _ := os.ReadDir(filepath.Join(w.common, "worktrees"))
	for _, e := range entries {
		if !fits(e.Name()) {
			continue
		}
		admin := filepath.Join(w.common, "worktrees", e.Name())
		if _, err := os.Lstat(filepath.Join(admin, "gitdir")); errors.Is(err, fs.ErrNotExist) {
			_ = removeAll(admin)
		}
	}
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

func (w *Worktrees) drop(ctx context.Context, key string, keep bool) (err error) {
	path, branch := w.path(key), w.Branch(key)
	m, err := w.hold(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = firstError(err, m.close()) }()
	if err := w.changes.take(ctx); err != nil {
		return err
	}
	defer w.changes.end()
	if err := w.dropFiles(path); err != nil {
		return err
	}
	m.begun = "" // its branch goes below, or is kept
	w.dropAdmins(path, "")
	w.dropFresh(path)
	if keep {
		return nil
	}
	exists, err := w.exists(ctx, branch)
	if err != nil {
		return err
	}
	if exists { // git branch refuses one that a worktree of another root has checked out
		if _, err := w.git(ctx, w.o.Repo, "update-ref", "-d", "refs/heads/"+branch); err != nil {
			return err
		}
	}
	_ = w.config(ctx, "--remove-section", "branch."+branch) // it may be gone
	return w.dropUnsaved(ctx, branch)
}

// dropFiles removes a worktree and what git has noted of it, and of no other: git worktree
// prune would also drop those of people whose disk is not mounted.
func (w *Worktrees) dropFiles(path string) error {
	admin, err := w.admin(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := removeAll(path); err != nil || admin == "" {
		return err
	}
	return removeAll(admin)
}

// WorktreeDir is the open worktree of a conversation. Its methods are called by one
// goroutine at a time.
type WorktreeDir struct {
	plainDir
	w         *Worktrees
	branch    string
	base      string
	snapshots *snapshotDir      // nil: it stays on this machine
	blobs     map[string]string // of base; nil: not read yet

	unfiltered bool // a patch is made without the filters of the repository
}

func (w *Worktrees) dir(key string) *WorktreeDir {
	return &WorktreeDir{plainDir: plainDir(w.path(key)), w: w, branch: w.Branch(key)}
}

// Save implements [Workdir]. Without [SnapshotOptions].Worktrees it does nothing.
func (d *WorktreeDir) Save(ctx context.Context, fence store.Fence) error {
	if d.snapshots == nil {
		return d.plainDir.Save(ctx, fence)
	}
	return d.snapshots.Save(ctx, fence)
}

// Branch is the branch of the conversation.
func (d *WorktreeDir) Branch() string { return d.branch }

// Base is the commit at which the branch began.
func (d *WorktreeDir) Base() string { return d.base }

// Patch returns all changes since Base, committed or not, new files included, in the
// form of git diff --binary. It changes neither the branch nor the index. Files that git
// ignores are not in it. A repository in a folder that Base does not have, such as one that
// Claude has cloned or begun, is in it with its files, without its commits. A submodule of
// Base is in it as the commit that it has, unless its folder has become another repository,
// which has no commit or does not know the one of Base. A patch of more than 256 MiB is an
// error.
func (d *WorktreeDir) Patch(ctx context.Context) ([]byte, error) {
	temp, err := private.MkdirTemp(os.TempDir(), "claude-patch-")
	if err != nil {
		return nil, fmt.Errorf("claude: workspace: patch: %w", err)
	}
	defer os.RemoveAll(temp)
	env, err := d.w.inside(string(d.plainDir))
	if err == nil && d.unfiltered {
		env, err = d.w.withoutFilters(ctx, string(d.plainDir), env)
	}
	if err == nil {
		env, err = d.w.withObjects(filepath.Join(temp, "objects"), env)
	}
	if err != nil {
		return nil, fmt.Errorf("claude: workspace: patch: %w", err)
	}
	g := gatherer{w: d.w, base: d.base, env: env, temp: temp, left: maxNested}
	if err := g.all(ctx, string(d.plainDir), "index"); err != nil {
		return nil, fmt.Errorf("claude: workspace: patch: %w", err)
	}
	env = append(env, "GIT_INDEX_FILE="+filepath.Join(temp, "index"))
	patch, err := d.w.gitAtMost(ctx, d.w.maxPatch, string(d.plainDir), env, append(patchForm[:len(patchForm):len(patchForm)], d.base)...)
	if err != nil {
		return nil, fmt.Errorf("claude: workspace: patch: %w", err)
	}
	return patch, nil
}

// patchForm writes a patch in the one form that git apply takes everywhere, whatever the
// settings of this user and of the repository say.
var patchForm = []string{
	"diff", "--cached", "--binary", "--no-ext-diff", "--no-textconv", "--no-color", "--src-prefix=a/", "--dst-prefix=b/", "--submodule=short", "--ignore-submodules=none", "--no-relative", "--end-of-options",
}

// Patch returns the changes in the worktree of a conversation since its branch began, as
// [WorktreeDir.Patch] does, whether the worktree is open or not. It shows what works there
// at the moment half done. Unlike there, filters of the repository do not run, those of git
// LFS aside: they would run in a folder that Claude writes to. So a file with such a filter
// is in the patch as it is on the disk. If this machine has no worktree of the conversation,
// the error matches [fs.ErrNotExist].
func (w *Worktrees) Patch(ctx context.Context, key string) ([]byte, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	d := w.dir(key)
	d.unfiltered = true
	_, err := w.admin(d.Path())
	if err == nil {
		d.base, err = w.git(ctx, w.o.Repo, "config", "--get", w.baseName(d.branch))
	}
	if err != nil {
		return nil, fmt.Errorf("claude: workspace: conversation %q: patch: %w", key, err)
	}
	var patch []byte
	for range tries { // a file may go while git reads it
		patch, err = d.Patch(ctx)
		if err == nil || ctx.Err() != nil || errors.Is(err, errTooLarge) || errors.Is(err, errTooManyNested) {
			break
		}
	}
	return patch, err
}

// withObjects adds to an environment that new objects go into a folder, and are not left in
// the repository.
func (w *Worktrees) withObjects(dir string, env []string) ([]string, error) {
	own := filepath.Join(w.common, "objects")
	if strings.ContainsRune(own, os.PathListSeparator) {
		return env, nil // git could not be told where the others are
	}
	if err := private.Mkdir(dir); err != nil {
		return nil, err
	}
	return append(env, "GIT_OBJECT_DIRECTORY="+dir, "GIT_ALTERNATE_OBJECT_DIRECTORIES="+own), nil
}

// withoutFilters adds to an environment that the filters of the repository do not run: their
// commands may name programs by paths in the worktree. Those of git LFS name none, and
// without them each of its files would differ.
func (w *Worktrees) withoutFilters(ctx context.Context, dir string, env []string) ([]string, error) {
	out, err := w.gitWith(ctx, dir, env, "config", "--null", "--get-regexp", `^filter\..*\.(clean|process)$`)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 {
		return env, nil // there is none
	} else if err != nil {
		return nil, err
	}
	n := 0
	for entry := range strings.SplitSeq(string(out), "\x00") {
		name, command, _ := strings.Cut(entry, "\n")
		if name == "" || strings.HasPrefix(command, "git-lfs ") || strings.HasPrefix(command, "git lfs ") {
			continue
		}
		filter := name[:strings.LastIndexByte(name, '.')]
		for _, set := range [...]string{".clean=", ".process=", ".required=false"} {
			member, value, _ := strings.Cut(set, "=")
			env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s%s", n, filter, member), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", n, value))
			n++
		}
	}
	return append(env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", n)), nil
}

// git runs git and returns what it prints, without the last line's end.
func (w *Worktrees) git(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := w.gitWith(ctx, dir, nil, args...)
	return strings.TrimSpace(string(out)), err
}

// gitWith runs git with an environment that comes on top.
func (w *Worktrees) gitWith(ctx context.Context, dir string, env []string, args ...string) ([]byte, error) {
	return w.gitFed(ctx, dir, env, nil, args...)
}

// gitFed runs git with something to read.
func (w *Worktrees) gitFed(ctx context.Context, dir string, env []string, in io.Reader, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, w.o.Timeout)
	defer cancel()
	return runGit(ctx, dir, env, in, args...)
}

// gitAtMost is gitWith for output that Claude decides about: more of it than most is an error.
func (w *Worktrees) gitAtMost(ctx context.Context, most int, dir string, env []string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, w.o.Timeout)
	defer cancel()
	cmd := gitCommand(ctx, dir, env, args)
	out, said := bounded{most: most}, bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	if out.full {
		return nil, fmt.Errorf("git %s: %w: it has more than %d bytes", args[0], errTooLarge, most)
	}
	if err != nil {
		return nil, gitError(ctx, args, err, said.String())
	}
	return out.text, nil
}

var errTooLarge = errors.New("too much output")

// bounded keeps what is written, and refuses more than it may keep.
type bounded struct {
	text []byte
	most int
	full bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.full = b.full || len(p) > b.most-len(b.text); b.full {
		return 0, errors.New("there is no more room")
	}
	b.text = append(b.text, p...)
	return len(p), nil
}

// runGit runs git until the context ends.
func runGit(ctx context.Context, dir string, env []string, in io.Reader, args ...string) ([]byte, error) {
	cmd := gitCommand(ctx, dir, env, args)
	var out, said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, &said
	if err := cmd.Run(); err != nil {
		return nil, gitError(ctx, args, err, said.String())
	}
	return out.Bytes(), nil
}

// gitCommand is a git without hooks and monitors. In a worktree it needs the environment of
// inside. Filters that the repository itself defines do run.
func gitCommand(ctx context.Context, dir string, env, args []string) *exec.Cmd {
	safe := []string{"-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false", "-c", "advice.detachedHead=false", "-c", "gc.auto=0", "-c", "diff.suppressBlankEmpty=false",
		"-c", "checkout.workers=0", "-c", "checkout.thresholdForParallelism=500"} // as many as there are cores, where it pays
	cmd := exec.CommandContext(ctx, "git", append(safe, args...)...)
	cmd.Dir, cmd.WaitDelay = dir, 5*time.Second
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "GIT_") { // of a git that started this process
			cmd.Env = append(cmd.Env, entry)
		}
	}
	cmd.Env = append(append(cmd.Env, "GIT_TERMINAL_PROMPT=0", "GIT_ATTR_NOSYSTEM=1", "LC_ALL=C"), env...)
	return cmd
}

// gitError is why a git failed. One that the context has ended reports only the signal.
func gitError(ctx context.Context, args []string, err error, said string) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	text := strings.TrimSpace(said)
	return fmt.Errorf("git %s: %w: %s", args[0], err, text[:min(len(text), 500)])
}
