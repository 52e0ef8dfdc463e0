package policy_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/permission/policy"
)

// Spellings of a command with a subcommand: each is run in a repository of its
// own, and none that reaches the remote one may pass a rule that denies pushing.
func TestPushSpellings(t *testing.T) {
	t.Parallel()
	long.Test(t, "needs git and runs commands in a shell")
	template := t.TempDir()
	if err := gitRepository(template, []string{"init", "-q", "--template=", "--bare", "r.git"}, []string{"remote", "add", "origin", "./r.git"}); err != nil {
		t.Fatal(err)
	}
	texts := lines(t, "pushes.txt")
	pushing := trial[bool]{
		prepare: func(dir string, _ int, _ string) error { return os.CopyFS(dir, os.DirFS(template)) },
		happened: func(dir string, _ []byte) bool {
			refs, _ := filepath.Glob(filepath.Join(dir, "r.git", "refs", "heads", "*"))
			return len(refs) > 0
		},
	}
	pushed := pushing.effects(t, texts)
	deny := policy.MustRules("Bash(git push:*)").Deny("no")
	effective := 0
	for i, text := range texts {
		if !pushed[i] {
			continue
		}
		effective++
		if got := decided(t, deny, bash(text)); got != permission.BehaviorDeny {
			t.Errorf("passes: %q", text)
		}
	}
	t.Logf("%d of %d spellings push", effective, len(texts))
	if effective < len(texts)*3/4 {
		t.Errorf("%d of %d spellings push, want most of them", effective, len(texts))
	}
	for _, command := range []string{"git stash push -m wip", "git pull", "git log --grep push", "git config user.name push", "git -c core.pager=cat log", "git commit -m 'push it'"} {
		if got := decided(t, deny, bash(command)); got != "" {
			t.Errorf("%q: %q, want no opinion", command, got)
		}
	}
}

// gitRepository makes a repository with one commit, and runs more commands there.
func gitRepository(dir string, more ...[]string) error {
	for _, args := range append([][]string{
		{"init", "-q", "--template=", "."}, {"config", "user.name", "a"}, {"config", "user.email", "a@example.org"}, {"commit", "-q", "--allow-empty", "-m", "x"},
	}, more...) {
		setup := exec.Command("git", args...)
		setup.Dir = dir
		setup.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
		if out, err := setup.CombinedOutput(); err != nil {
			return fmt.Errorf("git %q: %w: %s", args, err, out)
		}
	}
	return nil
}
