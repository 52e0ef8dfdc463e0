package history

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/internal/transcript"
	"github.com/claude-agent-go/claude/internal/uuid"
)

// of selects the folders that hold the sessions of a working directory, and of
// the worktrees of its repository if they are wanted.
func of(ctx context.Context, dir string, worktrees bool) (keep func(project string, r *os.Root) bool, err error) {
	dirs, err := directories(ctx, dir, worktrees)
	if err != nil {
		return nil, err
	}
	names := make(map[string]bool)
	prefixes := make(map[string]string)
	for _, d := range dirs {
		for _, name := range transcript.ProjectNames(d) {
			names[name] = true
		}
		if prefix := transcript.LongPrefix(d); prefix != "" {
			prefixes[prefix] = transcript.ProjectName(d)
		}
	}
	if name := os.Getenv("CLAUDE_CODE_PROJECT_DIR_NAME"); os.Getenv("CLAUDE_CONFIG_DIR") != "" && transcript.ValidOverride(name) {
		names[name] = true
	}
	return func(project string, r *os.Root) bool {
		if names[project] {
			return true
		}
		for prefix, name := range prefixes {
			if strings.HasPrefix(project, prefix) && recordedAs(r, project, name) {
				return true
			}
		}
		return false
	}, nil
}

// directories returns a working directory in the CLI's spelling, and the other
// worktrees of its repository if they are wanted.
func directories(ctx context.Context, dir string, worktrees bool) ([]string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("claude: history: %w", err)
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real // a deleted directory may still have sessions
	}
	dirs := []string{dir}
	if worktrees {
		dirs = append(dirs, worktreesOf(ctx, dir)...)
	}
	return dirs, nil
}

// recordedAs reports whether a session of a folder was begun in a directory of
// that name. Old CLIs hashed long names differently, so the folder's own name
// does not tell.
func recordedAs(r *os.Root, project, name string) bool {
	entries, err := fs.ReadDir(r.FS(), path.Join("projects", project))
	if err != nil {
		return false
	}
	return slices.ContainsFunc(entries, func(entry fs.DirEntry) bool {
		id, ok := strings.CutSuffix(entry.Name(), ".jsonl")
		if !ok || !uuid.Valid(id) || !entry.Type().IsRegular() {
			return false
		}
		info, err := entry.Info()
		if err != nil {
			return false
		}
		var e edges
		got, err := e.read(r, place{id: id, project: project, info: info})
		return err == nil && transcript.ProjectName(got.Dir) == name
	})
}

// gitBound is how long git may take to list the worktrees.
const gitBound = 5 * time.Second

// worktreesOf lists the worktrees of the repository that a directory is in. The
// list is empty outside a repository and without git.
func worktreesOf(ctx context.Context, dir string) []string {
	ctx, cancel := context.WithTimeout(ctx, gitBound)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", "-C", dir, "worktree", "list", "--porcelain")
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return nil
	}
	var dirs []string
	for line := range bytes.Lines(out) {
		if dir, ok := bytes.CutPrefix(bytes.TrimRight(line, "\r\n"), []byte("worktree ")); ok {
			dirs = append(dirs, filepath.Clean(string(dir)))
		}
	}
	return dirs
}
