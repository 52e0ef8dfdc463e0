package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// window is a pseudo-terminal with the program in it, and a person in front of
// it who types when something is to be read.
type window struct {
	t      *testing.T
	master *os.File
	slave  *os.File // until the program has it
	cmd    *exec.Cmd

	mu   sync.Mutex
	text bytes.Buffer  // everything the terminal was told
	news chan struct{} // has a token when text has grown
	seen int           // how much of text was waited for
	done chan struct{} // closed when nothing more can come
}

// open starts the program in a terminal of its own.
func open(t *testing.T, env []string, args ...string) *window {
	t.Helper()
	w := newWindow(t)
	w.start(env, args...)
	return w
}

// newWindow returns a terminal with nothing in it yet.
func newWindow(t *testing.T) *window {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	var unlock, number int32
	ioctl(t, master, syscall.TIOCSPTLCK, unsafe.Pointer(&unlock))
	ioctl(t, master, syscall.TIOCGPTN, unsafe.Pointer(&number))
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slave.Close() })
	w := &window{t: t, master: master, slave: slave, news: make(chan struct{}, 1), done: make(chan struct{})}
	w.keepOutput()
	w.resize(80)
	go w.listen()
	return w
}

// start starts the program.
func (w *window) start(env []string, args ...string) {
	w.t.Helper()
	w.cmd = exec.CommandContext(w.t.Context(), built(w.t), args...)
	w.cmd.Stdin, w.cmd.Stdout, w.cmd.Stderr = w.slave, w.slave, w.slave
	w.cmd.Env = append([]string{"PATH=/bin:/usr/bin", "HOME=" + w.t.TempDir(), "TERM=xterm"}, env...)
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := w.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.slave.Close()
}

func ioctl(t *testing.T, f *os.File, request uintptr, arg unsafe.Pointer) {
	t.Helper()
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, uintptr(arg)); errno != 0 {
		t.Fatal(errno)
	}
}

// keepOutput keeps Ctrl-C from dropping what the program has just written: a
// terminal empties its queues after it has sent the signal, so that a program
// which answers at once would not be seen.
func (w *window) keepOutput() {
	w.t.Helper()
	var modes syscall.Termios
	ioctl(w.t, w.slave, syscall.TCGETS, unsafe.Pointer(&modes))
	modes.Lflag |= syscall.NOFLSH
	ioctl(w.t, w.slave, syscall.TCSETS, unsafe.Pointer(&modes))
}

// resize changes the width of the window.
func (w *window) resize(columns uint16) {
	w.t.Helper()
	size := struct{ rows, columns, width, height uint16 }{24, columns, 0, 0}
	ioctl(w.t, w.master, syscall.TIOCSWINSZ, unsafe.Pointer(&size))
}

func (w *window) listen() {
	defer close(w.done)
	buf := make([]byte, 4096)
	for {
		n, err := w.master.Read(buf)
		w.mu.Lock()
		w.text.Write(buf[:n])
		w.mu.Unlock()
		select {
		case w.news <- struct{}{}:
		default:
		}
		if err != nil {
			return // EIO: the last process has closed the terminal
		}
	}
}

// see waits until the text stands on the terminal, after what was waited for
// before, and returns what came up to its end.
func (w *window) see(want string) string {
	w.t.Helper()
	late := time.After(time.Minute)
	for {
		w.mu.Lock()
		rest := w.text.String()[w.seen:]
		i := strings.Index(rest, want)
		if i >= 0 {
			w.seen += i + len(want)
		}
		w.mu.Unlock()
		if i >= 0 {
			return rest[:i+len(want)]
		}
		select {
		case <-w.news:
		case <-late:
			w.t.Fatalf("the terminal shows %q, want %q", rest, want)
		}
	}
}

func (w *window) enter(text string) {
	w.t.Helper()
	if _, err := w.master.WriteString(text); err != nil {
		w.t.Fatal(err)
	}
}

// exit waits for the end of the program, and returns its exit code and all that
// was shown.
func (w *window) exit() (int, string) {
	w.t.Helper()
	_ = w.cmd.Wait() // only the exit code counts
	<-w.done
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cmd.ProcessState.ExitCode(), w.text.String()
}

const question = "Allow? ["

