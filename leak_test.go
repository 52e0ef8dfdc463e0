package claude_test

import (
	"log/slog"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/leak"
)

// testLogger logs to the test's output.
func testLogger(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// checkLeaks wants nothing to be left at the end of the test. It is called
// before other cleanups are registered, so that it looks after them.
func checkLeaks(t *testing.T) {
	t.Helper()
	leak.Check(t)
}

// testMark is in the environment of every process that these tests start.
var testMark = leak.Mark()

// marked lists the processes that carry the mark, wherever they hang in the
// tree.
func marked() []string { return leak.Marked() }
