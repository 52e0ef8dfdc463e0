//go:build linux

package main

import (
	"os"
	"path/filepath"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/realcli"
)

// realCLI is the real CLI with a model that has it run a long shell command.
type realCLI struct {
	path  string
	model *claudetest.Model
	home  string
	env   []string
}

// newRealCLI returns nil if the CLI is not installed.
func newRealCLI(tmp string) (*realCLI, error) {
	path, ok := realcli.Installed(realcli.Version)
	if !ok {
		return nil, nil
	}
	r := &realCLI{path: path, home: filepath.Join(tmp, "home")}
	if err := os.Mkdir(r.home, 0o700); err != nil {
		return nil, err
	}
	r.model = claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
		if len(c.ToolResults) > 0 {
			return claudetest.Say("done")
		}
		return claudetest.UseTool("Bash", map[string]any{"command": "sleep " + shellTime, "timeout": 600_000})
	})
	if _, err := r.model.Start(); err != nil {
		return nil, err
	}
	// TMPDIR is in the home: what the CLI itself leaves is not counted.
	r.env = append(r.model.Env(r.home), "PATH="+os.Getenv("PATH"), "TMPDIR="+r.home, "IS_SANDBOX=1")
	return r, nil
}

func (r *realCLI) use(o *claude.Options) {
	o.CLIPath, o.Cwd, o.Env = r.path, r.home, append([]string(nil), r.env...)
}

func (r *realCLI) close() {
	_ = r.model.Close() // on loopback, and the run is over
	_ = os.RemoveAll(r.home)
}
