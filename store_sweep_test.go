package claude_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/internal/test/need"
	"github.com/claude-agent-go/claude/store"
)

// hostRole makes the test binary a program that has resumed a session from a
// store. hostStore is the directory of the store.
const hostRole, hostStore = "host", "CLAUDE_TEST_STORE"

// playHost resumes a session, reports it, and does nothing more.
func playHost() {
	env := append(os.Environ(), "CLAUDE_TEST_ROLE=patient", "CLI_VERSION=2.1.325")
	s, err := claude.Connect(context.Background(), &claude.Options{
		CLIPath: os.Args[0], Env: env, Resume: mainKey.Session,
		Store: &claude.StoreOptions{Store: store.Files(os.Getenv(hostStore)), Project: mainKey.Project, Journal: os.TempDir()},
	})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("resumed", s.ID())
	forever()
}

// findText returns the files below a folder that have a text in them.
func findText(t *testing.T, dir, text string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it was removed in the meantime
		}
		if err == nil && d.Type().IsRegular() && strings.Contains(readFile(path), text) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// A program that is killed while it has a session from a store leaves behind the
// folder that it restored the session into, with a copy of the user's
// credentials. The next session with a store removes it, even if it restores
// nothing itself, but not while the program lives.
func TestKilledHostLeavesNoCredentials(t *testing.T) {
	need.OpenRemoval.Test(t) // elsewhere a sweep is tried by internal/scratch
	home, tmp, dir := t.TempDir(), t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(home, ".claude"), 0o700); err != nil {
		t.Fatal(err)
	}
	const credentials = `{"claudeAiOauth":{"accessToken":"at-4711","refreshToken":"rt-4711"}}`
	if err := os.WriteFile(filepath.Join(home, ".claude", ".credentials.json"), []byte(credentials), 0o600); err != nil {
		t.Fatal(err)
	}
	put(t, store.Files(dir), mainKey, `{"type":"user","uuid":"a","parentUuid":null,"text":"said-4711"}`)
	host := exec.Command(os.Args[0])
	host.Env = append(os.Environ(), "CLAUDE_TEST_ROLE="+hostRole, hostStore+"="+dir, "HOME="+home, "TMPDIR="+tmp, "CLAUDE_CONFIG_DIR=", leak.Processes(t))
	out, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	kill := func() {
		_ = host.Process.Kill() // it may have ended
		_ = host.Wait()
	}
	defer kill()
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "resumed "+mainKey.Session+"\n" {
		t.Fatalf("the host says %q", line)
	}
	leak.TempFolder(t, tmp)
	start := func() {
		o := &claude.Options{
			Transport: &double{t: t, play: func(c *cli) { c.greet(); c.idle() }}, Logger: harness.Logger(t),
			Store: &claude.StoreOptions{Store: store.Memory(), Project: mainKey.Project, Journal: t.TempDir()},
		}
		finish(t, connect(t, o))
	}
	start()
	for text, want := range map[string]int{"at-4711": 1, "said-4711": 1, "rt-4711": 0} {
		if found := findText(t, tmp, text); len(found) != want {
			t.Errorf("while the host lives, %s is in %q, want %d", text, found, want)
		}
	}
	kill()
	if len(findText(t, tmp, "at-4711")) == 0 {
		t.Error("a host that is killed removes what it has restored")
	}
	start()
	for _, text := range []string{"at-4711", "said-4711"} {
		if found := findText(t, tmp, text); len(found) > 0 {
			t.Errorf("%s is still in %q", text, found)
		}
	}
}
