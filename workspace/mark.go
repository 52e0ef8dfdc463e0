package workspace

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/claude-agent-go/claude/internal/durable"
	"github.com/claude-agent-go/claude/internal/filelock"
	"github.com/claude-agent-go/claude/internal/private"
	"github.com/claude-agent-go/claude/store"
)

// mark is a file beside a worktree that is there, and locked, while a process opens or
// removes the worktree. Before git makes anything, the commit at which the branch will begin
// is in it and on the disk. So a mark without a lock and with a commit is that of a process
// that died while it made the worktree. One without a whole commit is that of a process that
// died before it made anything.
type mark struct {
	root *os.Root
	file *os.File
	name string
	w    *Worktrees
	free func() // frees a lock that does not end with the file
	// begun is the commit in the mark; "" if nothing was made. The mark stays until it is "".
	begun string
}

// markPath is where the mark of a worktree is.
func markPath(path string) string {
	return filepath.Join(filepath.Dir(path), hidden+filepath.Base(path)+".making")
}

// hold waits until no other process, and no other goroutine of this one, opens or removes
// the worktree, at most for the bound.
func (w *Worktrees) hold(ctx context.Context, path string) (*mark, error) {
	if err := private.MkdirAll(filepath.Dir(path)); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	m := &mark{root: root, name: filepath.Base(markPath(path)), w: w}
	if err := m.lock(ctx); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	text, err := io.ReadAll(io.LimitReader(m.file, 1000))
	if err != nil {
		m.free()
		return nil, errors.Join(err, m.file.Close(), root.Close())
	}
	m.begun = wholeCommit(string(text))
	return m, nil
}

// lock makes the file if need be, and locks it.
func (m *mark) lock(ctx context.Context) error {
	bound := m.w.o.Timeout
	ctx, cancel := context.WithTimeoutCause(ctx, bound, fmt.Errorf("%w after %v", store.ErrBusy, bound))
	defer cancel()
	for {
		f, err := m.root.OpenFile(m.name, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return err
		}
		free, err := m.w.lockMark(ctx, f)
		if err != nil {
			return errors.Join(fmt.Errorf("lock %s: %w", m.name, err), f.Close())
		}
		// The last holder of the lock may have removed the file.
		mine, err := f.Stat()
		if err == nil {
			if there, err := m.root.Lstat(m.name); err == nil && os.SameFile(mine, there) {
				m.file, m.free = f, free
				return nil
			}
		}
		free()
		if err := errors.Join(err, f.Close(), context.Cause(ctx)); err != nil {
			return err
		}
	}
}

// lockMark locks the file of a mark. What it returns frees a lock that does not end with the
// file.
func (w *Worktrees) lockMark(ctx context.Context, f *os.File) (free func(), err error) {
	err = w.lock(ctx, f)
	if !errors.Is(err, filelock.ErrUnsupported) {
		return func() {}, err
	}
	w.isAlone.Do(func() {
		w.o.Logger.Warn("the file system of worktrees has no locks: only one process may use their root", "root", w.o.Root)
	})
	return w.alone.lock(ctx, filepath.Base(f.Name()))
}

// wholeCommit returns the commit that a mark names, or "" if its writer was cut off.
func wholeCommit(text string) string {
	commit, whole := strings.CutSuffix(text, "\n")
	if bytes, err := hex.DecodeString(commit); !whole || err != nil || len(bytes) != 20 && len(bytes) != 32 {
		return ""
	}
	return commit
}

// begin notes the commit at which a branch will begin. When it returns without an error,
// the note survives a power loss. A sync that was not waited for keeps the mark locked until
// the disk replies, because it holds the file.
func (m *mark) begin(ctx context.Context, commit string) error {
	ctx, cancel := context.WithTimeout(ctx, m.w.o.Timeout)
	defer cancel()
	_, err := m.file.WriteAt([]byte(commit+"\n"), 0)
	if err := firstError(err, m.file.Truncate(int64(len(commit)+1))); err != nil {
		return err
	}
	dir := m.root.Name()
	err = m.w.syncs.wait(ctx, m.name, func(string) error { return firstError(m.w.sync(m.file), durable.Dir(dir)) })
	if err != nil {
		return err
	}
	m.begun = commit
	return nil
}

// close removes the mark, unless something is left to take back, and unlocks it.
func (m *mark) close() error {
	var err error
	if m.begun == "" {
		if err = m.root.Remove(m.name); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	defer m.free()
	return errors.Join(err, m.file.Close(), m.root.Close())
}
