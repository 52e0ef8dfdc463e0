package fleet

import (
	"errors"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/proc"
)

// ProcessUsage is the usage of a conversation's CLI and everything that it has started,
// at a moment.
type ProcessUsage struct {
	Memory    int64 // bytes
	Processes int
}

// errNoProcess means that the transport does not name a process.
var errNoProcess = errors.New("the transport does not say which process the CLI is")

// measure is the Measure of a fleet that has none.
func measure(s *claude.Session) (ProcessUsage, error) {
	pid := s.PID()
	if pid == 0 {
		return ProcessUsage{}, errNoProcess
	}
	u, err := proc.Measure(pid)
	return ProcessUsage(u), err
}

// measureAgain is how often a CLI that works in the background is measured.
const measureAgain = 10 * time.Second
