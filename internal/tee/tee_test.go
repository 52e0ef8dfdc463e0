package tee_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/secret"
	"github.com/claude-agent-go/claude/internal/tee"
	"github.com/claude-agent-go/claude/permission"
)

// The variables that make this binary a tee, and a child of one.
const (
	envFile  = "TEE_TEST_FILE"
	envChild = "TEE_TEST_CHILD"
	envCLI   = "TEE_TEST_CLI" // the program to run instead of this one
)

func TestMain(m *testing.M) {
	file, child := os.Getenv(envFile), os.Getenv(envChild)
	os.Unsetenv(envFile)
	switch {
	case file != "":
		os.Exit(wrapper(file))
	case child != "":
		os.Exit(play(child))
	}
	claudetest.Main(map[string]*claudetest.Script{"worker": {Replies: []claudetest.Reply{
		claudetest.UseTool("Bash", map[string]string{"command": "ls"}), claudetest.Say("Done."),
	}}})
	os.Exit(m.Run())
}

// wrapper is the tee as a process. It runs this binary.
func wrapper(path string) int {
	// A CLI that is slow to answer is started once more, to ask for its version.
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		file, err = os.Create(path + ".version")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	signals, stop := tee.Signals()
	defer stop()
	r, err := tee.Run(context.Background(), &tee.Session{
		Path: cmp.Or(os.Getenv(envCLI), os.Args[0]), Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Signals: signals, Recording: file, Secrets: secret.FromEnv(os.Environ()),
	})
	if err != nil || r.Recording != nil {
		fmt.Fprintln(os.Stderr, err, r)
		return 98
	}
	if r.Signal != nil {
		tee.DieBySignal(r.Signal)
	}
	return r.Code
}

// play is a child: what it does is in a word, and a number where it needs one.
func play(what string) int {
	word, arg, _ := strings.Cut(what, " ")
	n, _ := strconv.Atoi(arg)
	switch word {
	case "echo":
		io.Copy(os.Stdout, os.Stdin)
		fmt.Fprint(os.Stderr, "no line end")
		return n
	case "ask": // answers each line, then reports that the input has ended
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			fmt.Printf("{\"got\":%s}\n", lines.Text())
		}
		fmt.Println(`{"type":"bye"}`)
	default:
		return playSignals(word)
	}
	return 0
}

// run is a tee around a child that plays.
type run struct {
	*exec.Cmd
	file   string
	in     io.WriteCloser
	out    io.ReadCloser
	stderr bytes.Buffer
}

func start(t *testing.T, what string) *run {
	t.Helper()
	r := &run{Cmd: exec.Command(os.Args[0]), file: filepath.Join(t.TempDir(), "recording.ndjson")}
	r.Env = append(os.Environ(), envFile+"="+r.file, envChild+"="+what, "MY_TOKEN=swordfish-1")
	var err error
	if r.in, err = r.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if r.out, err = r.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	r.Stderr = &r.stderr
	r.WaitDelay = 20 * time.Second
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Process.Kill(); r.Wait() })
	return r
}

// code waits for the end and returns the exit code.
func (r *run) code() int {
	_ = r.Wait() // the state holds more
	return r.ProcessState.ExitCode()
}

