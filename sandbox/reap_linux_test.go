package sandbox

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
)

// However a helper ends, nothing that its CLI has started is left: not even what has left
// its session and its environment, by which it could be told.
func TestHelperLeavesNothing(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, end := range map[string]func(t *testing.T, helper int, in io.Closer){
		"cut":                  func(_ *testing.T, _ int, in io.Closer) { in.Close() },
		"told to end":          func(t *testing.T, helper int, _ io.Closer) { kill(t, helper, syscall.SIGTERM) },
		"connection hangs up":  func(t *testing.T, helper int, _ io.Closer) { kill(t, helper, syscall.SIGHUP) },
		"supervisor is killed": func(t *testing.T, helper int, _ io.Closer) { kill(t, childrenOf(helper)[0], syscall.SIGKILL) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			pids := filepath.Join(dir, "pids")
			cmd := exec.Command(self, superviseWord)
			cmd.Env = append(os.Environ(), "TMPDIR="+dir)
			var said lockedBuffer
			cmd.Stdout, cmd.Stderr = io.Discard, &said
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			hidden := `env -i PATH="$PATH" setsid sh -c 'trap "" TERM HUP; echo $$ >> ` + pids + `; while :; do sleep 300; done' </dev/null >/dev/null 2>&1 &`
			script := hidden + ` echo $$ >> ` + pids + `; sleep 300; sleep 300`
			if err := errors.Join(writeTask(in, task{Path: "/bin/sh", Args: []string{"-c", script}, Dir: "/"}), new(claude.Launch).WriteFiles(chunks{in}), chunks{in}.Close()); err != nil {
				t.Fatal(err)
			}
			again := time.NewTicker(time.Millisecond)
			defer again.Stop()
			for over := time.After(patience); lines(pids) < 2; {
				select {
				case <-again.C:
				case <-over:
					t.Fatalf("the CLI does not start: %s", said.String())
				}
			}
			end(t, cmd.Process.Pid, in)
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			select {
			case err := <-ended:
				if err == nil {
					t.Error("it ended as if nothing had happened")
				}
			case <-time.After(patience):
				t.Fatalf("the helper does not end; it said %s", said.String())
			}
			data, err := os.ReadFile(pids)
			if err != nil {
				t.Fatal(err)
			}
			for _, pid := range strings.Fields(string(data)) {
				if stat, err := os.ReadFile("/proc/" + pid + "/stat"); err == nil && !strings.Contains(string(stat), ") Z ") {
					t.Errorf("%s is left: %s", pid, stat)
				}
			}
		})
	}
}

func kill(t *testing.T, pid int, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, sig); err != nil {
		t.Error(err)
	}
}
