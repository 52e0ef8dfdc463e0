package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/proc"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/permission"
)

// The names of the rows about the real CLI.
const (
	rowOwnWall   = "Connect and first turn beside the real CLI, ns"
	rowOwnCPU    = "Connect, first turn and Close beside the real CLI, CPU time, ns"
	rowCLIStart  = "CPU time of the CLI for its start and first turn, ns"
	rowCLIIdle   = "memory of the CLI, idle, bytes"
	rowCLIStream = "memory of the CLI, streaming, bytes"
	rowCLITool   = "memory of the CLI, in a tool, bytes"
	rowCLIRests  = "CPU time of the CLI in a second of idleness, ns"
	rowCLIDelta  = "CPU time of the CLI for a streamed delta, ns"
)

// cliBound is more than any of the groups takes.
const cliBound = 5 * time.Minute

// cliGroups measure the real CLI, with a scripted model behind it.
func cliGroups() []group {
	return []group{{"beside the real CLI", besideCLI}, {"what the CLI uses", cliUsage}}
}

func cliGoals() []goal {
	value := func(r row) *float64 { return r.Ours }
	return []goal{
		below("Connect and the first turn take at most 5 ms more than without an SDK", rowOwnWall, "ns", value, 5e6),
		below("and with Close at most 2 ms of CPU time", rowOwnCPU, "ns", value, 2e6),
	}
}

// realCLI is the real CLI in an environment of its own: nothing of the user's
// reaches it, and it talks only to the model on loopback.
type realCLI struct {
	opts *claude.Options
	dir  string
}

// model is the model of a CLI, in this process or in another.
type model interface {
	// Env is the environment of a CLI whose home is given.
	Env(home string) []string
}

func openReal(ctx context.Context, m model) (*realCLI, error) {
	path, err := realcli.Install(ctx, realcli.Version, os.Stderr)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "bench-cli-")
	if err != nil {
		return nil, err
	}
	r := &realCLI{dir: dir}
	for _, name := range []string{"home", "tmp", "work"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			return nil, errors.Join(err, os.RemoveAll(dir))
		}
	}
	r.opts = &claude.Options{
		CLIPath:         path,
		Env:             append(m.Env(filepath.Join(dir, "home")), "PATH="+os.Getenv("PATH"), "TMPDIR="+filepath.Join(dir, "tmp")),
		Cwd:             filepath.Join(dir, "work"),
		SettingSources:  []claude.SettingSource{},
		PartialMessages: true,
		CanUseTool: func(context.Context, *permission.Request) (permission.Decision, error) {
			return permission.Allow(), nil
		},
	}
	return r, nil
}

func (r *realCLI) close() error { return os.RemoveAll(r.dir) }

// prompted runs a turn.
func prompted(ctx context.Context, s *claude.Session, prompt string) error {
	for _, err := range s.Run(ctx, prompt) {
		if err != nil {
			return err
		}
	}
	return nil
}

// Phases of the CLI that is measured.
const (
	idleTime     = 3 * time.Second
	streamPieces = 2000
	sampleEvery  = 50 * time.Millisecond
)

// cliUsage measures a CLI that waits, one that streams, and one whose tool runs.
func cliUsage(ctx context.Context, b *bench) (rows []row, err error) {
	ctx, cancel := context.WithTimeout(ctx, cliBound) // a CLI that hangs is ended
	defer cancel()
	pieces := b.scale(streamPieces)
	m := claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
		switch {
		case len(c.ToolResults) > 0:
			return claudetest.Say("Done")
		case strings.Contains(c.Prompt, "stream"):
			return claudetest.Say(strings.Repeat("A piece of text with 25. ", pieces)).Chunks(25, time.Millisecond)
		case strings.Contains(c.Prompt, "tool"):
			return claudetest.UseTool("Bash", map[string]string{"command": "timeout 2 tail -f /dev/null; true", "description": "Wait"})
		}
		return claudetest.Say("Hello")
	})
	if _, err := m.Start(); err != nil {
		return nil, err
	}
	defer m.Close()
	r, err := openReal(ctx, m)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	s, err := claude.Connect(ctx, r.opts)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := prompted(ctx, s, "Hello"); err != nil {
		return nil, err
	}
	start, err := childTime(s.PID())
	if err != nil {
		return nil, err
	}
	idle, err := watched(ctx, s.PID(), func() error {
		select {
		case <-time.After(idleTime / time.Duration(min(b.divide, 10))):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	if err != nil {
		return nil, err
	}
	stream, err := watched(ctx, s.PID(), func() error { return prompted(ctx, s, "stream") })
	if err != nil {
		return nil, err
	}
	tool, err := watched(ctx, s.PID(), func() error { return prompted(ctx, s, "tool") })
	if err != nil {
		return nil, err
	}
	return []row{
		{Case: rowCLIStart, Ours: new(float64(start))},
		{Case: rowCLIIdle, Ours: new(idle.memory)},
		{Case: rowCLIStream, Ours: new(stream.memory)},
		{Case: rowCLITool, Ours: new(tool.memory)},
		{Case: rowCLIRests, Ours: new(float64(idle.cpu) / idle.wall.Seconds())},
		{Case: rowCLIDelta, Ours: new(float64(stream.cpu) / float64(pieces))},
	}, nil
}

// phase is the usage of a process in some time.
type phase struct {
	wall, cpu time.Duration
	memory    float64 // the most
}

// watched does something, and watches a process meanwhile.
func watched(ctx context.Context, pid int, do func() error) (p phase, err error) {
	before, err := childTime(pid)
	if err != nil {
		return p, err
	}
	done := make(chan error, 1)
	begin := time.Now()
	go func() { done <- do() }()
	ticks := time.NewTicker(sampleEvery)
	defer ticks.Stop()
	for {
		u, err := proc.Measure(pid)
		if err != nil {
			return p, err
		}
		p.memory = max(p.memory, float64(u.Memory))
		select {
		case err := <-done:
			p.wall = time.Since(begin)
			after, err2 := childTime(pid)
			p.cpu = after - before
			return p, errors.Join(err, err2)
		case <-ticks.C:
		}
	}
}

// childTime is how long a process has kept processors busy, with those of its
// children that have ended, as Linux counts it: in hundredths of a second.
func childTime(pid int) (time.Duration, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 15 {
		return 0, fmt.Errorf("the state of process %d is %q", pid, text)
	}
	var sum int64
	for _, field := range fields[11:15] { // user, system, and those of the children
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return time.Duration(sum) * 10 * time.Millisecond, nil
}