func TestTerminalPermission(t *testing.T) {
	script := `[{"use": [{"name": "Bash", "input": {"command": "make"}, "output": "built"}]}, "Done."]`
	for _, test := range []struct {
		name string
		env  string
		keys func(w *window)
		want string // in what is shown after the answer
	}{
		{"once", "", func(w *window) { w.enter("y\n") }, "< Bash ok"},
		{"always", "", func(w *window) { w.enter("a\n") }, "< Bash ok"},
		{"no", "", func(w *window) { w.enter("n\n"); w.see("Why not?"); w.enter("not today\n") }, "< Bash denied: not today"},
		{"edited in a line", "", func(w *window) {
			w.enter("e\n")
			w.see("as JSON on one line:")
			w.enter("nonsense\n")
			w.see("That is not a JSON object.")
			w.see(question)
			w.enter("e\n")
			w.see("as JSON on one line:")
			w.enter("{\"command\": \"make all\"}\n")
			w.see("| command: make all")
			w.see("Allow it as edited?")
			w.enter("y\n")
		}, "< Bash ok"},
		{"edited in an editor", "EDITOR=sed -i s/make/true/", func(w *window) { w.enter("e\n"); w.see("| command: true"); w.see("as edited?"); w.enter("y\n") }, "< Bash ok"},
		{"nonsense", "", func(w *window) {
			w.enter("what\n")
			w.see(`"what" is not an answer. Type y, a, n or e.`)
			w.see(question)
			w.enter("y\n")
		}, "< Bash ok"},
		{"end of input", "", func(w *window) { w.enter("\x04") }, "without an answer"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := open(t, []string{test.env}, "run", "--cli", fakeCLI(t, script), "Build it.")
			w.see("Claude wants to use Bash")
			w.see("command: make")
			w.see(question)
			test.keys(w)
			w.see(test.want)
			w.see("Done.")
			if code, shown := w.exit(); code != 0 {
				t.Errorf("exit code %d, want 0; shown %q", code, shown)
			}
		})
	}
}

// What was typed before a question must not answer it.
func TestTerminalTypedAhead(t *testing.T) {
	t.Parallel()
	script := `[{"use": [{"name": "Bash", "input": {"command": "rm -r ."}, "output": "x"}]}, "Done."]`
	w := newWindow(t)
	w.enter("y\n")
	w.see("y\r\n") // the terminal has it, and it has not been read
	w.start(nil, "run", "--cli", fakeCLI(t, script), "Go.")
	w.see(question)
	w.enter("n\n")
	w.see("Why not?")
	w.enter("\n")
	if shown := w.see("Done."); !strings.Contains(shown, "the user said no") {
		t.Errorf("shown %q, want the denial", shown)
	}
	w.exit()
}

func TestTerminalQuestions(t *testing.T) {
	t.Parallel()
	script := `[{"use": [{"name": "AskUserQuestion", "input": {"questions": [
		{"question": "Which way?", "header": "Way", "multiSelect": false, "options": [{"label": "Left", "description": "the short one"}, {"label": "Right", "description": "the long one"}]},
		{"question": "What colour?", "header": "Colour", "multiSelect": false, "options": [{"label": "Red", "description": "r"}, {"label": "Blue", "description": "b"}]}]}}]}, "Thanks."]`
	w := open(t, nil, "run", "--cli", fakeCLI(t, script), "Ask me.")
	w.see("Which way?")
	w.see("2  Right: the long one")
	w.see("your own words: ")
	w.enter("2\n")
	w.see("What colour?")
	w.see("your own words: ")
	w.enter("green\n")
	w.see("< AskUserQuestion ok")
	w.see("Thanks.")
	if code, shown := w.exit(); code != 0 {
		t.Errorf("exit code %d, want 0; shown %q", code, shown)
	}
}

func TestTerminalDemo(t *testing.T) {
	t.Parallel()
	w := open(t, nil, "demo", "--ask")
	w.see("simulated")
	w.see("Claude wants to use Write")
	w.see("content:")
	w.see("    42")
	w.see(question)
	w.enter("n\n")
	w.see("Why not?")
	w.enter("not now\n")
	w.see("denied: not now")
	w.see("result  ")
	w.see("interrupted")
	if code, shown := w.exit(); code != 0 {
		t.Errorf("exit code %d, want 0; shown %q", code, shown)
	}
}

