package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/realcli"
)

// TestRealCloseEndsUnmarked closes sessions while a shell runs which has started a
// program without the environment that shows whose it is. The CLI ends the shell
// on its way out; the program ends too.
func TestRealCloseEndsUnmarked(t *testing.T) {
	t.Parallel()
	for name, background := range map[string]bool{"in the foreground": false, "in the background": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if background {
				realcli.Needs(t, "2.1.325", "shells in the background")
			}
			dir := t.TempDir()
			started := filepath.Join(dir, "pid")
			r := realCLI(t, claudetest.UseTool("Bash", map[string]any{
				"command":     "env -i sleep 300 & echo $! > " + started + ".new; mv " + started + ".new " + started + "; wait",
				"description": "wait", "timeout": 300_000, "run_in_background": background,
			}), claudetest.Say("done"))
			s, _ := r.work(t, started)
			pid := strings.TrimSpace(content(started))
			running := func() bool { // a zombie has no command line
				line, _ := os.ReadFile("/proc/" + pid + "/cmdline")
				return strings.HasPrefix(string(line), "sleep")
			}
			t.Cleanup(func() {
				if n, err := strconv.Atoi(pid); err == nil && running() {
					_ = syscall.Kill(n, syscall.SIGKILL)
				}
			})
			if !running() {
				t.Fatal("the program does not run")
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if running() {
				t.Error("the program has outlived Close")
			}
		})
	}
}
