package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// manyFiles are 10,000 files of one kilobyte in 100 folders, an hour old.
func manyFiles(b *testing.B, dir string) {
	b.Helper()
	old, text := time.Now().Add(-time.Hour), make([]byte, 1024)
	for i := range 10_000 {
		path := filepath.Join(dir, fmt.Sprintf("dir%02d", i%100), fmt.Sprintf("file%d.go", i))
		copy(text, fmt.Sprint(i))
		if i < 100 {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				b.Fatal(err)
			}
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			b.Fatal(err)
		}
		if err := os.Chtimes(path, old, old); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSaveUnchanged saves 10,000 files of which none has changed.
func BenchmarkSaveUnchanged(b *testing.B) {
	s := newShared(b)
	s.blobs = StoreBlobs(store.Memory(), "p")
	root := b.TempDir()
	d := open(b, s.worker(b, root), "k")
	manyFiles(b, d.Path())
	save(b, d)
	d.(*snapshotDir).index.Written = time.Now().Add(time.Hour).UnixNano() // when the files are old
	for b.Loop() {
		save(b, d)
		d.(*snapshotDir).index.Written = time.Now().Add(time.Hour).UnixNano()
	}
}

// BenchmarkRestore restores 10,000 files.
func BenchmarkRestore(b *testing.B) {
	s := newShared(b)
	s.blobs = StoreBlobs(store.Memory(), "p")
	d := open(b, s.worker(b, b.TempDir()), "k")
	manyFiles(b, d.Path())
	save(b, d)
	for b.Loop() {
		open(b, s.worker(b, b.TempDir()), "k")
	}
}

// BenchmarkOpenWorktree opens a new worktree of a repository with 10,000 files.
func BenchmarkOpenWorktree(b *testing.B) {
	repo := b.TempDir()
	git(b, repo, "init", "--quiet", "--initial-branch=main")
	manyFiles(b, repo)
	git(b, repo, "add", ".")
	git(b, repo, "commit", "--quiet", "--message=first")
	w, err := NewWorktrees(b.Context(), WorktreeOptions{Repo: repo, Root: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	i := 0
	for b.Loop() {
		open(b, w, fmt.Sprint("k", i))
		i++
	}
}
