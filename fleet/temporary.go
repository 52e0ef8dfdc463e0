package fleet

import (
	"context"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/restore"
	"github.com/claude-agent-go/claude/internal/scratch"
)

// tempVar names the directory for the CLI's temporary files.
const tempVar = "CLAUDE_CODE_TMPDIR"

// temporary are the directories with the temporary files of a fleet's CLIs, as far as
// the options of its conversations have shown them.
type temporary struct {
	mu   sync.Mutex
	dirs []string // the one that was named last comes last
}

// maxTemps is how many directories are remembered. If each conversation has its own,
// those of the longest sleepers are forgotten, and learned again when they wake.
const maxTemps = 256

// learn takes note of the directory that options name.
func (t *temporary) learn(o *claude.Options) {
	t.add(restore.Variable(environ(o), tempVar))
}

func (t *temporary) add(dir string) {
	if dir == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dirs = slices.DeleteFunc(t.dirs, func(other string) bool { return other == dir })
	t.dirs = append(t.dirs, dir)
	if len(t.dirs) > maxTemps {
		t.dirs = slices.Delete(t.dirs, 0, len(t.dirs)-maxTemps)
	}
}

const (
	// sweepSoon is when the second sweep comes. By then, the children of a killed
	// process have written their last files, and their folder counts as abandoned.
	sweepSoon = 3 * time.Minute
	// sweepEvery is how often a sweep follows: a CLI may have outlived its process.
	sweepEvery = time.Hour
)

// keepSwept sweeps from time to time until ctx ends.
func (t *temporary) keepSwept(ctx context.Context) {
	for wait := sweepSoon; pause(ctx, wait); wait = sweepEvery {
		t.sweep()
	}
}

// sweep removes the files that CLIs of killed processes have left.
func (t *temporary) sweep() {
	t.add(os.Getenv(tempVar))
	t.mu.Lock()
	dirs := slices.Clone(t.dirs)
	t.mu.Unlock()
	scratch.Sweep(dirs...)
}
