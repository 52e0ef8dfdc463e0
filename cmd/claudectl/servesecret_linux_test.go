package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A command that runs as the user of a server with --egress cannot read the key from the
// process of the server. Without --egress, which leaves the key to the CLIs, it could.
func TestServeEgressHidesTheKey(t *testing.T) {
	const key = "sk-ant-api03-the-key-of-this-server"
	for _, egress := range []bool{true, false} {
		t.Run(fmt.Sprint(egress), func(t *testing.T) {
			dir := t.TempDir()
			program := filepath.Join(dir, programName)
			copyProgram(t, built(t), program)
			asUser := ordinaryUser(t, dir)
			args := []string{"--json", "serve", "--store", filepath.Join(dir, "store")}
			if egress {
				args = append(args, "--egress")
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			server := exec.CommandContext(ctx, program, args...)
			server.Env, server.Dir, server.WaitDelay = []string{"HOME=" + dir, "USER=ada", "PATH=" + os.Getenv("PATH"), "ANTHROPIC_API_KEY=" + key}, dir, 10*time.Second
			server.Cancel = func() error { return server.Process.Signal(syscall.SIGTERM) }
			asUser(server)
			var problems bytes.Buffer
			server.Stderr = &problems
			stdout, err := server.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := server.Start(); err != nil {
				t.Fatal(err)
			}
			var said struct{ URL string }
			err = json.NewDecoder(stdout).Decode(&said) // it serves
			look := exec.CommandContext(ctx, "/bin/cat", fmt.Sprintf("/proc/%d/environ", server.Process.Pid))
			asUser(look)
			seen, refused := look.CombinedOutput()
			cancel()
			_, _ = io.Copy(io.Discard, stdout)
			_ = server.Wait() // by our signal
			if err != nil {
				t.Fatalf("%v: %s", err, problems.String())
			}
			if found := strings.Contains(string(seen), key); found == egress {
				t.Errorf("the key is seen: %v, %v: %.200q", found, refused, seen)
			}
			if strings.Contains(problems.String(), key) {
				t.Errorf("the log has the key: %s", problems.String())
			}
		})
	}
}

// copyProgram copies a program to where every user may run it.
func copyProgram(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// ordinaryUser gives a folder to a user without the rights of root, and returns what lets a
// command run as that user. Without these rights it is this one.
func ordinaryUser(t *testing.T, dir string) (as func(*exec.Cmd)) {
	t.Helper()
	if os.Geteuid() != 0 {
		return func(*exec.Cmd) {}
	}
	const nobody = 65534
	for up := filepath.Dir(dir); up != filepath.Clean(os.TempDir()) && up != filepath.Dir(up); up = filepath.Dir(up) {
		if err := os.Chmod(up, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	return func(cmd *exec.Cmd) {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
}

// What the server starts inherits its key under no name.
func TestForgetCredentials(t *testing.T) {
	const key = "sk-ant-api03-the-key-of-this-server"
	t.Setenv("ANTHROPIC_API_KEY", key)
	t.Setenv("ITS_COPY", "Bearer "+key)
	t.Setenv("ANOTHER", "kept")
	c := newConsole(t.Context(), strings.NewReader(""), io.Discard, io.Discard, os.Environ())
	c.forgetCredentials()
	left := strings.Join(os.Environ(), "\n")
	if strings.Contains(left, key) || !strings.Contains(left, "ANOTHER=kept") {
		t.Errorf("the environment is %s", left)
	}
	if c.variable("ANTHROPIC_API_KEY") != key {
		t.Error("the server itself has lost its key")
	}
}
