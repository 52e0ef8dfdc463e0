//go:build unix

package proc_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/proc"
)

func TestDeathBySignal(t *testing.T) {
	p := start(t, self(t, "killed"))
	exit := exitError(t, p.Wait())
	if exit.Code != -1 || exit.Signal != "killed" {
		t.Errorf("got code %d, signal %q, want -1, killed", exit.Code, exit.Signal)
	}
	if got, want := exit.Error(), "ended by signal: killed"; got != want {
		t.Errorf("text: got %q, want %q", got, want)
	}
}

func TestStopIsPoliteFirst(t *testing.T) {
	p := start(t, self(t, "polite"))
	out := read(t, p)
	out.line()
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	if got := out.line(); got != "goodbye" {
		t.Errorf("last line: got %q, want goodbye", got)
	}
	if exit := exitError(t, p.Wait()); exit.Code != 143 || exit.Signal != "" {
		t.Errorf("got code %d, signal %q, want code 143", exit.Code, exit.Signal)
	}
}

func TestStopSuspended(t *testing.T) {
	p := start(t, self(t, "polite"))
	read(t, p).line()
	if err := syscall.Kill(p.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	p.Stop()
	if exit := exitError(t, p.Wait()); exit.Code != 143 {
		t.Errorf("got code %d, signal %q, want code 143", exit.Code, exit.Signal)
	}
}

func TestStopStubborn(t *testing.T) {
	c := self(t, "stubborn")
	c.Term = 100 * time.Millisecond
	p := start(t, c)
	read(t, p).line()
	p.CloseWrite()
	begin := time.Now()
	within(t, 20*time.Second, "Stop", func() {
		if err := p.Stop(); err != nil {
			t.Errorf("Stop: %v", err)
		}
	})
	if took := time.Since(begin); took < c.Term {
		t.Errorf("killed after %v, want %v of patience", took, c.Term)
	}
	if exit := exitError(t, p.Wait()); exit.Signal != "killed" {
		t.Errorf("got code %d, signal %q, want killed", exit.Code, exit.Signal)
	}
	if err := p.Stop(); err != nil {
		t.Errorf("second Stop: %v", err)
	}
}

func TestNoPatience(t *testing.T) {
	c := self(t, "stubborn")
	c.Term, c.Drain = -1, -1
	p := start(t, c)
	read(t, p).line()
	if err := p.Stop(); err != nil {
		t.Errorf("Stop: %v", err)
	}
}

// A process that holds the pipes and cannot be found must not delay the caller
// for longer than the drain.
func TestDrainIsBounded(t *testing.T) {
	c := self(t, "leave", "hold", string(inSession), string(withPipes), string(withoutMark))
	c.Drain = 100 * time.Millisecond
	p := start(t, c)
	pid := read(t, p).pid()
	defer syscall.Kill(pid, syscall.SIGKILL)
	p.CloseWrite()
	<-p.Done()
	within(t, 20*time.Second, "the end of output and Wait", func() {
		if rest, err := io.ReadAll(p); err != nil || len(rest) > 0 {
			t.Errorf("rest: got %q, %v, want io.EOF", rest, err)
		}
		if err := p.Wait(); err != nil {
			t.Errorf("Wait: %v", err)
		}
		if err := p.Stop(); err != nil {
			t.Errorf("Stop: %v", err)
		}
	})
	if err := syscall.Kill(pid, 0); err != nil {
		t.Errorf("a process that is not ours to end: %v", err)
	}
}

// Bytes that were in the pipe when the drain ended are not lost either.
func TestUnreadOutputSurvivesDrain(t *testing.T) {
	c := self(t, "leave", "hold", string(inSession), string(withPipes), string(withoutMark))
	c.Drain = 50 * time.Millisecond
	p := start(t, c)
	p.CloseWrite()
	p.Wait()
	p.Stop()
	pid := read(t, p).pid()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("the holder: %v", err)
	}
}

