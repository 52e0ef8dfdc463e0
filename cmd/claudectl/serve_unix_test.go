//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// A server that a signal stops has done what it should: the exit code is 0, whatever
// the signal, and what it logs is JSON if that was asked for.
func TestServeEndsInOrder(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			heed(t, sig)
			cmd := exec.CommandContext(t.Context(), built(t), "--json", "serve", "--demo")
			cmd.Env = append(cmd.Environ(), "HOME="+t.TempDir())
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var said struct{ URL, Login string }
			if err := json.NewDecoder(out).Decode(&said); err != nil {
				t.Errorf("%v: %s", err, &stderr)
			}
			if err := cmd.Process.Signal(sig); err != nil {
				t.Error(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("it ends with %v: %s", err, &stderr)
			}
			for line := range strings.Lines(stderr.String()) {
				if !json.Valid([]byte(line)) {
					t.Errorf("not JSON on standard error: %q", line)
				}
			}
		})
	}
}