// entries reads the recording.
func (r *run) entries(t *testing.T) []claudetest.RecordingEntry {
	t.Helper()
	f, err := os.Open(r.file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tr, err := claudetest.ReadRecording(f)
	if err != nil {
		t.Fatal(err)
	}
	return tr.Entries()
}

// awaitRecorded waits until the recording has begun.
func (r *run) awaitRecorded(t *testing.T) {
	t.Helper()
	for begun := time.Now(); time.Since(begun) < time.Minute; <-time.After(time.Millisecond) {
		if info, err := os.Stat(r.file); err == nil && info.Size() > 0 {
			return
		}
	}
	t.Fatal("nothing is recorded")
}

func (r *run) last(t *testing.T) string {
	t.Helper()
	all := r.entries(t)
	return string(all[len(all)-1].Msg)
}

// Every byte goes through, whatever it is.
func TestBytes(t *testing.T) {
	r := start(t, "echo 7")
	sent := make([]byte, 500_000) // many times what a pipe holds
	rand.Read(sent)
	go func() {
		for rest := sent; len(rest) > 0; {
			n := min(len(rest), 100_003)
			r.in.Write(rest[:n])
			rest = rest[n:]
		}
		r.in.Close()
	}()
	got, err := io.ReadAll(r.out)
	if err != nil || !bytes.Equal(got, sent) {
		t.Errorf("%d bytes came back (%v), want the same %d", len(got), err, len(sent))
	}
	if code := r.code(); code != 7 {
		t.Errorf("exit code %d, want 7", code)
	}
	if r.stderr.String() != "no line end" {
		t.Errorf("stderr %q", r.stderr.String())
	}
	if got := r.last(t); got != `{"exit_code":7}` {
		t.Errorf("the recording ends with %s", got)
	}
}

// Lines of both directions are recorded with their times; the end of the input is
// passed on while the output continues; secrets stay out.
func TestRecording(t *testing.T) {
	r := start(t, "ask")
	out := bufio.NewReader(r.out)
	say := func(text string) string {
		io.WriteString(r.in, text)
		line, err := out.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return line
	}
	if got := say(`{"a":"swordfish-1"}` + "\n"); got != `{"got":{"a":"swordfish-1"}}`+"\n" {
		t.Errorf("got %q", got)
	}
	io.WriteString(r.in, `{"b"`) // a line in two writes
	say(":2}\n")
	r.in.Close()
	if rest, err := io.ReadAll(out); err != nil || string(rest) != `{"type":"bye"}`+"\n" {
		t.Errorf("after the end of the input: %q, %v", rest, err)
	}
	if code := r.code(); code != 0 {
		t.Fatalf("exit code %d: %s", code, r.stderr.String())
	}
	var got []string
	last := int64(-1)
	for _, e := range r.entries(t)[1:] { // the first is the command line
		got = append(got, string(e.Dir)+" "+string(e.Msg))
		if e.TMS < last {
			t.Errorf("time goes back to %d ms", e.TMS)
		}
		last = e.TMS
	}
	want := []string{`in {"a":"[redacted]"}`, `out {"got":{"a":"[redacted]"}}`, `in {"b":2}`, `out {"got":{"b":2}}`, `in {"_eof":true}`, `out {"type":"bye"}`, `meta {"exit_code":0}`}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("recorded\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A whole session of the SDK goes through, and its recording can be replayed.
func TestSession(t *testing.T) {
	file := filepath.Join(t.TempDir(), "session.ndjson")
	policy := func(context.Context, *permission.Request) (permission.Decision, error) {
		return permission.Allow(), nil
	}
	result, err := claude.Ask(t.Context(), "Go.", &claude.Options{
		CLIPath: os.Args[0], Env: append(os.Environ(), envFile+"="+file, claudetest.Play("worker")), CanUseTool: policy,
	})
	if err != nil || result.Text != "Done." {
		t.Fatalf("%v, %v", result, err)
	}
	tr := transcript(t, file)
	tr.WantRan(t, "Bash")
	replay := claudetest.Replay(tr)
	result, err = claude.Ask(t.Context(), "Go.", &claude.Options{Transport: replay, CanUseTool: policy})
	if err != nil || replay.Err() != nil || result.Text != "Done." {
		t.Errorf("replayed: %v, %v, %v", result, err, replay.Err())
	}
}

// transcript reads what was recorded.
func transcript(t *testing.T, file string) *claudetest.Recording {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tr, err := claudetest.ReadRecording(f)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestNotFound(t *testing.T) {
	r, err := tee.Run(t.Context(), &tee.Session{Path: filepath.Join(t.TempDir(), "nobody"), Recording: io.Discard})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, %v, want that there is no such program", r, err)
	}
}

// disk is a file that fails after some lines, or takes none for a while.
type disk struct {
	lines  int
	wait   <-chan struct{}
	copied bytes.Buffer
}

func (d *disk) Write(b []byte) (int, error) {
	if d.wait != nil {
		<-d.wait
	}
	if d.lines--; d.lines < 0 {
		return 0, errors.New("disk full")
	}
	return d.copied.Write(b)
}

// A disk that fails does not touch the session.
func TestBrokenDisk(t *testing.T) {
	d := &disk{lines: 2}
	var out bytes.Buffer
	r, err := tee.Run(t.Context(), &tee.Session{
		Path: os.Args[0], Env: append(os.Environ(), envChild+"=ask"),
		Stdin: strings.NewReader("1\n2\n3\n"), Stdout: &out, Stderr: io.Discard, Recording: d,
	})
	if err != nil || r.Code != 0 || out.String() != "{\"got\":1}\n{\"got\":2}\n{\"got\":3}\n{\"type\":\"bye\"}\n" {
		t.Errorf("%+v, %v, output %q", r, err, out.String())
	}
	if r == nil || r.Recording == nil || r.Recording.Error() != "disk full" || strings.Count(d.copied.String(), "\n") != 2 {
		t.Errorf("%+v after %q", r, d.copied.String())
	}
}
