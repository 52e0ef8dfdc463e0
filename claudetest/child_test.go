package claudetest_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/internal/test/need"
)

// scripts are those that the test binary plays when it is its own child.
var scripts = map[string]*claudetest.Script{
	"plain":       {Replies: []claudetest.Reply{claudetest.UseTool("Read", nil), claudetest.Say("fine")}},
	"flood":       {Faults: []claudetest.Fault{{StderrBytes: 1 << 20}, {Line: 3, StderrBytes: 1 << 20}}, Replies: []claudetest.Reply{claudetest.Say("fine")}},
	"pieces":      {Chunk: 5, Replies: []claudetest.Reply{claudetest.Say("fine")}},
	"exit":        {Faults: []claudetest.Fault{{Line: 5, Exit: new(7), Stderr: "gone\n"}}},
	"kill":        {Faults: []claudetest.Fault{{Line: 5, Signal: "KILL"}}},
	"term":        {Faults: []claudetest.Fault{{Line: 5, Signal: "TERM"}}},
	"ignore eof":  {IgnoreEOF: true, Replies: []claudetest.Reply{claudetest.Say("fine")}},
	"ignore term": {IgnoreEOF: true, IgnoreTerm: true, Replies: []claudetest.Reply{claudetest.Say("fine")}},
	"grandchild":  {Grandchild: true, Replies: []claudetest.Reply{claudetest.Say("fine")}},
}

func TestMain(m *testing.M) {
	claudetest.Main(scripts)
	os.Exit(m.Run())
}

// mark is in the environment of every child of these tests.
var mark = leak.Mark()

// asChild are options by which the test binary is the CLI.
func asChild(env ...string) *claude.Options {
	return &claude.Options{
		CLIPath: os.Args[0], Env: append(os.Environ(), append(env, mark)...),
		Timeouts: claude.Timeouts{Close: 20 * time.Second},
	}
}

func TestChildSession(t *testing.T) {
	for _, name := range []string{"plain", "flood", "pieces", "ignore eof", "ignore term", "grandchild"} {
		t.Run(name, func(t *testing.T) {
			leak.Check(t)
			o := asChild(claudetest.Play(name))
			if strings.HasPrefix(name, "ignore") { // however long it gets
				o.Timeouts.Close = 100 * time.Millisecond
			}
			r, err := ask(t, o, "hi")
			if err != nil || r.Text != "fine" {
				t.Errorf("result %+v, %v", r, err)
			}
		})
	}
}

func TestChildEnds(t *testing.T) {
	tests := map[string]struct {
		code   int
		signal string
	}{"exit": {code: 7}, "kill": {code: -1, signal: "killed"}, "term": {code: -1, signal: "terminated"}}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			if want.signal != "" {
				need.Signals.Test(t)
			}
			leak.Check(t)
			_, err := ask(t, asChild(claudetest.Play(name)), "hi")
			p, ok := errors.AsType[*claude.ProcessError](err)
			if !ok || want.signal == "" && p.ExitCode != want.code || want.signal != "" && p.Signal == "" {
				t.Errorf("error %v (%+v), want %+v", err, p, want)
			}
			if name == "exit" && ok && !strings.Contains(p.Stderr, "gone") {
				t.Errorf("stderr %q", p.Stderr)
			}
		})
	}
}

// The stand-alone executable plays a script from a file, and explains why it
// cannot read a bad one.
func TestExecutable(t *testing.T) {
	long.Test(t, "builds claudectl")
	exe := buildFake(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "session.txtar")
	if err := os.WriteFile(file, []byte("-- say --\nfrom a file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	leak.Check(t)
	o := asChild(claudetest.PlayFile(file))
	o.CLIPath = exe
	if r, err := ask(t, o, "hi"); err != nil || r.Text != "from a file" {
		t.Errorf("result %+v, %v", r, err)
	}
	out, err := exec.Command(exe, "fake", file, "--version").Output()
	if err != nil || !strings.HasPrefix(string(out), claudetest.Version) {
		t.Errorf("--version: %s, %v", out, err)
	}
	if err := os.WriteFile(file, []byte("-- shout --\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ask(t, o, "hi"); err == nil || !strings.Contains(err.Error(), "shout: no such section") {
		t.Errorf("bad script: %v", err)
	}
}

// buildFake builds the stand-alone executable.
func buildFake(t *testing.T) string {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "claudectl")
	cmd := exec.Command("go", "build", "-o", exe, "github.com/claude-agent-go/claude/cmd/claudectl")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return exe
}
