package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/claude-agent-go/claude/internal/test/cputime"
	"github.com/claude-agent-go/claude/sandbox"
	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/workspace"
)

// workFiles is how many files a working folder has, of a kilobyte each, in a hundred folders.
const workFiles = 10_000

// The names of the rows.
const (
	rowOpenTree  = "open a worktree of 10,000 files (limit: git worktree add), ns"
	rowSaveAgain = "save 10,000 files of which none has changed, ns"
	rowSSHStart  = "start to first message over ssh (limit: a process of this machine), ns"
	rowSSHAdds   = "what ssh adds to a start, ns"
)

// elsewhereGroups measure what a conversation needs that moves to another machine.
func elsewhereGroups() []group {
	return []group{{"elsewhere: worktree", openWorktree}, {"elsewhere: snapshot", saveUnchanged}, {"elsewhere: ssh", startOverSSH}}
}

func elsewhereGoals() []goal {
	value := func(r row) *float64 { return r.Ours }
	return []goal{
		below("a worktree of 10,000 files is there within 0.3 s", rowOpenTree, "ns", value, 0.3e9),
		below("an unchanged folder of 10,000 files is saved within 0.5 s", rowSaveAgain, "ns", value, 0.5e9),
	}
}

// elsewhereMethod describes how it is measured.
const elsewhereMethod = `
### How work elsewhere is measured

- **A worktree** is one of a repository with 10,000 files of a kilobyte in 100 folders, on a new branch, in the folder for temporary files. The limit is ` + "`git worktree add`" + ` by hand; the two take turns, and the median counts. CPU is the processor time of this process and of every git. Most of it is the kernel's, to make the files.
- **A save** is one of a plain folder with the same files, whose records and contents are in memory. Nothing is put, because nothing has changed: the files are looked at, and the list of them is made and compared.
- **A start over ssh** is the time from nothing to the first message of a turn, on the fake CLI, with an ssh server on loopback. The limit is the same on this machine without ssh; the two take turns. What ssh adds is the median of the differences: the connection, the login, a shell there, the helper, and the files of the launch.
`

// timed collects the times of calls.
type timed struct{ wall, cpu []float64 }

func (t *timed) take(call func() error) error {
	begin, used := time.Now(), cputime.Used()+cputime.Children()
	err := call()
	t.wall = append(t.wall, float64(time.Since(begin)))
	t.cpu = append(t.cpu, float64(cputime.Used()+cputime.Children()-used))
	return err
}

// manyFiles fills a folder. The files are old, so that they count as unchanged at once.
func manyFiles(dir string, count int) error {
	old, text := time.Now().Add(-time.Hour), make([]byte, 1000)
	for i := range count {
		path := filepath.Join(dir, fmt.Sprintf("dir%02d", i%100), fmt.Sprintf("file%d.go", i))
		copy(text, fmt.Sprintf("%10d", i))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, text, 0o644), os.Chtimes(path, old, old)); err != nil {
			return err
		}
	}
	return nil
}

func git(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "user.name=bench", "-c", "user.email=bench@example.com", "-c", "gc.auto=0"}, args...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w: %s", args[0], err, out)
	}
	return nil
}

// openWorktree compares Open of a new worktree with git by hand.
func openWorktree(ctx context.Context, b *bench) (rows []row, err error) {
	dir, err := os.MkdirTemp("", "bench-worktree-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	repo := filepath.Join(dir, "repo")
	if err := manyFiles(repo, b.scale(workFiles)); err != nil {
		return nil, err
	}
	for _, args := range [][]string{{"init", "--quiet"}, {"add", "."}, {"commit", "--quiet", "--message=first"}, {"gc", "--quiet"}} {
		if err := git(ctx, repo, args...); err != nil {
			return nil, err
		}
	}
	trees, err := workspace.NewWorktrees(ctx, workspace.WorktreeOptions{Repo: repo, Root: filepath.Join(dir, "trees")})
	if err != nil {
		return nil, err
	}
	var ours, limit timed
	for n := range 1 + b.rounds {
		if n == 1 { // the first round fills the caches
			ours, limit = timed{}, timed{}
		}
		err := ours.take(func() error {
			_, err := trees.Open(ctx, fmt.Sprint("k", n))
			return err
		})
		if err == nil {
			err = limit.take(func() error {
				return git(ctx, repo, "worktree", "add", "--quiet", "-b", fmt.Sprint("limit", n), filepath.Join(dir, fmt.Sprint("limit", n)), "HEAD")
			})
		}
		if err != nil {
			return nil, err
		}
	}
	return []row{{
		Case: rowOpenTree, Ours: new(percentile(ours.wall, 50)), Limit: new(percentile(limit.wall, 50)),
		CPU: new(percentile(ours.cpu, 50)), LimitCPU: new(percentile(limit.cpu, 50)),
	}}, nil
}

// ticks is how long a file must be unchanged until it is trusted without a look at its
// contents.
const ticks = 3 * time.Second

// saveUnchanged saves a folder again and again.
func saveUnchanged(ctx context.Context, b *bench) (rows []row, err error) {
	dir, err := os.MkdirTemp("", "bench-snapshot-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	db := store.Memory()
	files, err := workspace.NewSnapshots(workspace.SnapshotOptions{Root: dir, Records: db, Project: "p", Blobs: workspace.StoreBlobs(db, "p")})
	if err != nil {
		return nil, err
	}
	folder, err := files.Open(ctx, "k")
	if err != nil {
		return nil, err
	}
	if err := manyFiles(folder.Path(), b.scale(workFiles)); err != nil {
		return nil, err
	}
	select { // until the first save can trust what it sees
	case <-time.After(ticks):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if err := folder.Save(ctx, store.Fence{}); err != nil {
		return nil, err
	}
	var ours timed
	for range b.rounds {
		if err := ours.take(func() error { return folder.Save(ctx, store.Fence{}) }); err != nil {
			return nil, err
		}
	}
	return []row{{Case: rowSaveAgain, Ours: new(percentile(ours.wall, 50)), CPU: new(percentile(ours.cpu, 50))}}, nil
}

// startOverSSH compares a start over ssh with one on this machine.
func startOverSSH(ctx context.Context, b *bench) (rows []row, err error) {
	server, err := startSSH(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.close()) }()
	// A file starts the fake CLI the same way on both: of the environment only what a CLI
	// needs goes to another machine.
	cli := filepath.Join(server.dir, "claude")
	if err := os.WriteFile(cli, []byte("#!/bin/sh\n"+playVariable+"=1 exec '"+server.self+"' \"$@\"\n"), 0o755); err != nil {
		return nil, err
	}
	here, there := newOurs(cli), newOurs(cli)
	there.opts.Cwd = server.dir
	there.opts.Transport = &sandbox.SSH{Host: server.host, Args: server.args, Helper: server.self}
	here.opts.Cwd, here.opts.Env = server.dir, there.opts.Env[:len(there.opts.Env)-1] // without the variable
	there.opts.Env = here.opts.Env
	var local, remote, added []float64
	for n := range 1 + b.rounds {
		one, err := here.start(ctx)
		if err != nil {
			return nil, err
		}
		other, err := there.start(ctx)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			local, remote, added = append(local, float64(one)), append(remote, float64(other)), append(added, float64(other-one))
		}
	}
	return []row{
		{Case: rowSSHStart, Ours: new(percentile(remote, 50)), Limit: new(percentile(local, 50))},
		{Case: rowSSHAdds, Ours: new(percentile(added, 50))},
	}, nil
}
