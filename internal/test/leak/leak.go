package leak

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// TB is the part of testing.TB that is needed here.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Cleanup(func())
	TempDir() string
	Setenv(key, value string)
}

// patience is how long what has been told to end may take to be gone. It only
// matters when something is left.
const patience = 10 * time.Second

// Check compares what there is at the end of a test with what there is now. It
// is called before other cleanups are registered, so that it looks after them.
// The test gets a folder for temporary files of its own.
func Check(t TB) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	warm()
	before := take(dir)
	t.Cleanup(func() {
		t.Helper()
		if after := settle(dir, before, patience); !after.within(before) {
			buf := make([]byte, 1<<20)
			t.Errorf("left behind: %v, there were %v\n%s", after, before, buf[:runtime.Stack(buf, true)])
		}
	})
}

// warm lets the runtime open the descriptors that it keeps from the first pipe
// on.
func warm() {
	if r, w, err := os.Pipe(); err == nil {
		_, _ = r.Close(), w.Close() // nothing was written
	}
}

// settle looks again and again until nothing is left, or no patience.
func settle(dir string, before usage, patience time.Duration) (after usage) {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if after = take(dir); after.within(before) {
			return after
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			return after
		}
	}
}

// usage is what a process has at a time.
type usage struct {
	goroutines, descriptors int
	processes, files        []string
}

func take(dir string) usage {
	// Where there is no such folder nothing is counted.
	descriptors, _ := os.ReadDir("/proc/self/fd")
	return usage{runtime.NumGoroutine(), len(descriptors), Marked(), filesOf(dir)}
}

// filesOf lists the files of the SDK in a folder, whose name may hold what would
// be a pattern.
func filesOf(dir string) (files []string) {
	all, _ := os.ReadDir(dir)
	for _, f := range all {
		if strings.HasPrefix(f.Name(), "claude-") {
			files = append(files, filepath.Join(dir, f.Name()))
		}
	}
	return files
}

func (u usage) within(before usage) bool {
	return u.goroutines <= before.goroutines && u.descriptors <= before.descriptors &&
		len(u.processes) <= len(before.processes) && len(u.files) <= len(before.files)
}

// String returns the counts, and names where there are some.
func (u usage) String() string {
	return fmt.Sprintf("%d goroutines, %d descriptors, processes %q, files %q", u.goroutines, u.descriptors, u.processes, u.files)
}

// Mark is the entry of an environment by which processes of this test binary
// are found.
func Mark() string { return fmt.Sprintf("CLAUDE_AGENT_GO_TEST=%d", os.Getpid()) }

// Marked lists the processes that carry the mark, by number and command line.
func Marked() []string {
	mark := append([]byte(Mark()), 0)
	var found []string
	environs, _ := filepath.Glob("/proc/[0-9]*/environ") // elsewhere there are none
	for _, path := range environs {
		env, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(env, mark) {
			continue
		}
		command, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline")) // it may just have ended
		found = append(found, filepath.Base(filepath.Dir(path))+" "+strings.ReplaceAll(string(command), "\x00", " "))
	}
	return found
}
