//go:build unix

package claude_test

import (
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/test/harness"
)

// A CLI that inherits the environment of this process reports what it got.
func TestEnvironmentOfChild(t *testing.T) {
	for _, name := range harness.KeptBack() {
		t.Setenv(name, "/of/this/process")
	}
	t.Setenv("OF_THIS_PROCESS", "1")
	cli := harness.NewEnvReporter(t)
	if s, err := claude.Connect(t.Context(), &claude.Options{CLIPath: cli.Path, Logger: harness.Logger(t)}); err == nil {
		_ = s.Close()
		t.Error("a CLI that ends at once was connected to")
	}
	cli.Inherited(t, "OF_THIS_PROCESS=1")
}
