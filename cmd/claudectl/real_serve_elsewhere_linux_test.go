package main

import (
	"bytes"
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/serve/client"
)

// TestRealServeElsewhere is a server whose conversations have worktrees, sandboxes and no
// key, with the real CLI. What a command writes is on a branch, it sees neither the key
// nor the machine, and nothing is left when the conversation is deleted.
func TestRealServeElsewhere(t *testing.T) {
	t.Run("bubblewrap", func(t *testing.T) { serveElsewhere(t, "", "--sandbox=bubblewrap") })
	t.Run("podman", func(t *testing.T) {
		long.Test(t, "needs podman")
		program, image := podmanHere(t)
		label := "claudectl.test=" + rand.Text()
		args := []string{"--sandbox=podman", "--sandbox-image=" + image, "--sandbox-arg=--label=" + label}
		for _, path := range []string{"/usr", "/bin", "/lib", "/lib64"} {
			if _, err := os.Stat(path); err == nil {
				args = append(args, "--sandbox-arg=--volume="+path+":"+path+":ro")
			}
		}
		serveElsewhere(t, filepath.Dir(program), args...)
		for begin := time.Now(); ; <-time.After(50 * time.Millisecond) {
			left, err := exec.Command(program, "ps", "--all", "--quiet", "--filter", "label="+label).CombinedOutput()
			if err != nil {
				t.Fatalf("podman: %v: %s", err, left)
			}
			if len(left) == 0 {
				return
			}
			if time.Since(begin) > time.Minute {
				t.Fatalf("containers are left: %s", left)
			}
		}
	})
}

// podmanHere returns a podman that also works where it may not set limits or use its
// default runtime, and an image that has no files.
func podmanHere(t *testing.T) (program, image string) {
	t.Helper()
	real, err := exec.LookPath("podman")
	if err != nil {
		t.Fatal(err)
	}
	program, image = filepath.Join(t.TempDir(), "podman"), "localhost/claudectl-serve-test"
	write(t, program, `#!/bin/sh
export STORAGE_DRIVER=vfs
if [ "$1" = run ]; then
	shift
	set -- run --ulimit nofile=4096:4096 --ulimit nproc=1024:1024 "$@"
fi
exec `+real+` --runtime runc "$@"
`, os.FileMode(0o700))
	load := exec.Command(program, "import", "--quiet", "-", image)
	load.Stdin = bytes.NewReader(make([]byte, 1024)) // a tar archive without a file
	if out, err := load.CombinedOutput(); err != nil {
		t.Fatalf("podman: %v: %s", err, out)
	}
	return program, image
}

// serveElsewhere tries a sandbox. The server finds programs in a folder first, if it is named.
func serveElsewhere(t *testing.T, programs string, args ...string) {
	const look = "cat main.go > ran.txt; { env; cat /proc/*/environ; ls -a / ../../../../../.. ; } > seen 2>&1; echo looked"
	s := newRealServer(t, twoCalls(look), func(s *realServer) {
		repositoryIn(t, s.dir, "main.go")
		if programs != "" {
			s.env = append(s.env, "PATH="+programs+":"+os.Getenv("PATH"))
		}
	}, append(args, "--egress", "--workspace=worktrees")...)
	editor := s.bridge(t)
	id := editor.New(t, s.dir)
	ended := editor.begin(t, id, "Do one.")
	if title := <-editor.asked; title != look {
		t.Errorf("asked about %q", title)
	}
	editor.answers <- "allow-once"
	if got := <-ended; got != schema.StopReasonEndTurn || editor.Text(id) != "I will. One is done." {
		t.Fatalf("ended %s, said %q", got, editor.Text(id))
	}
	trees, _ := filepath.Glob(filepath.Join(s.home, "store", workFolder, "default", gitWorktrees, "*", "*"))
	if len(trees) != 1 {
		t.Fatalf("the worktrees are %q", trees)
	}
	if text, err := os.ReadFile(filepath.Join(trees[0], "ran.txt")); string(text) != "text\n" || err != nil {
		t.Errorf("the command has read %q, %v", text, err)
	}
	if s.ran() != "" {
		t.Errorf("it ran in the directory of the preset: %q", s.ran())
	}
	seen, err := os.ReadFile(filepath.Join(trees[0], "seen"))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"sk-ant-fake-key-for-tests", "presets.json", "project", "\nroot\n"} {
		if strings.Contains(string(seen), secret) {
			t.Errorf("inside, %q is seen:\n%s", secret, seen)
		}
	}
	for _, inside := range []string{"ANTHROPIC_API_KEY=", "ANTHROPIC_BASE_URL=http://127.0.0.1:", "\nusr\n"} {
		if !strings.Contains(string(seen), inside) {
			t.Errorf("inside, %q is not seen:\n%s", inside, seen)
		}
	}
	if branches := gitIn(t, s.dir, "branch", "--list", "claude/*"); branches == "" {
		t.Error("the conversation has no branch")
	}
	c, err := client.New(client.Options{URL: s.url, Token: s.token})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), string(id)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(trees[0]); err == nil {
		t.Errorf("%s is still there", trees[0])
	}
	if left := gitIn(t, s.dir, "branch", "--list", "claude/*"); left != "" {
		t.Errorf("the branch is still there: %s", left)
	}
	editor.Close()
	if err := editor.cmd.Wait(); err != nil {
		t.Errorf("the program: %v", err)
	}
}
