package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/internal/test/realcli"
)

// TestRealResumeLongPrompt continues a session whose first prompt is longer than
// what a listing reads of a file: in its own directory, not in that of the caller.
func TestRealResumeLongPrompt(t *testing.T) {
	cli := realcli.Need(t, realcli.Version)
	model := claudetest.NewModel(claudetest.Say("Seven bolts."), claudetest.UseTool("Bash", map[string]any{"command": "pwd"}), claudetest.Say("Here."))
	base, err := model.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	env, _ := realcli.Env(t, base)
	dir := t.TempDir()
	invoke := func(stdin string, args ...string) outcome {
		t.Helper()
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), args, strings.NewReader(stdin), &stdout, &stderr, env); code != 0 {
			t.Fatalf("%q: exit code %d, stdout %q, stderr %q", args, code, stdout.String(), stderr.String())
		}
		return outcome{0, stdout.String(), stderr.String()}
	}
	got := invoke("Count: "+strings.Repeat("bolt ", 20<<10), "run", "--cli", cli, "--cwd", dir)
	id := sessionLine.FindStringSubmatch(got.stderr)
	if id == nil {
		t.Fatalf("no session in %q", got.stderr)
	}
	c := &console{ctx: t.Context(), env: env}
	h, err := c.history()
	if err != nil {
		t.Fatal(err)
	}
	info, err := h.Info(t.Context(), id[1])
	if err != nil || info.Dir != dir || !strings.HasPrefix(info.Entrypoint, "sdk-") || !strings.HasPrefix(info.FirstPrompt, "Count: bolt") {
		t.Errorf("directory %q, entry point %q, first prompt %q, %v; want %q", info.Dir, info.Entrypoint, info.FirstPrompt, err, dir)
	}
	for info, err := range h.List(t.Context(), history.Query{SkipProgrammatic: true}) {
		t.Errorf("a program's session is listed among those of people: %+v, %v", info, err)
	}
	invoke("", "sessions", "resume", id[1], "--cli", cli, "Where are you?")
	calls := model.Calls()
	if results := calls[len(calls)-1].ToolResults; len(results) != 1 || strings.TrimSpace(results[0].Text) != dir {
		t.Errorf("the shell of the resumed session is in %+v, want %s", results, dir)
	}
}
