package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/sandbox"
)

// TestMain lets the test binary play other programs: a host that uses the SDK, an MCP
// server, and the helper of a sandbox.
func TestMain(m *testing.M) {
	sandbox.Init()
	switch os.Getenv("CLAUDE_TEST_ROLE") {
	case "host":
		playHost()
	case "asker":
		playAsker()
	case "fleet":
		playFleet()
	case "mcp":
		playMCP()
	case "chain":
		playChainWorker()
	default:
		os.Exit(leak.Main(m.Run))
	}
}

// playHost runs a turn with the real CLI until it is killed.
func playHost() {
	s, err := claude.Connect(context.Background(), &claude.Options{
		CLIPath: os.Getenv("HOST_CLI"), Cwd: os.Getenv("HOST_DIR"), Env: strings.Split(os.Getenv("HOST_ENV"), "\x1f"),
		PermissionMode: permission.ModeBypassPermissions,
	})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("connected")
	for range s.Run(context.Background(), "work") {
	}
}
