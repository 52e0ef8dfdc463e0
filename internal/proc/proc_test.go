package proc_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/proc"
	"github.com/claude-agent-go/claude/internal/test/long"
)

func TestEcho(t *testing.T) {
	p := start(t, self(t, "echo"))
	out := read(t, p)
	for _, want := range []string{"one", "two", strings.Repeat("long", 50_000)} {
		go p.Write([]byte(want + "\n"))
		if got := out.line(); got != want {
			t.Fatalf("echo: got %d bytes, want %d", len(got), len(want))
		}
	}
	if err := p.CloseWrite(); err != nil {
		t.Errorf("CloseWrite: %v", err)
	}
	if err := p.CloseWrite(); err != nil {
		t.Errorf("second CloseWrite: %v", err)
	}
	if rest, err := io.ReadAll(p); err != nil || len(rest) > 0 {
		t.Errorf("rest: got %q, %v", rest, err)
	}
	if err := p.Wait(); err != nil {
		t.Errorf("Wait: %v", err)
	}
	if _, err := p.Write([]byte("x")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Write after CloseWrite: got %v, want os.ErrClosed", err)
	}
	if n, err := p.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("Read after the end: got %d, %v, want io.EOF", n, err)
	}
}

func TestExitCode(t *testing.T) {
	for _, test := range []struct {
		arg  string
		code int
	}{{"0", 0}, {"1", 1}, {"143", 143}} {
		t.Run(test.arg, func(t *testing.T) {
			p := start(t, self(t, "exit", test.arg))
			err := p.Wait()
			if test.code == 0 {
				if err != nil {
					t.Fatalf("Wait: got %v, want nil", err)
				}
				return
			}
			exit := exitError(t, err)
			if exit.Code != test.code || exit.Signal != "" {
				t.Errorf("got code %d, signal %q, want code %d", exit.Code, exit.Signal, test.code)
			}
			if want := "leaving with " + test.arg; !strings.Contains(exit.Stderr, want) || !strings.Contains(err.Error(), want) {
				t.Errorf("stderr: got %q in %q, want %q", exit.Stderr, err, want)
			}
		})
	}
}

func TestChildSeesItsCommand(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := self(t, "show", "--flag=a b", "", "ü")
	c.Dir = dir
	c.Env = append(c.Env, proc.MarkVariable+"=inherited")
	p := start(t, c)
	out := read(t, p)
	if got := out.line(); got != dir {
		t.Errorf("directory: got %q, want %q", got, dir)
	}
	if mark := out.line(); len(mark) != 32 {
		t.Errorf("mark: got %q, want 32 hex digits", mark)
	}
	if got, want := out.line(), "--flag=a b||ü"; got != want {
		t.Errorf("arguments: got %q, want %q", got, want)
	}
}

func TestUnreadOutputSurvivesExit(t *testing.T) {
	p := start(t, self(t, "burst"))
	if err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(); err != nil {
		t.Fatalf("Stop: %v", err)
	}
	got, err := io.ReadAll(p)
	if err != nil || len(got) != pipeRoom {
		t.Errorf("got %d bytes, %v, want %d", len(got), err, pipeRoom)
	}
}

func TestStderrFloodWithoutReader(t *testing.T) {
	p := start(t, self(t, "flood"))
	exit := exitError(t, p.Wait())
	if exit.Code != 3 {
		t.Errorf("code: got %d, want 3", exit.Code)
	}
	if len(exit.Stderr) > 16<<10 || len(exit.Stderr) < 15<<10 {
		t.Errorf("tail: got %d bytes, want nearly 16 KiB", len(exit.Stderr))
	}
	if !strings.HasSuffix(exit.Stderr, "\nthe last line\n") {
		t.Errorf("tail ends with %q", exit.Stderr[len(exit.Stderr)-40:])
	}
	if first, _, _ := strings.Cut(exit.Stderr, "\n"); len(first) != 1023 {
		t.Errorf("tail starts inside a line: first line has %d bytes, want 1023", len(first))
	}
	if len(exit.Error()) > 2<<10 {
		t.Errorf("error text has %d bytes, want a short one", len(exit.Error()))
	}
}

func TestStderrCallback(t *testing.T) {
	var lines []string
	end := make(chan struct{})
	c := self(t, "lines")
	c.Stderr = func(line string) {
		lines = append(lines, line)
		if strings.HasPrefix(line, "last") {
			close(end)
		}
	}
	start(t, c)
	<-end
	want := []string{"first", "", strings.Repeat("y", 64<<10) + " … (36864 more bytes)", "last without end"}
	if len(lines) != len(want) {
		t.Fatalf("got %d lines, want %d", len(lines), len(want))
	}
	for i := range want {
		if lines[i] != want[i] {
			t.Errorf("line %d: got %d bytes, want %d", i, len(lines[i]), len(want[i]))
		}
	}
}

