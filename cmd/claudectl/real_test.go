//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/realcli"
)

// TestReal runs the commands on the real CLI, with a scripted model behind it.
func TestReal(t *testing.T) {
	cli := realcli.Need(t, realcli.Version)
	model := claudetest.NewModel(
		claudetest.UseTool("Bash", map[string]string{"command": "touch made-by-the-test"}),
		claudetest.Say("Done."),
	)
	base, err := model.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	env, home := realcli.Env(t, base)
	env = append(env, asProgram+"=1") // for the helper of doctor
	invoke := func(args ...string) outcome {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), args, strings.NewReader(""), &stdout, &stderr, env)
		return outcome{code, stdout.String(), stderr.String()}
	}
	t.Run("doctor", func(t *testing.T) {
		got := invoke("doctor", "--json", "--cli", cli, "--cwd", home)
		var u checkup
		if err := json.Unmarshal([]byte(got.stdout), &u); err != nil || got.code != 0 {
			t.Fatalf("exit code %d, %v in %q, stderr %q", got.code, err, got.stdout, got.stderr)
		}
		t.Logf("%s", got.stdout)
		for _, f := range u.Findings {
			if f.Grade != gradeOK {
				t.Errorf("%+v, want ok", f)
			}
		}
		last := u.Findings[len(u.Findings)-1]
		if u.Version != realcli.Version || last.Name != "stop" {
			t.Errorf("version %q, at the end %+v, want %q and the stop", u.Version, last, realcli.Version)
		}
		if runtime.GOOS == "linux" && !strings.Contains(last.Detail, "tree of 2 processes") {
			t.Errorf("at the end %+v, want a tree of 2 processes: the CLI and the helper", last)
		}
		for _, entry := range env {
			if name, value, _ := strings.Cut(entry, "="); strings.HasSuffix(name, "KEY") && strings.Contains(got.stdout, value) {
				t.Errorf("the value of %s is shown", name)
			}
		}
	})
	t.Run("run", func(t *testing.T) {
		got := invoke("run", "--cli", cli, "--cwd", home, "Make a file.")
		if got.code != 0 || got.stdout != "Done.\n" {
			t.Errorf("exit code %d, stdout %q, want 0 and the answer", got.code, got.stdout)
		}
		for _, want := range []string{"> Bash  touch made-by-the-test", "denied: Bash", "< Bash denied: ", "this turn, $", "2 agentic turns", "resume with: claudectl run --resume "} {
			if !strings.Contains(got.stderr, want) {
				t.Errorf("stderr %q, want %q in it", got.stderr, want)
			}
		}
	})
	t.Run("run with a background agent", func(t *testing.T) {
		model.Add(
			claudetest.UseTool("Agent", map[string]any{"description": "look", "prompt": "look", "subagent_type": "general-purpose"}),
			claudetest.Say("One."), claudetest.Say("One."), claudetest.Say("Two."))
		got := invoke("run", "--cli", cli, "--cwd", home, "--allow", "Agent", "Look around.")
		// The agent and the first turn speak at the same time, and in the same
		// words; the turn that answers the agent comes last.
		if got.code != 0 || !strings.HasSuffix(got.stdout, "Two.\n") {
			t.Errorf("exit code %d, stdout %q, stderr %q, want the answer after the agent", got.code, got.stdout, got.stderr)
		}
	})
	t.Run("demo", func(t *testing.T) {
		got := invoke("demo", "--scripted-model", "--cli", cli)
		if got.code != 0 || !strings.Contains(got.stdout, "returns 42") || !strings.Contains(got.stdout, "result  interrupted") || strings.Contains(got.stdout, "aborted") {
			t.Errorf("exit code %d, stdout %q, stderr %q, want the whole demo", got.code, got.stdout, got.stderr)
		}
	})
}
