//go:build unix

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/inspect"
	"github.com/claude-agent-go/claude/permission"
)

// An SDK drives a CLI through the script that record writes; each session gets a
// file of its own, which inspect reads.
func TestRecordWrapper(t *testing.T) {
	dir := t.TempDir()
	script, wrapper, file := filepath.Join(dir, "script.json"), filepath.Join(dir, "it's a CLI"), filepath.Join(dir, "session.ndjson")
	if err := os.WriteFile(script, []byte(`[{"use":[{"name":"Bash","input":{"command":"ls"}}]}, "the-secret-of-tests is out"]`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := invoke(t, "", "record", "--wrapper", wrapper, "-o", file, "--", os.Args[0], "fake", script); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	opts := &claude.Options{
		CLIPath: wrapper, Env: []string{"PATH=/bin:/usr/bin", "HOME=" + dir, asProgram + "=1", "A_TOKEN=the-secret-of-tests"},
		CanUseTool: func(context.Context, *permission.Request) (permission.Decision, error) {
			return permission.Allow(), nil
		},
	}
	for _, name := range []string{file, filepath.Join(dir, "session-2.ndjson")} {
		result, err := claude.Ask(t.Context(), "Go.", opts)
		if err != nil || result.Text != "the-secret-of-tests is out" {
			t.Fatalf("%v, %v", result, err)
		}
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Fatalf("%s: %v, %v", name, info, err)
		}
		var rep inspect.Report
		decode(t, invoke(t, "", "inspect", "--json", name), &rep)
		if s := rep.Summary; s.Turns != 1 || s.ToolCalls != 1 || s.Asked != 1 || s.Unanswered != 0 || s.ExitCode == nil || *s.ExitCode != 0 || len(rep.Problems) > 0 {
			t.Errorf("%s: %+v, problems %v", name, s, rep.Problems)
		}
		data, err := os.ReadFile(name)
		if err != nil || strings.Contains(string(data), "the-secret-of-tests") || !strings.Contains(string(data), "[redacted] is out") {
			t.Errorf("the recording shows a secret (%v):\n%s", err, data)
		}
	}
}

// Whatever the words of a command are, the script passes them on and runs
// nothing of them.
func TestRecordWrapperQuotes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "it's $HOME `id`; \"a\"")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	wrapper, file, pwned := filepath.Join(dir, "wrapper"), filepath.Join(dir, "s.ndjson"), filepath.Join(dir, "pwned")
	words := []string{"'; touch '" + pwned + "'; '", "$(touch pwned)", "`touch pwned`", "a b", `\`, "'", "\n", ""}
	args := append([]string{"record", "--wrapper", wrapper, "-o", file, "--", "printf", "<%s>"}, words...)
	if got := invoke(t, "", args...); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	cmd := exec.CommandContext(t.Context(), wrapper, "last 'one'")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), asProgram+"=1")
	out, err := cmd.Output()
	if want := "<" + strings.Join(append(words, "last 'one'"), "><") + ">"; err != nil || string(out) != want {
		t.Errorf("printed %q, %v, want %q", out, err, want)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(dir), "*", "pwned*")); err != nil || len(left) > 0 {
		t.Errorf("the script ran what it should quote: %q, %v", left, err)
	}
}

func TestRecord(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.ndjson")
	got := invoke(t, "{\"n\":1}\nhalf", "record", "-o", file, "--", "sh", "-c", "cat; printf oops >&2; exit 9")
	if got != (outcome{9, "{\"n\":1}\nhalf", "oops"}) {
		t.Errorf("%+v, want everything as it is, and code 9", got)
	}
	data, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(data), `"msg":{"n":1}`) || !strings.Contains(string(data), `{"stderr":"oops"}`) || !strings.Contains(string(data), `{"exit_code":9}`) {
		t.Errorf("%s, %v", data, err)
	}
	// An option of the command is not ours, and a signal is one.
	if got := invoke(t, "", "record", "-o", file, "sh", "-c", "echo --help; kill -TERM $$"); got.code != 143 || got.stdout != "--help\n" {
		t.Errorf("%+v, want 143", got)
	}
}

func TestRecordBadInput(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		code exitCode
		want string
	}{
		{[]string{"record", "--"}, exitUsage, "nothing to record"},
		{[]string{"record", "-o", filepath.Join(dir, "no", "file"), "--", "sh"}, exitInput, "no such file"},
		{[]string{"record", "-o", filepath.Join(dir, "a"), "--", filepath.Join(dir, "nobody")}, exitNotFound, "no such program"},
		{[]string{"record", "-o", filepath.Join(dir, "b"), "--", plain}, exitStart, "not an executable program"},
	} {
		got := invoke(t, "", tt.args...)
		if got.code != int(tt.code) || !strings.Contains(got.stderr, tt.want) || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("%v: %+v, want code %d and %q", tt.args, got, tt.code, tt.want)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "[ab]")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
