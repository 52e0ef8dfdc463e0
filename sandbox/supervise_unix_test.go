//go:build unix

package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
)

// patience is how long a test waits for what should be there at once.
const patience = 30 * time.Second

// other is a helper in this process, with a shell script as the CLI.
type other struct {
	in        *io.PipeWriter
	out, errs lockedBuffer
	code      chan int
}

// lockedBuffer is written by a helper and read by a test.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func elsewhere(t *testing.T, silence time.Duration) *other {
	t.Helper()
	r, w := io.Pipe()
	o := &other{in: w, code: make(chan int, 1)}
	go func() { o.code <- supervise(r, &o.out, &o.errs, silence) }()
	t.Cleanup(func() { w.Close() })
	return o
}

// hand hands over a script, with files.
func (o *other) hand(t *testing.T, script string, files ...claude.LaunchFile) {
	t.Helper()
	l := &claude.Launch{Files: files}
	if err := writeTask(o.in, task{Path: "/bin/sh", Args: []string{"-c", script, "claude", filesMark + "/settings.json"}, Env: []string{"NAME=" + filesMark}, Dir: "/"}); err != nil {
		t.Fatal(err)
	}
	c := chunks{o.in}
	if err := l.WriteFiles(c); err != nil {
		t.Fatal(err)
	}
	c.Close()
}

// ended waits for the exit code.
func (o *other) ended(t *testing.T) int {
	t.Helper()
	select {
	case code := <-o.code:
		return code
	case <-time.After(patience):
		t.Fatalf("the helper does not end; it said %s", o.errs.String())
		return 0
	}
}

