package fleet

import (
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/restore"
	"github.com/claude-agent-go/claude/internal/scratch"
)

// tempVar names the directory for the CLI's temporary files.
const tempVar = "CLAUDE_CODE_TMPDIR"

// temporary are the directories in which CLIs of a fleet have their temporary files, as far
// as the options of its conversations have shown.
type temporary struct {
	mu   sync.Mutex
	dirs map[string]bool
}

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
	if t.dirs == nil {
		t.dirs = make(map[string]bool)
	}
	t.dirs[dir] = true
}

// sweep removes what processes that were killed have left of their CLIs.
func (t *temporary) sweep() {
	t.add(os.Getenv(tempVar))
	t.mu.Lock()
	dirs := slices.Collect(maps.Keys(t.dirs))
	t.mu.Unlock()
	scratch.Sweep(dirs...)
}