func TestStderrCallbackCannotStall(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	c := self(t, "flood")
	c.Stderr = func(string) { <-release }
	p := start(t, c)
	if exit := exitError(t, p.Wait()); exit.Code != 3 {
		t.Errorf("code: got %d, want 3", exit.Code)
	}
	if err := p.Stop(); err != nil {
		t.Errorf("Stop: %v", err)
	}
}

func TestStderrCallbackMayPanic(t *testing.T) {
	calls := make(chan string, 8)
	c := self(t, "lines")
	c.Stderr = func(line string) {
		calls <- line
		panic("callback")
	}
	p := start(t, c)
	for range 4 {
		<-calls
	}
	if err := p.Wait(); err != nil {
		t.Errorf("Wait: %v", err)
	}
}

func TestWriteToDeadChild(t *testing.T) {
	p := start(t, self(t, "exit", "0"))
	p.Wait()
	if _, err := p.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("Write: got %v, want EPIPE", err)
	}
}

func TestStopEndsBlockedWrite(t *testing.T) {
	p := start(t, self(t, "silent"))
	read(t, p).line()
	wrote := make(chan error)
	go func() {
		_, err := p.Write(bytes.Repeat([]byte("x"), 1<<20))
		wrote <- err
	}()
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := <-wrote; !errors.Is(err, syscall.EPIPE) {
		t.Errorf("Write: got %v, want EPIPE", err)
	}
}

func TestCloseWriteEndsBlockedWrite(t *testing.T) {
	p := start(t, self(t, "silent"))
	read(t, p).line()
	wrote := make(chan error)
	go func() {
		for {
			if _, err := p.Write(bytes.Repeat([]byte("x"), 1<<20)); err != nil {
				wrote <- err
				return
			}
		}
	}()
	p.CloseWrite()
	if err := <-wrote; !errors.Is(err, os.ErrClosed) {
		t.Errorf("Write: got %v, want os.ErrClosed", err)
	}
}

func TestConcurrentStopWaitRead(t *testing.T) {
	p := start(t, self(t, "silent"))
	read(t, p).line()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := p.Stop(); err != nil {
				t.Errorf("Stop: %v", err)
			}
		})
		wg.Go(func() {
			if err := p.Wait(); err == nil {
				t.Error("Wait: got nil, want how it was ended")
			}
		})
		wg.Go(func() {
			if _, err := io.ReadAll(p); err != nil {
				t.Errorf("Read: %v", err)
			}
		})
		wg.Go(func() { p.Write([]byte("x\n")) })
		wg.Go(func() { p.StderrTail() })
		wg.Go(func() { p.CloseWrite() })
	}
	wg.Wait()
	select {
	case <-p.Done():
	default:
		t.Error("Done is open after Wait")
	}
}

func TestStartContext(t *testing.T) {
	t.Run("ended before", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := proc.Start(ctx, self(t, "echo")); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want context.Canceled", err)
		}
	})
	t.Run("ended after", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p, err := proc.Start(ctx, self(t, "echo"))
		if err != nil {
			t.Fatal(err)
		}
		defer p.Stop()
		cancel()
		p.Write([]byte("still here\n"))
		if got := read(t, p).line(); got != "still here" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("ended meanwhile", func(t *testing.T) {
		for n, i := long.Pick(16, 40), 0; i < n; i++ {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+i*2000/n)*time.Microsecond)
			c := self(t, "echo")
			c.Dir = t.TempDir()
			p, err := proc.Start(ctx, c)
			cancel()
			if err == nil {
				p.Stop()
			} else if !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("got %v, want context.DeadlineExceeded", err)
			}
			if left := runningIn(c.Dir); len(left) > 0 {
				t.Fatalf("a failed Start has left %q", left)
			}
		}
	})
}

func TestStartDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(t.TempDir(), "missing")
	for _, dir := range []string{missing, file} {
		c := self(t, "echo")
		c.Dir = dir
		_, err := proc.Start(t.Context(), c)
		e, ok := errors.AsType[*proc.DirError](err)
		if !ok || e.Dir != dir {
			t.Errorf("directory %s: got %v, want a DirError", dir, err)
		}
		if got, want := errors.Is(err, os.ErrNotExist), dir == missing; got != want {
			t.Errorf("directory %s: matches ErrNotExist: %t, want %t", dir, got, want)
		}
		if _, ok := errors.AsType[*proc.NotFoundError](err); ok {
			t.Errorf("directory %s: looks like a missing program: %v", dir, err)
		}
	}
}