func TestStartErrors(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	exe, _ := os.Executable()
	for _, test := range []struct {
		name string
		path string
		args []string
		want []error
		text string
	}{
		{name: "missing", path: filepath.Join(dir, "missing"), want: []error{os.ErrNotExist}, text: "no such program"},
		{name: "below a file", path: filepath.Join(exe, "claude"), want: []error{os.ErrNotExist}, text: "no such program"},
		{name: "directory", path: dir, want: []error{proc.ErrNotExecutable, syscall.EISDIR}, text: "directory"},
		{name: "no permission", path: write("plain", "#!/bin/sh\n", 0o600), want: []error{proc.ErrNotExecutable, os.ErrPermission}},
		{name: "no program", path: write("text", "just text\n", 0o700), want: []error{proc.ErrNotExecutable, syscall.ENOEXEC}},
		{name: "no interpreter", path: write("script", "#!/no/such/interpreter\n", 0o700), want: []error{proc.ErrInterpreter}},
		{name: "too long", path: exe, args: []string{strings.Repeat("a", 8<<20)}, want: []error{proc.ErrArgsTooLong, syscall.E2BIG}},
		{name: "NUL", path: exe, args: []string{"a\x00b"}, want: []error{syscall.EINVAL}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := proc.Start(t.Context(), &proc.Command{Path: test.path, Args: test.args})
			for _, want := range test.want {
				if !errors.Is(err, want) {
					t.Errorf("got %v, want %v", err, want)
				}
			}
			if err == nil {
				t.Fatal("started")
			}
			if !strings.Contains(err.Error(), test.text) {
				t.Errorf("got %q, want %q in it", err, test.text)
			}
			if _, missing := errors.AsType[*proc.NotFoundError](err); missing != strings.Contains(test.text, "no such program") {
				t.Errorf("got %v: NotFoundError %t", err, missing)
			}
		})
	}
}

// A script of the CLI is run by node, whatever its permissions.
func TestNodeRunsScripts(t *testing.T) {
	dir := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(exe, filepath.Join(dir, "node")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"cli.js", "cli.mjs", "cli.cjs"} {
		script := filepath.Join(dir, name)
		if err := os.WriteFile(script, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		c := self(t, "show", "--flag")
		c.Path = script
		c.Env = append(c.Env, "PATH="+dir)
		out := read(t, start(t, c))
		out.line()
		out.line()
		if got, want := out.line(), script+"|--flag"; got != want {
			t.Errorf("arguments of node: got %q, want %q", got, want)
		}
		c.Env = append(c.Env, "PATH=")
		_, err := proc.Start(t.Context(), c)
		if e, ok := errors.AsType[*proc.NotFoundError](err); !ok || e.Name != "node" {
			t.Errorf("without node: got %v, want that node is not found", err)
		}
	}
}

// shell runs a line of sh.
func shell(line string) *proc.Command {
	return &proc.Command{Path: "/bin/sh", Args: []string{"-c", line}, Env: os.Environ(), Drain: 100 * time.Millisecond}
}

// A child that closes its output has said all it has to say, though it lives on.
func TestOutputEndsBeforeTheChild(t *testing.T) {
	p := start(t, shell("echo last; exec >&-; read line || true"))
	if n, err := p.Read(make([]byte, 100)); n != 5 || err != nil {
		t.Fatalf("read %d bytes, %v", n, err)
	}
	if n, err := p.Read(make([]byte, 100)); n != 0 || err != io.EOF {
		t.Errorf("read %d bytes, %v, want %v", n, err, io.EOF)
	}
	p.CloseWrite()
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
}

// A child whose output is no longer read gets an error when it writes.
func TestCloseReadEndsAWriter(t *testing.T) {
	p := start(t, shell("while echo more; do :; done 2>/dev/null"))
	p.CloseRead()
	p.CloseRead()
	ended := make(chan struct{})
	go func() { p.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Error("the child writes on")
	}
	if n, err := p.Read(make([]byte, 100)); n != 0 || err != io.EOF {
		t.Errorf("read %d bytes, %v, want %v", n, err, io.EOF)
	}
}

// StderrTo gets what the child writes, byte for byte.
func TestStderrTo(t *testing.T) {
	var got strings.Builder
	c := shell("printf 'one\\ntwo' >&2")
	c.StderrTo = &got
	p := start(t, c)
	if err := errors.Join(p.Wait(), p.Stop()); err != nil { // Stop waits for the pipes
		t.Fatal(err)
	}
	if got.String() != "one\ntwo" {
		t.Errorf("got %q", got.String())
	}
}

func TestDirErrorNamesTheDirectory(t *testing.T) {
	err := &proc.DirError{Dir: "/nowhere", Err: syscall.ENOENT}
	if want := "working directory /nowhere: no such file or directory"; err.Error() != want || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v, want %s", err, want)
	}
}
