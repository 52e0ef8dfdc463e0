package realstore

import (
	"context"
	"slices"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// machine is a home and a working directory, with the real CLI of a version, a
// scripted model behind it, and a store.
type machine struct {
	t     *testing.T
	model *claudetest.Model
	mark  string // in the environment of its processes
	home  string
	pid   int // of the CLI that was started last
	opts  *claude.Options
}

func newMachine(t *testing.T, version string, model *claudetest.Model, s store.Sessions) *machine {
	t.Helper()
	m := &machine{t: t, model: model}
	m.opts = &claude.Options{
		CLIPath: realcli.Need(t, version), Logger: harness.Logger(t), Transport: m,
		PermissionMode: permission.ModeBypassPermissions,
		Store:          &claude.StoreOptions{Store: s, Project: "tenant-" + version, Journal: t.TempDir()},
	}
	m.mark = leak.Processes(t)
	if _, err := model.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	m.move()
	return m
}

// move continues on another machine, as far as the CLI can see: another home,
// another working directory.
func (m *machine) move() {
	m.t.Helper()
	env, home := realcli.Env(m.t, m.model.URL())
	m.opts.Env, m.opts.Cwd, m.home = append(env, m.mark), m.t.TempDir(), home
}

// Start is the ordinary Transport, and remembers the process. The SDK knows
// nothing about what a user's Transport starts, so the CLI itself reports what it
// cannot do.
func (m *machine) Start(ctx context.Context, l *claude.Launch) (claude.Conn, error) {
	conn, err := claude.ChildProcess().Start(ctx, l)
	if err == nil {
		m.pid = conn.PID()
	}
	return conn, err
}

// lastCall returns what the model was asked last in a conversation.
func (m *machine) lastCall() *claudetest.ModelCall {
	for _, c := range slices.Backward(m.model.Calls()) {
		if !c.Side {
			return c
		}
	}
	m.t.Fatal("the model was not called")
	return nil
}
