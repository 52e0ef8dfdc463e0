package proc_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/proc"
	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/internal/test/long"
)

// alive reports whether a process is there and not a zombie.
func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := bytes.Cut(stat, []byte(") "))
	return len(rest) > 0 && rest[0] != 'Z' && rest[0] != 'X'
}

// In the CLI's place: it ignores SIGTERM, and what it started lives in a
// session of its own with the pipes in its hands.
func TestStopSweepsMarkedDescendants(t *testing.T) {
	c := self(t, "stubborn-tree")
	c.Term = 50 * time.Millisecond
	p := start(t, c)
	pid := read(t, p).pid()
	if !alive(pid) {
		t.Fatal("the grandchild is not there")
	}
	within(t, 20*time.Second, "Stop", func() {
		if err := p.Stop(); err != nil {
			t.Errorf("Stop: %v", err)
		}
	})
	if alive(pid) {
		t.Error("the grandchild is still there")
	}
}

// A CLI that another process killed could not end its shells.
func TestStopSweepsAfterViolentDeath(t *testing.T) {
	c := self(t, "killed-tree")
	c.Drain = 50 * time.Millisecond
	p := start(t, c)
	pid := read(t, p).pid()
	if exit := exitError(t, p.Wait()); exit.Signal != "killed" {
		t.Fatalf("got %v, want killed", exit)
	}
	if alive(pid) {
		t.Error("the grandchild is still there")
	}
}

// A CLI up to 2.1.0 that is asked to end leaves its shells behind.
func TestStopSweepsAfterPoliteEnd(t *testing.T) {
	c := self(t, "polite-tree")
	c.Drain = 50 * time.Millisecond
	p := start(t, c)
	pid := read(t, p).pid()
	if err := p.Stop(); err != nil {
		t.Errorf("Stop: %v", err)
	}
	if exit := exitError(t, p.Wait()); exit.Code != 143 {
		t.Errorf("got %v, want code 143", exit)
	}
	if alive(pid) {
		t.Error("the grandchild is still there")
	}
}

// What a child leaves behind has no more patience than the child: Kill ends it too, when
// the child itself has long exited.
func TestKillHurriesLeftovers(t *testing.T) {
	c := self(t, "leave", "told", string(inSession), string(withPipes))
	c.Drain = time.Minute
	p := start(t, c)
	out := read(t, p)
	pid := out.pid()
	p.CloseWrite()
	out.line() // now it has a minute
	within(t, 20*time.Second, "Kill", func() {
		if err := p.Kill(); err != nil {
			t.Errorf("Kill: %v", err)
		}
	})
	if alive(pid) {
		t.Error("the grandchild is still there")
	}
}

// A child that ends by itself, in good order, leaves nothing behind either.
// Stop is not called, and nothing is waited for but the end.
func TestOrderlyEndLeavesNothing(t *testing.T) {
	for _, test := range []struct {
		name string
		left []string
		said string // by what was left
	}{
		{"in its group", []string{"hold"}, ""},
		{"in its group, with the pipes", []string{"hold", string(withPipes)}, ""},
		{"in its group, without the mark", []string{"hold", string(withPipes), string(withoutMark)}, ""},
		{"in another session", []string{"hold", string(inSession)}, ""},
		{"in another session, with the pipes", []string{"hold", string(inSession), string(withPipes)}, ""},
		{"one that tidies up", []string{"tidy", string(withPipes)}, "tidied up\n"},
		{"one that is suspended", []string{"tidy", string(inSession), string(withPipes), string(suspended)}, "tidied up\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := self(t, "leave", test.left...)
			if test.said == "" {
				c.Drain = 50 * time.Millisecond // it ignores SIGTERM
			}
			p, err := proc.Start(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			out := read(t, p)
			pid := out.pid()
			defer syscall.Kill(pid, syscall.SIGKILL)
			if !alive(pid) {
				t.Fatal("the helper is gone before the end")
			}
			p.CloseWrite()
			if err := p.Wait(); err != nil {
				t.Errorf("Wait: %v", err)
			}
			if alive(pid) {
				t.Error("the helper is still there")
			}
			if rest, err := io.ReadAll(out.r); err != nil || string(rest) != test.said {
				t.Errorf("the rest of the output is %q, %v, want %q", rest, err, test.said)
			}
		})
	}
}

