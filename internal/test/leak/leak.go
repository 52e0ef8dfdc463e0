package leak

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
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

// settleTime is how long what has been told to end may take to be gone. It only
// matters when something is left.
const settleTime = 10 * time.Second

// Check compares what there is at the end of a test with what there is now. It
// is called before other cleanups are registered, so that it looks after them.
// The test gets a folder for temporary files of its own.
func Check(t TB) {
	t.Helper()
	dir := t.TempDir()
	TempFolder(t, dir)
	warmUp()
	before := measure(dir)
	t.Cleanup(func() {
		t.Helper()
		if after := settle(dir, before, settleTime); !after.within(before) {
			buf := make([]byte, 1<<20)
			t.Errorf("left behind: %v, there were %v\n%s", after, before, buf[:runtime.Stack(buf, true)])
		}
	})
}

// TempFolder makes a folder that of all temporary files for the rest of the test.
func TempFolder(t interface{ Setenv(key, value string) }, dir string) {
	for _, name := range tempVariables() {
		t.Setenv(name, dir)
	}
}

// tempVariables are those by which systems find the folder for temporary files.
func tempVariables() []string { return []string{"TMPDIR", "TMP", "TEMP"} }

// warmUp lets the runtime open the descriptors that it keeps from the first pipe
// on.
func warmUp() {
	if r, w, err := os.Pipe(); err == nil {
		_, _ = r.Close(), w.Close() // nothing was written
	}
}

// settle waits until nothing is left of what was not there before.
func settle(dir string, before usage, patience time.Duration) usage {
	return await(func() usage { return measure(dir) }, before, patience)
}

// await looks again and again until there is no more than before, or no patience.
func await(look func() usage, before usage, patience time.Duration) (after usage) {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if after = look(); after.within(before) {
			return after
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			return after
		}
	}
}

// Main is [Check] for tests that run in parallel, which share goroutines,
// descriptors and the folder for temporary files: it compares what there is after
// all of them with what there was before. It takes the place of m.Run in TestMain.
func Main(run func() int) (code int) { return checkAll(run, settleTime) }

func checkAll(run func() int, patience time.Duration) (code int) {
	dir, err := os.MkdirTemp("", "leak-")
	if err == nil {
		for _, name := range tempVariables() {
			err = errors.Join(err, os.Setenv(name, dir))
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	warmUp()
	before := measure(dir)
	code = run()
	if after := settle(dir, before, patience); !after.within(before) {
		buf := make([]byte, 1<<20)
		fmt.Fprintf(os.Stderr, "left behind: %v, there were %v\nopen: %q\n%s\n", after, before, openFiles(), buf[:runtime.Stack(buf, true)])
		return max(code, 1)
	}
	return code
}

// Processes wants none of the processes of one test to outlive it, whatever runs
// beside it. They are known by the mark that it returns, an entry for their
// environment. Like [Check] it is called before other cleanups are registered.
func Processes(t TB) (mark string) {
	t.Helper()
	mark = Mark() + "." + rand.Text()
	t.Cleanup(func() {
		t.Helper()
		left := func() usage { return usage{processes: MarkedBy(mark)} }
		if after := await(left, usage{}, settleTime); len(after.processes) > 0 {
			t.Errorf("left behind: processes %q", after.processes)
		}
	})
	return mark
}

// usage holds the resources of a process at a time.
type usage struct {
	goroutines, descriptors int
	processes, files        []string
}

func measure(dir string) usage {
	u := usage{goroutines: runtime.NumGoroutine(), processes: Marked(), files: filesOf(dir)}
	// Elsewhere nothing is counted. Under wine the folder exists, and shows what wine has open.
	if runtime.GOOS == "linux" {
		u.descriptors = countOpen(openFiles())
	}
	return u
}

// openFiles lists what the descriptors of this process lead to, on Linux.
func openFiles() (names []string) {
	descriptors, _ := os.ReadDir("/proc/self/fd")
	for _, d := range descriptors {
		name, _ := os.Readlink("/proc/self/fd/" + d.Name())
		names = append(names, name)
	}
	return names
}

// countOpen counts open files. A pipe with both ends here leads nowhere and is left out:
// package net keeps some, to splice connections, until the collector has run twice.
func countOpen(names []string) (n int) {
	ends := make(map[string]int)
	for _, name := range names {
		ends[name]++
	}
	for name, of := range ends {
		if of != 2 || !strings.HasPrefix(name, "pipe:") {
			n += of
		}
	}
	return n
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
func Marked() []string { return MarkedBy(Mark()) }

// MarkedBy lists the processes with an entry in their environment.
func MarkedBy(mark string) []string {
	entry := append([]byte(mark), 0)
	var found []string
	for _, path := range ProcFiles("environ") {
		env, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(env, entry) {
			continue
		}
		command, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline")) // it may just have ended
		found = append(found, filepath.Base(filepath.Dir(path))+" "+strings.ReplaceAll(string(command), "\x00", " "))
	}
	return found
}

// ProcFiles returns the paths of a file that the system has about each process, such as
// "environ"; elsewhere than on Linux there are none. A process may end before its file is
// read. [filepath.Glob] would list the folder of each process to look for the file.
func ProcFiles(file string) []string {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	var paths []string
	for _, name := range names {
		if _, err := strconv.Atoi(name); err == nil {
			paths = append(paths, filepath.Join("/proc", name, file))
		}
	}
	return paths
}
