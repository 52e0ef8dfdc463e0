package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/claude-agent-go/claude/internal/regular"
	"github.com/claude-agent-go/claude/internal/uuid"
)

// runningDir is where CLIs that run say so, below the configuration directory: in a
// file for each process, named by its id.
const runningDir = "sessions"

// maxRunning is how large such a file may be.
const maxRunning = 64 << 10

// Processes returns the ids of the processes that have a session open, in order: of
// the CLIs that say so in the configuration directory and are alive. Two CLIs that
// continue one session lose what one of them adds, and nothing locks it.
//
// Not every CLI is seen: an old one says nothing, one on another machine or in
// another container that shares the directory seems dead here, and one that
// continues in another session after /clear may still name the first. The id of a
// process that was killed can have been given to another program, which is then
// taken for the CLI. About sessions in a store nothing is known here: they have
// leases.
func (h *History) Processes(ctx context.Context, id string) (pids []int, err error) {
	if !uuid.Valid(id) {
		return nil, fmt.Errorf("claude: history: %q %w", id, ErrInvalidID)
	}
	if h.in != nil {
		return nil, nil
	}
	r, err := h.root()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer r.Close()
	entries, err := fs.ReadDir(r.FS(), runningDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("claude: history: %w", err)
	}
	for _, e := range entries {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		pid, session := readRunning(r, path.Join(runningDir, e.Name()))
		if pid > 0 && strings.EqualFold(session, id) && alive(pid) && !slices.Contains(pids, pid) {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids, nil
}

// readRunning reads what a CLI says about itself. A file that is gone or cannot be
// read says nothing.
func readRunning(r *os.Root, name string) (pid int, session string) {
	var said struct {
		PID     int    `json:"pid"`
		Session string `json:"sessionId"`
	}
	f, info, err := regular.Open(r, name)
	if err != nil {
		return 0, ""
	}
	defer f.Close()
	if info.Size() > maxRunning {
		return 0, ""
	}
	text := make([]byte, info.Size())
	if _, err := f.ReadAt(text, 0); err != nil || json.Unmarshal(text, &said) != nil {
		return 0, ""
	}
	return said.PID, said.Session
}

// alive reports whether there is a process with this id. One that belongs to
// somebody else counts.
func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer p.Release()
	return !errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}