// Two children at once: each sweep keeps to its own mark.
func TestSweepSparesOthers(t *testing.T) {
	other := start(t, self(t, "echo"))
	c := self(t, "stubborn")
	c.Term = -1
	p := start(t, c)
	read(t, p).line()
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	other.Write([]byte("alive\n"))
	if got := read(t, other).line(); got != "alive" {
		t.Errorf("the other child: got %q", got)
	}
}

// orphanVariable tells the test binary to play a part in [TestParentDeath]. The
// parts talk over descriptor 3, which each child inherits.
const orphanVariable = "PROC_TEST_ORPHAN"

// TestParentDeath kills a process that has started a child with this package.
// The kernel must then send SIGTERM to the child.
func TestParentDeath(t *testing.T) {
	switch os.Getenv(orphanVariable) {
	case "middle":
		p, err := proc.Start(t.Context(), &proc.Command{
			Path: os.Args[0],
			Args: os.Args[1:],
			Env:  append(os.Environ(), orphanVariable+"=child"),
		})
		if err != nil {
			t.Fatal(err)
		}
		p.Wait()
		t.Fatal("the child has gone first")
	case "child":
		tell := os.NewFile(3, "tell")
		onTerm := make(chan os.Signal, 1)
		signal.Notify(onTerm, syscall.SIGTERM)
		fmt.Fprintln(tell, "ready")
		<-onTerm
		fmt.Fprintln(tell, "terminated")
		os.Exit(0)
	}

	listen, tell, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer listen.Close()
	exe, _ := os.Executable()
	middle := exec.Command(exe, "-test.run=^TestParentDeath$")
	middle.Env = append(os.Environ(), orphanVariable+"=middle")
	middle.ExtraFiles = []*os.File{tell}
	if err := middle.Start(); err != nil {
		t.Fatal(err)
	}
	defer middle.Wait()
	defer middle.Process.Kill()
	tell.Close()
	// The reads end in any case: when the last of the two processes is gone.
	out := read(t, listen)
	if got := out.line(); got != "ready" {
		t.Fatalf("child: got %q, want ready", got)
	}
	middle.Process.Kill()
	listen.SetReadDeadline(time.Now().Add(30 * time.Second))
	if got := out.line(); got != "terminated" {
		t.Errorf("child: got %q, want terminated", got)
	}
	if _, err := out.r.ReadByte(); err != io.EOF {
		t.Errorf("child: got %v, want its end", err)
	}
}

// The kernel counts the death of the starting thread as that of the parent. The
// thread that calls Start may die.
func TestCallingThreadMayDie(t *testing.T) {
	c := self(t, "echo")
	type result struct {
		p   *proc.Process
		tid int
		err error
	}
	started := make(chan result)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		p, err := proc.Start(t.Context(), c)
		started <- result{p, syscall.Gettid(), err}
	}()
	r := <-started
	if r.err != nil {
		t.Fatal(r.err)
	}
	defer r.p.Stop()
	if r.tid != os.Getpid() { // the main thread is parked, not ended
		eventually(t, "the end of the thread", func() bool {
			_, err := os.Stat(filepath.Join("/proc/self/task", strconv.Itoa(r.tid)))
			return err != nil
		})
	}
	r.p.Write([]byte("alive\n"))
	if got := read(t, r.p).line(); got != "alive" {
		t.Errorf("got %q, want alive", got)
	}
	r.p.CloseWrite()
	if err := r.p.Wait(); err != nil {
		t.Errorf("Wait: %v", err)
	}
}

// The child leads a group of its own, in our session.
func TestOwnGroup(t *testing.T) {
	p := start(t, self(t, "echo"))
	group, err := syscall.Getpgid(p.PID())
	if err != nil || group != p.PID() {
		t.Errorf("group of %d: got %d, %v", p.PID(), group, err)
	}
}

