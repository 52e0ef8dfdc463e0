package history_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/internal/uuid"
)

// A process that may not be signalled is alive: it belongs to another user.
func TestProcessOfAnotherUser(t *testing.T) {
	const first = 1
	id := uuid.New() // of no session that anything else on this machine has open
	config := configWith(t, map[string]string{"//sessions/1.json": fmt.Sprintf(`{"pid":%d,"sessionId":%q}`, first, id)})
	err := filepath.WalkDir(filepath.Dir(config), func(path string, d fs.DirEntry, err error) error {
		return errors.Join(err, os.Chmod(path, 0o755))
	})
	if err != nil {
		t.Fatal(err)
	}
	withoutRoot(t, func() {
		if got, err := history.Disk(config).Processes(t.Context(), id); err != nil || !slices.Equal(got, []int{first}) {
			t.Errorf("got %v, %v, want the first process", got, err)
		}
	})
}

// withoutRoot does something as a user who may signal no process of root, if the tests
// run as root. Only this thread changes, and it can change back.
func withoutRoot(t *testing.T, do func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		do()
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const nobody = 65534
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, nobody, nobody, 0); errno != 0 {
		t.Fatal(errno)
	}
	defer func() {
		if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, 0, 0, 0); errno != 0 {
			panic(errno) // the thread would stay without its rights
		}
	}()
	do()
}

// A process that was started at another time than the CLI is another program with its
// id. Whatever cannot be compared rules out nothing.
func TestProcessIDReused(t *testing.T) {
	id := uuid.New()
	self := os.Getpid()
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(stat), ") ") // the name of a test has no parentheses
	start := strings.Fields(after)[19]
	for name, c := range map[string]struct {
		start string
		want  []int
	}{
		"the same":        {`,"procStart":"` + start + `"`, []int{self}},
		"another":         {`,"procStart":"` + start + `1"`, nil},
		"not said":        {"", []int{self}},
		"empty":           {`,"procStart":""`, []int{self}},
		"of another kind": {`,"procStart":17`, []int{self}},
		"a date":          {`,"procStart":"Mon Nov 16 16:24:32 2026"`, []int{self}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "sessions", "1.json")
			text := fmt.Sprintf(`{"pid":%d,"sessionId":%q%s}`, self, id, c.start)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
			if got, err := history.Disk(dir).Processes(t.Context(), id); err != nil || !slices.Equal(got, c.want) {
				t.Errorf("got %v, %v, want %v", got, err, c.want)
			}
		})
	}
}

// A CLI that ends has removed its record, and has the session open until it is over. One
// that forks the session or has gone on to another does not have it open.
func TestProcessThatEnds(t *testing.T) {
	id, other := uuid.New(), uuid.New()
	for name, c := range map[string]struct {
		args  []string
		other bool // it is registered with another session
		found bool
	}{
		"begun":            {[]string{"--session-id=" + id}, false, true},
		"resumed":          {[]string{"--verbose", "--resume=" + id}, false, true},
		"forked":           {[]string{"--resume=" + id, "--fork-session"}, false, false},
		"another":          {[]string{"--resume=" + other}, false, false},
		"gone on to other": {[]string{"--resume=" + id}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "/bin/sh", append([]string{"-c", "echo; read line", "sh"}, c.args...)...)
			stdin, err1 := cmd.StdinPipe()
			stdout, err2 := cmd.StdoutPipe()
			if err := errors.Join(err1, err2, cmd.Start()); err != nil {
				t.Fatal(err)
			}
			if _, err := stdout.Read(make([]byte, 1)); err != nil { // until it runs, it has our arguments
				t.Fatal(err)
			}
			files := map[string]string{"//sessions/x": ""}
			if c.other {
				files["//sessions/1.json"] = fmt.Sprintf(`{"pid":%d,"sessionId":%q}`, cmd.Process.Pid, other)
			}
			h := history.Disk(configWith(t, files))
			var want []int
			if c.found {
				want = []int{cmd.Process.Pid}
			}
			if got, err := h.Processes(t.Context(), id); err != nil || !slices.Equal(got, want) {
				t.Errorf("got %v, %v, want %v", got, err, want)
			}
			stdin.Close()
			_ = cmd.Wait() // read has failed
			if got, err := h.Processes(t.Context(), id); err != nil || len(got) > 0 {
				t.Errorf("got %v, %v after its end", got, err)
			}
		})
	}
}
