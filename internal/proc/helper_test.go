package proc_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/proc"
	"github.com/claude-agent-go/claude/internal/test/leak"
)

// modeVariable makes the test binary behave as a child process. The helpers
// stand for the CLI and what it starts.
const modeVariable = "PROC_TEST_MODE"

func TestMain(m *testing.M) {
	if mode := os.Getenv(modeVariable); mode != "" {
		helper(mode)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// helper runs in the child.
func helper(mode string) {
	if systemHelper(mode) {
		return
	}
	switch mode {
	case "echo":
		io.Copy(os.Stdout, os.Stdin)
	case "exit":
		fmt.Fprintln(os.Stderr, "leaving with", os.Args[1])
		code, _ := strconv.Atoi(os.Args[1])
		os.Exit(code)
	case "show":
		dir, _ := os.Getwd()
		fmt.Printf("%s\n%s\n%s\n", dir, os.Getenv(proc.MarkVariable), strings.Join(os.Args[1:], "|"))
	case "burst":
		os.Stdout.Write(bytes.Repeat([]byte("x"), pipeRoom))
	case "flood":
		line := append(bytes.Repeat([]byte("e"), 1023), '\n')
		for range 10 << 10 {
			os.Stderr.Write(line)
		}
		fmt.Fprintln(os.Stderr, "the last line")
		os.Exit(3)
	case "lines":
		io.WriteString(os.Stderr, "first\r\n\n"+strings.Repeat("y", 100<<10)+"\nlast without end")
	case "silent": // reads nothing, ends by being ended
		fmt.Println("ready")
		forever()
	default:
		fmt.Fprintln(os.Stderr, "no such helper:", mode)
		os.Exit(99)
	}
}

// self returns a command that runs the test binary as the given helper, with
// short bounds.
func self(t *testing.T, mode string, args ...string) *proc.Command {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &proc.Command{
		Path: exe,
		Args: args,
		// A binary built for race detection would take a second to exit.
		Env:   append(os.Environ(), modeVariable+"="+mode, "GORACE=atexit_sleep_ms=0"),
		Term:  30 * time.Second,
		Kill:  30 * time.Second,
		Drain: 30 * time.Second,
	}
}

// start starts a command and stops it when the test is over.
func start(t *testing.T, c *proc.Command) *proc.Process {
	t.Helper()
	p, err := proc.Start(t.Context(), c)
	if err != nil {
		t.Fatalf("Start: %v", err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Errorf("Stop in cleanup: %v", err)
		}
	})
	return p
}

// reader reads lines of a process.
type reader struct {
	t *testing.T
	r *bufio.Reader
}

func read(t *testing.T, r io.Reader) *reader { return &reader{t, bufio.NewReader(r)} }

func (r *reader) line() string {
	r.t.Helper()
	s, err := r.r.ReadString('\n')
	if err != nil {
		r.t.Fatalf("read a line: got %q, %v", s, err)
	}
	return strings.TrimSuffix(s, "\n")
}

func (r *reader) pid() int {
	r.t.Helper()
	pid, err := strconv.Atoi(r.line())
	if err != nil {
		r.t.Fatal(err)
	}
	return pid
}

// within fails the test when f does not return in time.
func within(t *testing.T, d time.Duration, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(d):
		t.Fatalf("%s took more than %v", what, d)
	}
}

// eventually looks again and again until ok, for states that no event reports.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s did not happen", what)
		}
	}
}

// runningIn lists the processes whose working directory is dir, where the system
// shows them.
func runningIn(dir string) (found []string) {
	for _, link := range leak.ProcFiles("cwd") {
		if cwd, err := os.Readlink(link); err == nil && cwd == dir {
			found = append(found, link)
		}
	}
	return found
}

// exitError returns the ExitError in err.
func exitError(t *testing.T, err error) *proc.ExitError {
	t.Helper()
	exit, ok := errors.AsType[*proc.ExitError](err)
	if !ok {
		t.Fatalf("Wait: got %v, want an ExitError", err)
	}
	return exit
}

// forever blocks a helper for longer than any test takes. A plain select{}
// would be reported as a deadlock and end it.
func forever() { <-time.After(10 * time.Minute) }