func TestTerminalCtrlC(t *testing.T) {
	// The model never comes to an end by itself.
	script := `[{"say": "Counting: one, two, three, four, five, six, seven, eight, nine, ten", "hold": true}]`
	t.Run("once interrupts the turn", func(t *testing.T) {
		t.Parallel()
		w := open(t, nil, "run", "--cli", fakeCLI(t, script), "Count.")
		w.see("Counting")
		w.enter("\x03")
		w.see("interrupting")
		code, shown := w.exit()
		if code != int(exitInterrupted) || !strings.Contains(shown, "claudectl: interrupted") {
			t.Errorf("exit code %d, want %d and a word; shown %q", code, exitInterrupted, shown)
		}
	})
	t.Run("twice ends a CLI that does not listen", func(t *testing.T) {
		t.Parallel()
		// It falls silent in the middle, and answers nothing any more.
		silent := `{"replies": ["One. Two. Three."], "faults": [{"line": 6, "silent": true}]}`
		w := open(t, nil, "run", "--cli", fakeCLI(t, silent), "Count.")
		w.see("thinking")
		w.enter("\x03")
		w.see("interrupting")
		w.enter("\x03")
		code, shown := w.exit()
		if code != int(exitInterrupted) || !strings.Contains(shown, "claudectl: interrupted") {
			t.Errorf("exit code %d, want %d and a word; shown %q", code, exitInterrupted, shown)
		}
	})
	t.Run("SIGTERM ends at once", func(t *testing.T) {
		t.Parallel()
		w := open(t, nil, "run", "--cli", fakeCLI(t, script), "Count.")
		w.see("Counting")
		if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if code, shown := w.exit(); code != int(exitTerminated) {
			t.Errorf("exit code %d, want %d; shown %q", code, exitTerminated, shown)
		}
	})
	t.Run("belongs to an editor that runs", func(t *testing.T) {
		t.Parallel()
		editor := filepath.Join(t.TempDir(), "editor")
		// It waits for a child: a shell that reads misses a signal that comes just before.
		write(t, editor, "#!/bin/sh\nsleep 600 &\ntrap 'kill $!; sed -i s/make/true/ $1; exit 0' INT\necho editing\nwait\n", 0o700)
		w := open(t, []string{"EDITOR=" + editor}, "run", "--cli", fakeCLI(t, `[{"use": [{"name": "Bash", "input": {"command": "make"}}]}, "Done."]`), "Build it.")
		w.see(question)
		w.enter("e\n")
		w.see("editing")
		w.enter("\x03")
		w.see("as edited?")
		w.enter("y\n")
		w.see("Done.")
		if code, shown := w.exit(); code != 0 || strings.Contains(shown, "interrupting") {
			t.Errorf("exit code %d, want 0 and no interrupt; shown %q", code, shown)
		}
	})
	t.Run("takes a question back", func(t *testing.T) {
		t.Parallel()
		w := open(t, nil, "run", "--cli", fakeCLI(t, `[{"use": [{"name": "Bash", "input": {"command": "make"}}]}]`), "Build it.")
		w.see(question)
		w.enter("\x03")
		w.see("no longer open")
		if code, shown := w.exit(); code != int(exitInterrupted) {
			t.Errorf("exit code %d, want %d; shown %q", code, exitInterrupted, shown)
		}
	})
}

// The live line is cut to the width of the window, even when that changes, and
// there are no colours for users who want none.
func TestTerminalLiveLine(t *testing.T) {
	script := `[{"use": [{"name": "mcp__a_server_with_a_long_name__and_a_tool_with_a_long_name", "input": {}}]}]`
	live := func(w *window) string {
		w.see("\r\x1b[K")
		line := w.see("\r")
		return strings.TrimSuffix(strings.NewReplacer("\x1b[2m", "", "\x1b[0m", "").Replace(line), "\r")
	}
	t.Run("resize", func(t *testing.T) {
		t.Parallel()
		silent := `{"replies": ` + script + `, "allow": ["mcp__a_server_with_a_long_name__and_a_tool_with_a_long_name"], "faults": [{"line": 13, "silent": true}]}`
		w := open(t, nil, "run", "--cli", fakeCLI(t, silent), "Go.")
		for live(w) == "" {
		}
		if line := live(w); !strings.Contains(line, "tokens  $") {
			t.Errorf("the live line is %q, want tokens and cost", line)
		}
		w.resize(30)
		line := ""
		for range 5 { // one or two were drawn before
			if line = live(w); len(line) == 29 {
				break
			}
		}
		if len(line) != 29 {
			t.Errorf("the live line is %q, want 29 columns in a window of 30", line)
		}
		w.enter("\x03")
		w.see("interrupting")
		w.enter("\x03")
		w.exit()
	})
	for _, env := range []string{"NO_COLOR=1", "TERM=dumb"} {
		t.Run(env, func(t *testing.T) {
			t.Parallel()
			w := open(t, []string{env}, "run", "--cli", fakeCLI(t, `["Hello."]`), "Hi.")
			w.see("Hello.")
			_, shown := w.exit()
			if strings.Contains(shown, "\x1b[0m") || env == "TERM=dumb" && strings.Contains(shown, "\x1b") {
				t.Errorf("shown %q has codes in it", shown)
			}
		})
	}
}

// A recording has colours on a terminal, except for users who want none.
func TestTerminalInspect(t *testing.T) {
	path, err := filepath.Abs(aRecording)
	if err != nil {
		t.Fatal(err)
	}
	for env, want := range map[string]bool{"X=1": true, "NO_COLOR=1": false, "TERM=dumb": false} {
		t.Run(env, func(t *testing.T) {
			t.Parallel()
			w := open(t, []string{env}, "inspect", path)
			code, shown := w.exit()
			if got := strings.Contains(shown, "\x1b[31mdenied"); code != 0 || got != want || !strings.Contains(shown, "denied") {
				t.Errorf("exit code %d, red is %v, want %v: %q", code, got, want, shown)
			}
		})
	}
}
