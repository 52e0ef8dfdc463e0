package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/store"
)

// The bot ends while its call waits, and another one runs it after the decision.
func TestBot(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		call := claudetest.ScriptedCall{ID: "toolu_1", Name: "Bash", Input: json.RawMessage(`{"command":"make release"}`), Output: "ok"}
		do := func(cli *claudetest.CLI, args ...string) string {
			t.Helper()
			var out strings.Builder
			b := &bot{db: store.Files(dir), patience: time.Minute, w: &out, cli: cli}
			if err := b.run(t.Context(), args); err != nil {
				t.Fatal(err)
			}
			return out.String()
		}
		id, ok := strings.CutPrefix(do(claudetest.New(claudetest.UseTools(call)), "work", "Release it."), "waits for ")
		if !ok {
			t.Fatalf("it says %q", id)
		}
		id = strings.TrimSpace(id)
		if list := do(nil, "list"); !strings.Contains(list, id+` Bash {"command":"make release"} (the rule Bash asks a person)`) {
			t.Errorf("the list is %q", list)
		}
		do(nil, "allow", id)
		if list := do(nil, "list"); list != "" {
			t.Errorf("after the decision the list is %q", list)
		}
	})
}

func TestUsage(t *testing.T) {
	b := &bot{db: store.Files(t.TempDir()), w: os.Stdout}
	for _, args := range [][]string{nil, {"work"}, {"allow", "nothing"}, {"continue"}} {
		if err := b.run(t.Context(), args); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}

// The program with the real CLI: it is started anew for each step, and the
// command runs once, after the decision.
func TestRealBot(t *testing.T) {
	realcli.Needs(t, "2.1.325", "approvals that outlive a process")
	model := claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
		if len(c.ToolResults) > 0 {
			return claudetest.Say("Noted.")
		}
		return claudetest.UseTool("Bash", map[string]string{"command": "echo released >> log", "description": "note it"})
	})
	url, err := model.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	env, dir := realcli.Env(t, url)
	program, env := realcli.Program(t, env)
	env = append(env, "BOT_PATIENCE=100ms")
	do := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Env, cmd.Dir = env, dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	id, ok := strings.CutPrefix(do("work", "Note the release."), "waits for ")
	if !ok {
		t.Fatalf("it says %q", id)
	}
	if _, err := os.Stat(filepath.Join(dir, "log")); err == nil {
		t.Fatal("the command ran before anybody decided")
	}
	do("allow", strings.TrimSpace(id))
	if said := do("continue"); said != "Noted.\n" {
		t.Errorf("it says %q", said)
	}
	if log, err := os.ReadFile(filepath.Join(dir, "log")); err != nil || string(log) != "released\n" {
		t.Errorf("the command wrote %q, %v", log, err)
	}
}
