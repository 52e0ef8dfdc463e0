//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// broken is a stream that takes some bytes and then fails.
type broken struct {
	room int
	err  error
}

func (b *broken) Write(p []byte) (int, error) {
	if b.room -= len(p); b.room < 0 {
		return 0, b.err
	}
	return len(p), nil
}

// A command whose output cannot be written has not worked; one whose reader has
// gone ends silently.
func TestOutputLost(t *testing.T) {
	cli := fakeCLI(t, `["Hello."]`)
	for _, args := range [][]string{
		{"--help"}, {"versions"}, {"parity", "--json"}, {"demo"}, {"demo", "--json"},
		{"run", "--cli", cli, "x"}, {"run", "--json", "--cli", cli, "x"}, {"doctor", "--cli", cli},
	} {
		for _, test := range []struct {
			err  error
			code exitCode
			want string // on standard error
		}{
			{syscall.ENOSPC, exitFailed, "standard output: no space left on device"},
			{syscall.EPIPE, exitPipe, ""},
		} {
			var stderr bytes.Buffer
			env := []string{"PATH=/bin:/usr/bin", "HOME=" + t.TempDir()}
			code := run(t.Context(), args, strings.NewReader(""), &broken{room: 4, err: test.err}, &stderr, env)
			if code != int(test.code) || !strings.Contains(stderr.String(), test.want) || test.want == "" && strings.Contains(stderr.String(), "claudectl: ") {
				t.Errorf("%q and %v: exit code %d, stderr %q, want %d and %q", args, test.err, code, stderr.String(), test.code, test.want)
			}
		}
	}
}

// However the program is ended, its folder goes with it.
func TestDemoEnded(t *testing.T) {
	held := fakeCLI(t, `[{"say": "Counting: one, two, three", "hold": true}]`)
	for _, test := range []struct {
		name string
		end  os.Signal // nil: no reader
		code exitCode
	}{
		{"reader gone", nil, exitPipe},
		{"SIGTERM", syscall.SIGTERM, exitTerminated},
		{"SIGHUP", syscall.SIGHUP, exitHangup},
		{"SIGINT", os.Interrupt, exitInterrupted},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			temp := t.TempDir()
			cmd := exec.CommandContext(t.Context(), built(t), "demo", "--cli", held)
			cmd.Env, cmd.Stdout = []string{"PATH=/bin:/usr/bin", "HOME=" + temp, "TMPDIR=" + temp}, w
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			if test.end == nil {
				r.Close()
			} else {
				heed(t, test.end)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			w.Close()
			if test.end != nil {
				for lines := bufio.NewScanner(r); lines.Scan() && !strings.Contains(lines.Text(), "bolts"); {
				}
				if err := cmd.Process.Signal(test.end); err != nil {
					t.Fatal(err)
				}
			}
			_ = cmd.Wait() // only the exit code counts
			if got := cmd.ProcessState.ExitCode(); got != int(test.code) {
				t.Errorf("%v, want exit code %d; stderr %q", cmd.ProcessState, test.code, stderr.String())
			}
			if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v, want nothing", left, err)
			}
		})
	}
}

// heed lets programs that the test starts heed a signal. Tests under nohup, or in the
// background of a script, would hand on that it is ignored.
func heed(t *testing.T, sig os.Signal) {
	signal.Notify(make(chan os.Signal, 1), sig)
	t.Cleanup(func() { signal.Reset(sig) })
}

// With --json an interrupt prints nothing but the error.
func TestRunInterruptedJSON(t *testing.T) {
	heed(t, os.Interrupt)
	cli := fakeCLI(t, `[{"say": "Counting: one, two, three", "hold": true}]`)
	cmd := exec.CommandContext(t.Context(), built(t), "run", "--json", "--cli", cli, "Count.")
	cmd.Env = []string{"PATH=/bin:/usr/bin", "HOME=" + t.TempDir()}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	lines.Scan() // the turn has begun
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
	}
	_ = cmd.Wait() // only the exit code counts
	want := `{"error":"interrupted","exit_code":130}` + "\n"
	if code := cmd.ProcessState.ExitCode(); code != int(exitInterrupted) || stderr.String() != want {
		t.Errorf("exit code %d, stderr %q, want %d and %q", code, stderr.String(), exitInterrupted, want)
	}
}

// A prompt that the CLI has not taken yet has no turn to interrupt: Ctrl-C then
// ends the program at the first press.
func TestRunInterruptedBeforePrompt(t *testing.T) {
	heed(t, os.Interrupt)
	cli := filepath.Join(t.TempDir(), "claude")
	write(t, cli, `#!/bin/sh
case "$*" in *--version*) echo "2.1.325 (Claude Code)"; exit;; esac
read -r line
id=$(printf %s "$line" | sed 's/.*"request_id":\("[^"]*"\).*/\1/')
echo '{"type":"control_response","response":{"subtype":"success","request_id":'"$id"',"response":{}}}'
dd bs=1 count=1 2>&1 >/dev/null | cat >/dev/null # the prompt has begun to come
kill -INT $PPID
exec sleep 600
`, 0o700)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, built(t), "run", "--json", "--cli", cli)
	cmd.Env = []string{"PATH=/bin:/usr/bin", "HOME=" + t.TempDir()}
	cmd.Stdin = strings.NewReader(strings.Repeat("more than a pipe holds ", 1<<16))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	_ = cmd.Run() // only the exit code counts
	want := `{"error":"interrupted","exit_code":130}` + "\n"
	if code := cmd.ProcessState.ExitCode(); code != int(exitInterrupted) || stderr.String() != want {
		t.Errorf("%v, stderr %q, want exit code %d and %q", cmd.ProcessState, stderr.String(), exitInterrupted, want)
	}
}
