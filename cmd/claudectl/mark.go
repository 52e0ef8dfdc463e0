package main

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/claude-agent-go/claude"
)

// mark is the random value of a variable that every process of a session
// inherits, by which they are found again.
type mark string

func newMark() mark { return mark(rand.Text()) }

func (m mark) entry() string { return "CLAUDECTL_DOCTOR=" + string(m) }

// helperName is the MCP server whose process the CLI is to end.
const helperName = "claudectl-doctor"

// helper returns an MCP server that never answers and never ends by itself, so
// that there is a tree of processes to stop: this program, told to wait.
func (m mark) helper() claude.MCPServers {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return claude.MCPServers{helperName: claude.StdioServer{Command: self, Args: []string{"wait"}}}
}

// waitCommand is "claudectl wait", the helper of doctor.
type waitCommand struct{}

// Run waits until the command ends, for a minute at most.
func (*waitCommand) Run(c *console) error {
	select {
	case <-c.ctx.Done():
	case <-time.After(time.Minute):
	}
	return nil
}

// await waits until the helper is there too, for a while: the CLI starts its
// servers beside other things. Where nothing can be seen, not even the CLI, it
// does not wait.
func (m mark) await(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for len(m.processes()) == 1 {
		select {
		case <-ctx.Done():
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// processes returns the ids of processes with the mark. It can look only where
// the system shows environments as Linux does.
func (m mark) processes() []string {
	paths, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is sound
	var ids []string
	for _, path := range paths {
		env, err := os.ReadFile(path)
		if err == nil && strings.Contains("\x00"+string(env), "\x00"+m.entry()+"\x00") {
			ids = append(ids, filepath.Base(filepath.Dir(path)))
		}
	}
	return ids
}
