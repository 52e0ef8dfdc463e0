package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/claudetest"
)

func TestGuard(t *testing.T) {
	dir := t.TempDir()
	cli := claudetest.New(
		claudetest.UseTool("Bash", map[string]string{"command": "cd /tmp && rm -r *"}),
		claudetest.UseTool("Read", map[string]string{"file_path": filepath.Join(dir, "..", "secret")}),
		claudetest.UseTool("Edit", map[string]string{"file_path": filepath.Join(dir, ".env")}),
		claudetest.UseTool("Read", map[string]string{"file_path": filepath.Join(dir, "go.mod")}),
		claudetest.UseTool("Bash", map[string]string{"command": "git commit", "description": "Commit"}),
		claudetest.Say("Done."),
	)
	var out strings.Builder
	if err := run(t.Context(), &out, dir, cli); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{false, false, false, true, true} {
		if use := cli.Recording().Tools()[i]; use.Ran != want {
			t.Errorf("%s %s: ran %v, want %v: %s", use.Name, use.Input, use.Ran, want, use.Output)
		}
	}
	lines := strings.Split(out.String(), "\n")
	if got, want := lines[0], "not in this project"; !strings.Contains(got, want) {
		t.Errorf("the model reads %q, want %q in it", got, want)
	}
	if !slices.ContainsFunc(cli.Recording().Hooks(), func(h *claudetest.HookCall) bool {
		return strings.Contains(string(h.Reply), "Assisted-by: Claude") && strings.Contains(string(h.Reply), `"description":"Commit"`)
	}) {
		t.Error("no hook changed the commit, and nothing else of the call")
	}
}