// A helper places the files, starts the CLI and passes its streams and its exit code on.
func TestSupervise(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	settings := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(settings, []byte("the settings"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := elsewhere(t, patience)
	o.hand(t, `cat "$1"; echo " in $PWD"; test "$NAME/settings.json" = "$1" && echo named; cat; echo problem >&2; exit 7`, claude.LaunchFile{Name: "settings.json", Path: settings})
	fmt.Fprint(o.in, `{"type":"user"}`+"\n"+beatLine+"two\n"+endLine)
	if code := o.ended(t); code != 7 {
		t.Errorf("exit code %d: %s", code, o.errs.String())
	}
	if got, want := o.out.String(), "the settings in /\nnamed\n{\"type\":\"user\"}\ntwo\n"; got != want {
		t.Errorf("output %q, want %q", got, want)
	}
	if !strings.Contains(o.errs.String(), "problem") {
		t.Errorf("standard error %q", o.errs.String())
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "*")); len(left) > 0 {
		t.Errorf("%q is left", left)
	}
}

// The socket that a connection has brought is removed when the CLI has ended, one that was
// there is not, nor anything that is not a socket.
func TestSuperviseRemovesItsSocket(t *testing.T) {
	for name, c := range map[string]struct{ forwarded, file, left bool }{
		"forwarded": {true, false, false}, "of the machine": {false, false, true}, "a file": {true, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			dir, err := os.MkdirTemp("/tmp", "claude-test-") // a path that is short enough for a socket
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			path := filepath.Join(dir, "api")
			if c.file {
				err = os.WriteFile(path, nil, 0o600)
			} else {
				var l net.Listener
				if l, err = net.Listen("unix", path); err == nil {
					l.(*net.UnixListener).SetUnlinkOnClose(false)
					l.Close()
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			o := elsewhere(t, patience)
			task := task{Path: "/bin/sh", Args: []string{"-c", "cat"}, Env: []string{"ANTHROPIC_BASE_URL=http://127.0.0.1:1"}, Dir: "/", API: path, Forwarded: c.forwarded}
			if err := errors.Join(writeTask(o.in, task), new(claude.Launch).WriteFiles(chunks{o.in}), chunks{o.in}.Close()); err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(o.in, endLine)
			if code := o.ended(t); code != 0 {
				t.Errorf("exit code %d: %s", code, o.errs.String())
			}
			if _, err := os.Lstat(path); (err == nil) != c.left {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

// However the connection ends, nothing of the CLI is left: neither the CLI, nor what it has
// started in a session of its own.
func TestSuperviseCut(t *testing.T) {
	for name, c := range map[string]struct {
		silence time.Duration
		cut     func(o *other)
	}{
		"cut":                  {patience, func(o *other) { o.in.Close() }},
		"cut after the end":    {patience, func(o *other) { io.WriteString(o.in, endLine); o.in.Close() }},
		"cut within a line":    {patience, func(o *other) { io.WriteString(o.in, "{"); o.in.Close() }},
		"silence":              {200 * time.Millisecond, func(*other) {}},
		"silence after a word": {200 * time.Millisecond, func(o *other) { io.WriteString(o.in, beatLine) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pids := filepath.Join(t.TempDir(), "pids")
			o := elsewhere(t, c.silence)
			o.hand(t, `trap "" TERM; (trap "" TERM; setsid sh -c 'echo $$ >> '"`+pids+`"'; exec sleep 300') & echo $$ >> `+pids+`; echo up; sleep 300; sleep 300`)
			if c.silence == patience { // else the helper does not wait
				again := time.NewTicker(time.Millisecond)
				defer again.Stop()
				for over := time.After(patience); lines(pids) < 2; {
					select {
					case <-again.C:
					case <-over:
						t.Fatal("the CLI does not start")
					}
				}
			}
			c.cut(o)
			if code := o.ended(t); code == 0 {
				t.Error("it ended as if nothing had happened")
			}
			data, _ := os.ReadFile(pids)
			for _, pid := range strings.Fields(string(data)) {
				if stat, err := os.ReadFile("/proc/" + pid + "/stat"); err == nil && !strings.Contains(string(stat), ") Z ") {
					t.Errorf("%s is left: %s", pid, stat)
				}
			}
		})
	}
}

func lines(file string) int {
	data, _ := os.ReadFile(file)
	return bytes.Count(data, []byte("\n"))
}

// A CLI that does not read its input does not keep the helper from hearing what follows.
func TestSuperviseBacklog(t *testing.T) {
	t.Parallel()
	o := elsewhere(t, patience)
	o.hand(t, `read first; echo "$first"; sleep 0.2; wc -c`)
	long := strings.Repeat("x", 3<<20) + "\n"
	io.WriteString(o.in, "first\n"+long+endLine)
	if code := o.ended(t); code != 0 || strings.Join(strings.Fields(o.out.String()), " ") != fmt.Sprint("first ", len(long)) {
		t.Errorf("exit code %d, output %q, %s", code, o.out.String(), o.errs.String())
	}
}

// What a helper cannot do is named by its step.
func TestSuperviseRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tell func(w io.Writer)
		want string
	}{
		"nothing":        {func(io.Writer) {}, "read the task"},
		"not a task":     {func(w io.Writer) { io.WriteString(w, "hello\n") }, "invalid character"},
		"files cut off":  {func(w io.Writer) { writeTask(w, task{Path: "/bin/sh"}); w.Write([]byte{0, 0, 1, 0, 'x'}) }, "place the files"},
		"a huge piece":   {func(w io.Writer) { writeTask(w, task{Path: "/bin/sh"}); w.Write([]byte{255, 0, 0, 0}) }, "too long"},
		"no CLI":         {func(w io.Writer) { writeTask(w, task{Path: "/nowhere/claude"}); chunks{w}.Close() }, "start the CLI"},
		"no such folder": {func(w io.Writer) { writeTask(w, task{Path: "/bin/sh", Dir: "/nowhere"}); chunks{w}.Close() }, "start the CLI"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := elsewhere(t, patience)
			c.tell(o.in)
			o.in.Close()
			if code := o.ended(t); code != 125 || !strings.Contains(o.errs.String(), c.want) {
				t.Errorf("exit code %d, %q, want %q", code, o.errs.String(), c.want)
			}
		})
	}
}

// A helper that is busy is not one that hears nothing: what was sent meanwhile lies there.
func TestSuperviseBusy(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	line := &listening{r: r, heard: make(chan struct{}, 1)}
	if line.silent() {
		t.Error("it is silent before it was listened to")
	}
	got := make(chan byte)
	go func() {
		b := make([]byte, 1)
		line.Read(b)
		got <- b[0]
	}()
	for !line.silent() {
		runtime.Gosched()
	}
	w.Write([]byte{7})
	if <-got != 7 || line.silent() {
		t.Error("it is silent after a word")
	}
}
