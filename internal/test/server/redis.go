package server

import (
	"os/exec"
	"strconv"

	"github.com/claude-agent-go/claude/internal/test/long"
)

// Redis starts a server and returns its URL. Arguments are added to those that it
// is started with.
func Redis(t T, args ...string) string {
	t.Helper()
	long.Test(t, "needs Redis")
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal("Redis is not installed: apt-get install redis-server")
	}
	dir := t.TempDir()
	address := listen(t, "Ready to accept connections", func(port int) *exec.Cmd {
		cmd := exec.Command(path, append([]string{"--bind", "127.0.0.1", "--port", strconv.Itoa(port),
			"--dir", dir, "--save", "", "--appendonly", "no", "--daemonize", "no"}, args...)...)
		cmd.Dir = dir
		return cmd
	})
	return "redis://" + address
}
