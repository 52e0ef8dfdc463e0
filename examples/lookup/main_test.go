package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/realcli"
)

// The example runs as it stands, against the real CLI with a scripted model.
func TestRealLookup(t *testing.T) {
	realcli.Needs(t, "1.0.128", "an MCP server of this process")
	cli := realcli.Need(t, realcli.Tested())
	bin := t.TempDir()
	program := filepath.Join(bin, "lookup")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.Symlink(cli, filepath.Join(bin, "claude")); err != nil {
		t.Fatal(err)
	}
	model := claudetest.NewModel(claudetest.UseTool("mcp__db__phone", map[string]string{"Name": "Ada"}), claudetest.Say("It is 555-0100."))
	url, err := model.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	env, home := realcli.Env(t, url)
	i := slices.IndexFunc(env, func(entry string) bool { return strings.HasPrefix(entry, "PATH=") })
	env[i] = "PATH=" + bin + string(filepath.ListSeparator) + strings.TrimPrefix(env[i], "PATH=")
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env, cmd.Dir = env, home
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "It is 555-0100.\n" {
		t.Errorf("%s, %v", out, err)
	}
	calls := model.Calls()
	if got := calls[len(calls)-1].ToolResults; len(got) != 1 || got[0].Text != "555-0100" {
		t.Errorf("results %+v", got)
	}
}
