package claude_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// testLogger logs to the test's output.
func testLogger(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// checkLeaks compares goroutines, descriptors and descendants of this process
// at the end of the test with those at its beginning. It is called before
// other cleanups are registered, so that it runs after them.
func checkLeaks(t *testing.T) {
	t.Helper()
	before := usage()
	t.Cleanup(func() {
		// What has been told to end needs a moment to be gone.
		deadline := time.NewTimer(5 * time.Second)
		defer deadline.Stop()
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			after := usage()
			if after.goroutines <= before.goroutines && after.files <= before.files && len(after.children) <= len(before.children) {
				return
			}
			select {
			case <-tick.C:
			case <-deadline.C:
				var stacks bytes.Buffer
				buf := make([]byte, 1<<20)
				stacks.Write(buf[:runtime.Stack(buf, true)])
				t.Errorf("left behind: %d goroutines (were %d), %d descriptors (were %d), processes %q (were %q)\n%s",
					after.goroutines, before.goroutines, after.files, before.files, after.children, before.children, stacks.String())
				return
			}
		}
	})
}

type resources struct {
	goroutines, files int
	children          []string
}

func usage() resources {
	files, _ := os.ReadDir("/proc/self/fd")
	return resources{runtime.NumGoroutine(), len(files), marked()}
}

// testMark is in the environment of every process that these tests start.
var testMark = fmt.Sprintf("CLAUDE_AGENT_GO_TEST=%d", os.Getpid())

// marked lists the processes that carry the mark, wherever they hang in the
// tree.
func marked() []string {
	var found []string
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range environs {
		env, err := os.ReadFile(path)
		if err == nil && bytes.Contains(env, []byte(testMark)) {
			cmd, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
			found = append(found, filepath.Base(filepath.Dir(path))+" "+strings.ReplaceAll(string(cmd), "\x00", " "))
		}
	}
	return found
}
