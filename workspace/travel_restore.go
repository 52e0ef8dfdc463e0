package workspace

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// ErrBaseMissing means that the repository of this machine lacks the commit at which the
// branch of a conversation began: fetch it, and open the conversation again.
var ErrBaseMissing = errors.New("the repository of this machine lacks the commit")

// A worktree is restored in four parts: prepare only adds to the repository, plant makes a
// worktree under the name of the fresh folder, the folder is renamed, and adopt lets the
// repository know. The folder's own index comes last. Without it the next Open does
// everything again, so it does not matter where a process was killed.

// prepare makes sure that the repository has the commits of a state, and keeps those that
// this machine has and never saved. last is the state that it saved or restored last, nil if
// there is none.
func (d *WorktreeDir) prepare(ctx context.Context, s, last *gitState, by *Snapshots) error {
	m, err := d.w.hold(ctx, d.Path())
	if err != nil {
		return err
	}
	if err := firstError(d.w.takeBack(ctx, m, d.Path(), d.branch), m.close()); err != nil {
		return err
	}
	has, err := d.w.resolve(ctx, nil, s.Base+"^{commit}", s.Tip+"^{commit}", s.Head+"^{commit}", firstNot(s.Staged, s.Base)+"^{tree}")
	if err != nil {
		return err
	}
	if has[0] == "" {
		return fmt.Errorf("%s: %w: fetch it", s.Base, ErrBaseMissing)
	}
	d.base, d.blobs = s.Base, nil
	if has[1] == "" || has[2] == "" || has[3] == "" {
		for _, pack := range s.Packs {
			if err := by.do("add a pack", func() error { return d.unpack(ctx, pack, by) }); err != nil {
				return err
			}
		}
	}
	return by.do("keep commits", func() error { return d.keepCommits(ctx, s, last, by) })
}

// unpack adds a pack to the repository. Git checks it.
func (d *WorktreeDir) unpack(ctx context.Context, pack gitPack, by *Snapshots) error {
	ctx, patience, cancel := d.w.patient(ctx)
	defer cancel()
	r, w := io.Pipe()
	read := make(chan error, 1)
	go func() {
		var err error
		for _, name := range pack.Chunks {
			var data []byte
			patience.rest()
			data, err = by.chunk(ctx, name)
			patience.git()
			if err == nil {
				_, err = w.Write(data)
			}
			if err != nil {
				break
			}
		}
		read <- err
		w.CloseWithError(err)
	}()
	_, err := runGit(ctx, d.w.o.Repo, nil, r, "index-pack", "--stdin")
	r.Close() // ends the goroutine, if git has read no further
	if failed := <-read; failed != nil && !errors.Is(failed, io.ErrClosedPipe) {
		return failed // which git only knows as an early end
	}
	return err
}

