//go:build unix

package fleet_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/store"
)

// The CLI that continues a turn gets more variables than others, and inherits no
// more than they do.
func TestEnvironmentOfRecovery(t *testing.T) {
	for _, name := range harness.KeptBack() {
		t.Setenv(name, "/of/this/process")
	}
	db, begun := store.Memory(), make(chan struct{})
	once := sync.OnceFunc(func() { close(begun) })
	f := open(t, db, claudetest.NewCLI(&claudetest.Script{Model: func(c *claudetest.ModelCall) claudetest.Reply {
		once()
		<-c.Context().Done()
		return claudetest.Say("late")
	}}), func(o *fleet.Options) { o.Grace = time.Millisecond })
	if _, err := f.Send(t.Context(), "ada", fleet.Prompt{Text: "hello"}); err != nil {
		t.Fatal(err)
	}
	<-begun
	closeFleet(t, f)

	cli, dir := harness.NewEnvReporter(t), t.TempDir()
	f = open(t, db, nil, func(o *fleet.Options) {
		o.Session = func(context.Context, string) (*claude.Options, error) {
			return &claude.Options{CLIPath: cli.Path, Cwd: dir, Logger: quiet()}, nil
		}
	})
	defer closeFleet(t, f)
	cli.Inherited(t, "CLAUDE_CODE_RESUME_INTERRUPTED_TURN=1")
}
