package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/acp/schema"
	"github.com/claude-agent-go/claude/serve/client"
)

// TestRealServeElsewhere is a server whose conversations have worktrees, sandboxes and no
// key, with the real CLI. What a command writes is on a branch, it sees neither the key
// nor the machine, and nothing is left when the conversation is deleted.
func TestRealServeElsewhere(t *testing.T) {
	const look = "cat main.go > ran.txt; { env; cat /proc/*/environ; ls -a / ../../../../../.. ; } > seen 2>&1; echo looked"
	s := newRealServer(t, twoCalls(look), func(dir string) { repositoryIn(t, dir, "main.go") }, "--egress", "--sandbox=bubblewrap", "--workspace=worktrees")
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
