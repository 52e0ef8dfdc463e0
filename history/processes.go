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
	"strconv"
	"strings"

	"github.com/claude-agent-go/claude/internal/regular"
	"github.com/claude-agent-go/claude/internal/uuid"
)

// runningDir is where running CLIs register themselves, below the configuration
// directory: in a file for each process, named by its id.
const runningDir = "sessions"

// maxRunning is how large such a file may be.
const maxRunning = 64 << 10

// Processes returns, in order, the ids of the processes that have a session open:
// the CLIs that are registered in the configuration directory and are alive. If two
// CLIs continue one session, the additions of one are lost, and nothing locks it. A CLI
// that ends removes its registration before it writes its last lines: on Linux, one that
// package claude has started for the session counts until its process is over.
//
// Not every CLI is seen: an old one does not register, one on another machine or in
// another container that shares the directory seems dead here, and one that continues
// in another session after /clear may still name the first. The id of a process that
// was killed may belong to another program now: on Linux, its start time shows that,
// if the CLI has recorded its own; elsewhere the program is taken for the CLI.
// Sessions in a store have leases instead; Processes does not know about them.
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
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("claude: history: %w", err)
	}
	elsewhere := make(map[int]bool) // in another session
	for _, e := range entries {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		cli, ok := readRunning(r, path.Join(runningDir, e.Name()))
		switch {
		case !ok || !cli.alive():
		case strings.EqualFold(cli.Session, id):
			pids = append(pids, cli.PID)
		default:
			elsewhere[cli.PID] = true
		}
	}
	for _, pid := range startedFor(id) {
		if !elsewhere[pid] {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return slices.Compact(pids), nil
}

// running is the record of a running CLI.
type running struct {
	PID     int             `json:"pid"`
	Session string          `json:"sessionId"`
	Start   json.RawMessage `json:"procStart"` // of the process, in the system's notation
}

// readRunning reads the record of a CLI. A file that is gone or cannot be read
// counts as absent.
func readRunning(r *os.Root, name string) (said running, ok bool) {
	f, info, err := regular.Open(r, name)
	if err != nil {
		return said, false
	}
	defer f.Close()
	if info.Size() > maxRunning {
		return said, false
	}
	text := make([]byte, info.Size())
	if _, err := f.ReadAt(text, 0); err != nil || json.Unmarshal(text, &said) != nil {
		return said, false
	}
	return said, said.PID > 0
}

// alive reports whether the process lives. A process of another user counts.
func (c *running) alive() bool {
	p, err := os.FindProcess(c.PID)
	if err != nil {
		return false
	}
	defer p.Release()
	return !hasEnded(p) && !c.replaced()
}

// replaced reports whether the id now belongs to another process. Only two
// different numbers show that: an unknown notation rules out nothing.
func (c *running) replaced() bool {
	var said string
	if json.Unmarshal(c.Start, &said) != nil {
		return false
	}
	if _, err := strconv.ParseUint(said, 10, 64); err != nil {
		return false
	}
	now := startOf(c.PID)
	return now != "" && now != said
}