// keepCommits gives a branch to commits of the worktree that would be lost: another machine
// has saved since, without them.
func (d *WorktreeDir) keepCommits(ctx context.Context, s, last *gitState, by *Snapshots) error {
	ref := "refs/heads/" + d.branch
	found, err := d.w.resolve(ctx, nil, ref+"^{commit}")
	if err != nil {
		return err
	}
	if env, err := d.w.inside(d.Path()); err == nil {
		head, err := d.w.resolve(ctx, env, "HEAD^{commit}")
		if err != nil {
			return err
		}
		found = append(found, head...)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	known := []string{s.Tip, s.Head}
	if last != nil {
		known = append(known, last.Tip, last.Head)
	}
	for i, commit := range slices.Compact(found) {
		if lost, err := d.lost(ctx, commit, known); err != nil || !lost {
			if err != nil {
				return err
			}
			continue
		}
		if _, err := d.w.git(ctx, d.w.o.Repo, "config", "--get", d.w.baseName(d.branch)); err != nil && i == 0 {
			return fmt.Errorf("%s: %w", d.branch, ErrBranchExists) // it never was one of a conversation
		}
		kept := d.branch + unsavedBranch + commit[:unsavedDigits]
		if _, err := d.w.git(ctx, d.w.o.Repo, "update-ref", "refs/heads/"+kept, commit); err != nil {
			return err
		}
		by.Logger.Error("a worktree has commits that were not saved before another machine saved; they are kept as a branch", "path", d.Path(), "branch", kept)
	}
	return nil
}

// The name of a branch for commits which were never saved is that of the conversation's
// branch, unsavedBranch, and that many digits of the commit.
const (
	unsavedBranch = "-unsaved-"
	unsavedDigits = 12
)

// isUnsaved reports whether a branch has commits of another one that were never saved. The
// branch of another conversation may begin in the same way, but ends with more digits.
func isUnsaved(name, branch string) bool {
	digits, ok := strings.CutPrefix(name, branch+unsavedBranch)
	_, err := hex.DecodeString(digits)
	return ok && err == nil && len(digits) == unsavedDigits
}

// lost reports whether a commit is in none of the known ones.
func (d *WorktreeDir) lost(ctx context.Context, commit string, known []string) (bool, error) {
	if commit == "" {
		return false, nil
	}
	has, err := d.w.resolve(ctx, nil, known...)
	if err != nil {
		return false, err
	}
	args := []string{"rev-list", "--max-count=1", commit}
	for _, k := range has {
		if k != "" {
			args = append(args, "^"+k)
		}
	}
	out, err := d.w.git(ctx, d.w.o.Repo, args...)
	return out != "", err
}

// dropUnsaved removes the branches of keepCommits.
func (w *Worktrees) dropUnsaved(ctx context.Context, branch string) error {
	out, err := w.git(ctx, w.o.Repo, "for-each-ref", "--format=%(refname)", "refs/heads/"+branch+unsavedBranch+"*")
	for ref := range strings.FieldsSeq(out) {
		if !isUnsaved(strings.TrimPrefix(ref, "refs/heads/"), branch) {
			continue
		}
		if _, failed := w.git(ctx, w.o.Repo, "update-ref", "-d", ref); failed != nil {
			err = errors.Join(err, failed)
		}
	}
	return err
}

// plant makes an empty folder a worktree, with HEAD and git's index as they were saved.
func (d *WorktreeDir) plant(ctx context.Context, fresh string, s *gitState, by *Snapshots) error {
	if err := d.w.changes.take(ctx); err != nil {
		return err
	}
	defer d.w.changes.end()
	err := by.do("make a worktree", func() error {
		_, err := d.w.git(ctx, d.w.o.Repo, "worktree", "add", "--quiet", "--no-checkout", "--detach", fresh, s.Head)
		return err
	})
	if err != nil {
		return err
	}
	env, err := d.w.inside(fresh)
	if err != nil {
		return err
	}
	err = by.do("fill the index of git", func() error { return d.fillIndex(ctx, fresh, env, s, by) })
	if err != nil || s.Detached {
		return err
	}
	return by.do("set HEAD", func() error {
		_, err := d.w.gitWith(ctx, fresh, env, "symbolic-ref", "HEAD", "refs/heads/"+d.branch)
		return err
	})
}

// fillIndex fills git's index with what was staged. Git refuses some trees, for example for
// a name that this system cannot have. What is closest to HEAD comes next: all that is
// between them looks staged, as if it had been taken back.
func (d *WorktreeDir) fillIndex(ctx context.Context, fresh string, env []string, s *gitState, by *Snapshots) error {
	var refused error
	for _, tree := range slices.Compact([]string{firstNot(s.Staged, s.Head), s.Head, s.Base}) {
		_, err := d.w.gitWith(ctx, fresh, env, "read-tree", tree)
		if err == nil && refused != nil {
			by.Logger.Warn("git refuses what was staged in a worktree, or its last commit: what git shows as staged is not Claude's work", "path", d.Path(), "filled with", tree, "error", refused)
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		refused = firstError(refused, err)
	}
	return refused
}

// adopt lets the repository know that a worktree was renamed and what its branch is, and
// forgets those that it replaces.
func (d *WorktreeDir) adopt(ctx context.Context, fresh string, s *gitState, by *Snapshots) error {
	admin, err := d.w.admin(fresh)
	if err != nil {
		return err
	}
	err = d.w.changes.run(ctx, func() error { return d.name(ctx, admin, s, by) })
	if err == nil { // not in the turn: a disk that hangs must not stop the other worktrees
		err = by.do("sync the repository", func() error { return by.onDisk(ctx, d.w.common, time.Time{}) })
	}
	if err != nil {
		return err
	}
	return d.w.changes.run(ctx, func() error {
		return by.do("forget older worktrees", func() error { d.w.dropAdmins(d.Path(), admin); d.w.dropFresh(d.Path()); return nil })
	})
}

// name gives a worktree its branch and its path in the repository.
func (d *WorktreeDir) name(ctx context.Context, admin string, s *gitState, by *Snapshots) error {
	err := by.do("set the branch", func() error {
		_, err := d.w.git(ctx, d.w.o.Repo, "update-ref", "refs/heads/"+d.branch, s.Tip)
		return err
	})
	if err == nil {
		err = by.do("set the base", func() error { return d.w.config(ctx, d.w.baseName(d.branch), s.Base) })
	}
	if err == nil {
		err = by.do("name the worktree", func() error {
			return writeWhole(filepath.Join(admin, "gitdir"), []byte(filepath.ToSlash(filepath.Join(d.Path(), gitDir))+"\n"))
		})
	}
	return err
}

// dropAdmins removes what git has noted of a worktree, except one.
func (w *Worktrees) dropAdmins(path, except string) {
	found, _ := w.admins(filepath.Dir(path), func(name string) bool { return name == filepath.Base(path) })
	for _, admin := range found {
		if admin != except {
			_ = removeAll(admin)
		}
	}
}

// dropFresh removes what git has noted of restored worktrees that were never put in place.
func (w *Worktrees) dropFresh(path string) {
	found, _ := w.admins(filepath.Dir(path), func(name string) bool { return strings.HasPrefix(name, hidden+filepath.Base(path)+freshly) })
	for _, admin := range found {
		_ = removeAll(admin)
	}
	begin := "-" + filepath.Base(path) + freshly // git does not let names begin with a dot
	w.dropNameless(func(name string) bool { return strings.HasPrefix(name, begin) })
}

// objectReader reads blobs of a repository, in the order of a list of files.
type objectReader struct {
	ctx  context.Context
	cmd  *exec.Cmd
	out  *bufio.Reader
	said bytes.Buffer
	end  context.CancelFunc
}

// reader returns one for the entries that need it, nil if none does.
func (d *WorktreeDir) reader(ctx context.Context, entries []entry) (*objectReader, error) {
	var names strings.Builder
	for i := range entries {
		if e := &entries[i]; e.Object != "" {
			names.WriteString(e.Object + "\n")
		}
	}
	if names.Len() == 0 {
		return nil, nil
	}
	if d == nil {
		return nil, fmt.Errorf("claude: workspace: list of files: an object in a plain folder: %w", store.ErrDamaged)
	}
	ctx, cancel := context.WithCancel(ctx)
	r := &objectReader{ctx: ctx, cmd: gitCommand(ctx, d.w.o.Repo, nil, []string{"cat-file", "--batch", "--buffer"}), end: cancel}
	r.cmd.Stdin, r.cmd.Stderr = strings.NewReader(names.String()), &r.said
	out, err := r.cmd.StdoutPipe()
	if err == nil {
		err = r.cmd.Start()
	}
	if err != nil {
		cancel()
		return nil, err
	}
	r.out = bufio.NewReaderSize(out, 64<<10)
	return r, nil
}

// copyNext writes the next object, which must be a blob of that size.
func (r *objectReader) copyNext(w io.Writer, size int64) error {
	about, err := r.out.ReadString('\n')
	if err != nil {
		_ = r.cmd.Wait() // until then said is still written to
		return gitError(r.ctx, []string{"cat-file"}, err, r.said.String())
	}
	var name, kind string
	var has int64
	if n, _ := fmt.Sscan(about, &name, &kind, &has); n != 3 || kind != "blob" || has != size {
		return fmt.Errorf("the repository has %q for a file of %d bytes: %w", strings.TrimSpace(about), size, store.ErrDamaged)
	}
	if _, err := io.CopyN(w, r.out, size); err != nil {
		return err
	}
	_, err = r.out.Discard(1)
	return err
}

// Close ends the reading.
func (r *objectReader) Close() {
	if r != nil {
		r.end()
		_ = r.cmd.Wait()
	}
}
