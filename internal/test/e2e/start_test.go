package e2e

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/internal/test/realcli"
)

// starts are the ways in.
var starts = map[string]func(t *testing.T, o *claude.Options) error{
	"Connect": func(t *testing.T, o *claude.Options) error { return errorOf(claude.Connect(t.Context(), o)) },
	"Ask":     func(t *testing.T, o *claude.Options) error { return errorOf(claude.Ask(t.Context(), "hi", o)) },
	"Query": func(t *testing.T, o *claude.Options) error {
		return errorOf(harness.Collect(claude.Query(t.Context(), "hi", o)))
	},
	"Ask with callbacks": func(t *testing.T, o *claude.Options) error {
		own := *o
		own.CanUseTool = allowAll
		return errorOf(claude.Ask(t.Context(), "hi", &own))
	},
}

// promptly returns what a start that must fail fails with, and wants it within
// 2 s, or within the time of a few bare starts on a machine that is busy. The
// best of three counts.
func promptly(t *testing.T, cli string, start func() error) error {
	t.Helper()
	var took, bound time.Duration
	for range 3 {
		begin := time.Now()
		err := start()
		if took = time.Since(begin); took < 2*time.Second {
			return err
		}
		begin = time.Now()
		if err := exec.Command(cli, "--help").Run(); err != nil {
			t.Fatal(err)
		}
		if bound = 8 * time.Since(begin); took < bound {
			return err
		}
	}
	t.Errorf("took %v, want less than %v", took, bound)
	return start()
}

func TestRealUnknownResume(t *testing.T) {
	for name, start := range starts {
		t.Run(name, func(t *testing.T) {
			r := realCLI(t)
			r.opts.Resume = "00000000-0000-4000-8000-00000000dead"
			err := promptly(t, r.opts.CLIPath, func() error { return start(t, r.opts) })
			if failed, ok := errors.AsType[*claude.StartError](err); !ok || failed.Reason != claude.ErrNoSession || !errors.Is(err, claude.ErrNoSession) {
				t.Errorf("error = %v, want ErrNoSession", err)
			}
			if text := err.Error(); strings.Count(text, "No conversation found") != 1 || strings.Count(text, "claude: ") != 1 {
				t.Errorf("the error says %q, want the CLI's own text once", text)
			}
			if exit, ok := errors.AsType[*claude.ProcessError](err); !ok || exit.ExitCode != 1 || realcli.Has("2.1.325") && exit.Result == nil {
				t.Errorf("error = %#v, want the early result in it", err)
			}
			if failed, _ := errors.AsType[*claude.StartError](err); failed != nil && failed.Nearby != nil {
				t.Errorf("nearby are %q, where no session has been", failed.Nearby)
			}
		})
	}
}

// An unknown id is answered with sessions that exist in that directory, and only
// there.
func TestRealUnknownResumeNearby(t *testing.T) {
	t.Parallel()
	r := realCLI(t, claudetest.Say("One."))
	res, err := claude.Ask(t.Context(), "Count the bolts.", r.opts)
	if err != nil {
		t.Fatal(err)
	}
	r.opts.Resume = "00000000-0000-4000-8000-00000000dead"
	for _, name := range []string{"Connect", "Ask"} {
		err := starts[name](t, r.opts)
		failed, ok := errors.AsType[*claude.StartError](err)
		want := res.SessionID + " (Count the bolts.)"
		if !ok || len(failed.Nearby) != 1 || failed.Nearby[0] != want || !strings.Contains(err.Error(), "sessions of this directory are "+want) {
			t.Errorf("%s: %v, want %q named", name, err, want)
		}
	}
	r.opts.Cwd = t.TempDir()
	if failed, ok := errors.AsType[*claude.StartError](starts["Connect"](t, r.opts)); !ok || failed.Nearby != nil {
		t.Errorf("elsewhere: %+v, want none", failed)
	}
}

func TestRealBadFlag(t *testing.T) {
	for name, start := range starts {
		t.Run(name, func(t *testing.T) {
			r := realCLI(t)
			r.opts.ExtraArgs = []string{"--no-such-flag=1"}
			heard := make(chan string, 100)
			r.opts.Stderr = func(line string) { heard <- line }
			err := promptly(t, r.opts.CLIPath, func() error { return start(t, r.opts) })
			bad, ok := errors.AsType[*claude.OptionError](err)
			if !ok || bad.Field != "ExtraArgs" || !strings.Contains(err.Error(), "--no-such-flag") {
				t.Errorf("error = %v", err)
			}
			if line := <-heard; !strings.Contains(line, "--no-such-flag") {
				t.Errorf("Stderr heard %q", line)
			}
		})
	}
}

func TestRealResume(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "1.0.128", "a resumed session that keeps its id")
	r := realCLI(t, claudetest.Say("one"), claudetest.Say("two"), claudetest.Say("three"))
	s := r.connect(t)
	if _, err := s.Ask(t.Context(), "first"); err != nil {
		t.Fatal(err)
	}
	s.Close()
	r.opts.Resume = s.ID()
	if res, err := claude.Ask(t.Context(), "second", r.opts); err != nil || res.SessionID != s.ID() {
		t.Errorf("resumed: %+v, %v", res, err)
	}
	r.opts.ForkSession = true
	if res, err := claude.Ask(t.Context(), "third", r.opts); err != nil || res.SessionID == s.ID() {
		t.Errorf("forked: %+v, %v", res, err)
	}
	if calls := r.calls(); len(calls) != 3 || !strings.Contains(string(calls[2].Raw), "first") {
		t.Errorf("%d calls, want the third to carry the first prompt", len(calls))
	}
}

// TestRealHostDies kills a program that uses the SDK while a shell of its CLI
// runs.
func TestRealHostDies(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "ending shells at SIGTERM")
	dir := t.TempDir()
	call, started := shell(dir)
	r := realCLI(t, call)
	host := exec.Command(os.Args[0], "-test.run=^$")
	host.Env = append(os.Environ(), "CLAUDE_TEST_ROLE=host", "HOST_CLI="+r.opts.CLIPath, "HOST_DIR="+r.dir, "HOST_ENV="+strings.Join(r.opts.Env, "\x1f"))
	out, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "connected" {
		t.Errorf("the host said %q", lines.Text())
	}
	waitForFile(t, started)
	if n := len(leak.MarkedBy(r.mark)); n < 2 {
		t.Errorf("%d processes, want the CLI and its shell", n)
	}
	if err := host.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	host.Wait()
	// leak.Processes waits until the CLI and its shell are gone.
}

func TestRealStartupIsQuick(t *testing.T) {
	r := realCLI(t)
	begin := time.Now()
	s := r.connect(t)
	t.Logf("Connect took %v", time.Since(begin))
	if pid := s.PID(); pid <= 0 {
		t.Errorf("PID = %d", pid)
	}
	if pid := s.Info().PID; pid <= 0 {
		if realcli.Has("2.1.325") {
			t.Errorf("pid %d", pid)
		}
	} else if _, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid))); err != nil {
		t.Error(err)
	}
}
