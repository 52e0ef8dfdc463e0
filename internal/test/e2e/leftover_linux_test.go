package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/claude-agent-go/claude/claudetest"
)

// A program that a shell has started with an empty environment ends with the session,
// as long as that shell runs. The mark that recognizes processes is not in it.
func TestRealCloseEndsWhatCarriesNoMark(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	number, started := filepath.Join(dir, "pid"), filepath.Join(dir, "started")
	command := "env -i sleep 300 & echo $! >" + number + "; touch " + started + "; sleep 300"
	r := realCLI(t, claudetest.UseTool("Bash", map[string]any{"command": command, "timeout": 300_000}))
	s, end := r.work(t, started)
	text, err := os.ReadFile(number)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ"); err != nil || len(env) != 0 {
		t.Fatalf("the program has the environment %q, %v", env, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	_ = end() // the turn was cut off
	if comm, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm"); err == nil && strings.TrimSpace(string(comm)) == "sleep" {
		t.Errorf("process %d outlives the session", pid)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}