// openFiles counts the descriptors of this process, except the one that counts.
func openFiles(t *testing.T) int {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

func TestCyclesLeakNothing(t *testing.T) {
	cycle := func(i int) {
		switch i % 4 {
		case 0: // stopped while it runs, output never read
			p, err := proc.Start(t.Context(), self(t, "silent"))
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Stop(); err != nil {
				t.Fatal(err)
			}
		case 1: // ends by itself with unread output, then stopped
			p, err := proc.Start(t.Context(), self(t, "burst"))
			if err != nil {
				t.Fatal(err)
			}
			p.Wait()
			p.Stop()
		case 2: // never stopped
			c := self(t, "lines")
			c.Stderr = func(string) {}
			p, err := proc.Start(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, p)
			p.Wait()
		case 3: // never started
			c := self(t, "echo", strings.Repeat("a", 1<<20))
			if _, err := proc.Start(t.Context(), c); err == nil {
				t.Fatal("started with a huge argument")
			}
		}
	}
	for i := range 4 {
		cycle(i) // the runtime opens its own descriptors at first use
	}
	eventually(t, "the end of earlier goroutines", func() bool { return quiet() })
	files, goroutines := openFiles(t), runtime.NumGoroutine()
	for i := range long.Pick(20, 50) {
		cycle(i)
	}
	eventually(t, "the end of the goroutines", func() bool { return runtime.NumGoroutine() <= goroutines })
	if got := openFiles(t); got > files {
		t.Errorf("descriptors: got %d, want %d", got, files)
	}
	if children := zombies(t); len(children) > 0 {
		t.Errorf("children left unreaped: %v", children)
	}
}

// quiet reports whether no goroutine of the package is left over from another
// test.
func quiet() bool {
	buf := make([]byte, 1<<20)
	stacks := string(buf[:runtime.Stack(buf, true)])
	return !strings.Contains(stacks, "proc.(*Process)") && !strings.Contains(stacks, "proc.(*liner)")
}

// zombies lists our children that were not reaped.
func zombies(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, path := range leak.ProcFiles("stat") {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest)
		if len(fields) > 1 && fields[0] == "Z" && fields[1] == strconv.Itoa(os.Getpid()) {
			found = append(found, path)
		}
	}
	return found
}

// However many start at once, a child has nothing open but its own three
// pipes.
func TestChildrenInheritNothing(t *testing.T) {
	// What the test inherited, its children inherit as well.
	inherited := make(map[string]bool)
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range open {
		target, _ := os.Readlink("/proc/self/fd/" + fd.Name())
		inherited[target] = true
	}
	file, err := os.Open(os.Args[0]) // the host has files of its own
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() {
			p, err := proc.Start(t.Context(), self(t, "files"))
			if err != nil {
				t.Error(err)
				return
			}
			out, err := io.ReadAll(p)
			if err := errors.Join(err, p.Wait()); err != nil {
				t.Error(err)
			}
			pipes := 0
			for line := range strings.Lines(string(out)) {
				target := strings.TrimSpace(line)
				if inherited[target] {
					continue
				}
				if strings.HasPrefix(target, "pipe:") || strings.HasPrefix(target, "socket:") {
					pipes++
				} else if strings.Contains(target, filepath.Base(os.Args[0])) {
					t.Errorf("the child has %s open", target)
				}
			}
			if pipes != 3 {
				t.Errorf("the child has %d pipes open, want its own three:\n%s", pipes, out)
			}
		})
	}
	all.Wait()
}

// A host without free descriptors gets an error, and keeps those it has.
func TestNoDescriptors(t *testing.T) {
	p := start(t, self(t, "starved"))
	out := read(t, p)
	if got := out.line(); !strings.Contains(got, "open pipes: ") || !strings.Contains(got, syscall.EMFILE.Error()) {
		t.Errorf("Start: got %q, want that pipes cannot be opened: %v", got, syscall.EMFILE)
	}
	if got := out.line(); got != "0 more open" {
		t.Errorf("afterwards: %s", got)
	}
}

// A child that has exited takes no signals, although it is collected only when
// what it left behind is gone.
func TestSignalAfterExit(t *testing.T) {
	c := self(t, "leave", "hold")
	c.Drain = 2 * time.Second // the helper does not heed SIGTERM
	p, err := proc.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	pid := read(t, p).pid()
	defer syscall.Kill(pid, syscall.SIGKILL)
	if err := p.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("while it runs: %v", err)
	}
	p.CloseWrite()
	for p.Signal(syscall.Signal(0)) == nil {
		runtime.Gosched()
	}
	if !alive(pid) {
		t.Error("signals were taken until the helper was gone")
	}
}
