package leak

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/test/need"
)

func TestSettle(t *testing.T) {
	Check(t) // nothing is left of this test itself
	dir := t.TempDir()
	before := measure(dir)
	stop := make(chan struct{})
	go func() { <-stop }()
	file, err := os.Create(filepath.Join(dir, "claude-session-1"))
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(os.Args[0], "-test.run=^TestChild$")
	child.Env = append(os.Environ(), "LEAK_CHILD=1", Mark())
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	after := settle(dir, before, 0)
	if after.within(before) || after.goroutines <= before.goroutines || len(after.files) != 1 || !strings.Contains(after.String(), "claude-session-1") {
		t.Errorf("found %v after %v", after, before)
	}
	if runtime.GOOS == "linux" && (after.descriptors <= before.descriptors || len(after.processes) != 1 || !strings.Contains(after.processes[0], "TestChild")) {
		t.Errorf("found %v after %v", after, before)
	}
	close(stop)
	file.Close()
	os.Remove(file.Name())
	in.Close()
	child.Wait()
	if after := settle(dir, before, time.Minute); !after.within(before) {
		t.Errorf("found %v after everything was gone, there were %v", after, before)
	}
}

// Leftovers of tests that ran in parallel fail them all.
func TestMainFinds(t *testing.T) {
	stop := make(chan struct{})
	defer close(stop)
	for name, tt := range map[string]struct {
		run  func() int
		want int
	}{
		"nothing left": {func() int { return 0 }, 0},
		"failed":       {func() int { return 3 }, 3},
		"a goroutine":  {func() int { go func() { <-stop }(); return 0 }, 1},
		"a file":       {func() int { os.WriteFile(filepath.Join(os.TempDir(), "claude-session-1"), nil, 0o600); return 0 }, 1},
	} {
		TempFolder(t, t.TempDir())
		if got := checkAll(tt.run, 0); got != tt.want {
			t.Errorf("%s: exit code %d, want %d", name, got, tt.want)
		}
	}
}

// A process is found by the mark of its own test, and not by that of another.
func TestMarks(t *testing.T) {
	need.Processes.Test(t)
	mine, other := Processes(t), Processes(t)
	child := exec.Command(os.Args[0], "-test.run=^TestChild$")
	child.Env = append(os.Environ(), "LEAK_CHILD=1", mine)
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if a, b := MarkedBy(mine), MarkedBy(other); len(a) != 1 || len(b) != 0 {
		t.Errorf("marked are %q and %q, want one and none", a, b)
	}
	in.Close()
	child.Wait()
}

// TestChild is the process that the tests above find.
func TestChild(t *testing.T) {
	if os.Getenv("LEAK_CHILD") != "" {
		os.Stdin.Read(make([]byte, 1)) // until the parent has looked
	}
}

// The name of a folder is not a pattern.
func TestFilesOfOddFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "no [pattern")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"claude-1", "other"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := measure(dir).files; len(got) != 1 || got[0] != filepath.Join(dir, "claude-1") {
		t.Errorf("files %q", got)
	}
}

// Pipes that lead nowhere are not counted, and everything else is.
func TestCountOpen(t *testing.T) {
	for want, names := range map[int][]string{
		0: {"pipe:[1]", "pipe:[1]"},
		2: {"pipe:[1]", "socket:[1]", "pipe:[2]", "pipe:[2]"},
		4: {"/dev/null", "/dev/null", "", "pipe:[3]"},
		3: {"pipe:[4]", "pipe:[4]", "pipe:[4]"},
	} {
		if got := countOpen(names); got != want {
			t.Errorf("%q are %d, want %d", names, got, want)
		}
	}
}
