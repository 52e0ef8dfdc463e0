package proc

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/claude-agent-go/claude/internal/secret"
)

// prepare checks everything that can be checked without starting.
func prepare(c *Command) (*Process, error) {
	env := c.Env
	if env == nil {
		env = os.Environ()
	}
	if err := checkDir(c.Dir); err != nil {
		return nil, err
	}
	path, err := Find(c.Path, env)
	if err != nil {
		return nil, err
	}
	argv := append([]string{path}, c.Args...)
	if isScript(path) {
		node, err := Find("node", env)
		if err != nil {
			return nil, err
		}
		argv = append([]string{node}, argv...)
		path = node
	}
	p := &Process{
		log:      c.Log,
		mark:     newMark(),
		term:     cmp.Or(c.Term, DefaultTerm),
		kill:     cmp.Or(c.Kill, DefaultKill),
		drain:    cmp.Or(c.Drain, DefaultDrain),
		tail:     newTail(secrets(env, c.Secrets)),
		errEnded: make(chan struct{}),
		exited:   make(chan struct{}),
		done:     make(chan struct{}),
		ended:    make(chan struct{}),
	}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	p.stop = sync.OnceValue(p.stopLadder)
	p.cmd = &exec.Cmd{
		Path:        path,
		Args:        argv,
		Env:         withMark(env, p.mark),
		Dir:         c.Dir,
		SysProcAttr: sysProcAttr(),
	}
	return p, nil
}

// run starts the child, waits for it and cleans up after it. All of it happens
// on one locked thread until the child has exited, because Pdeathsig fires when
// the thread that created the child ends.
func (p *Process) run(c *Command, started chan<- error, abandoned <-chan struct{}) {
	runtime.LockOSThread()
	if err := p.launch(abandoned); err != nil {
		runtime.UnlockOSThread()
		select {
		case started <- err:
		case <-abandoned:
		}
		return
	}
	p.log.Debug("process started", "pid", p.PID(), "path", p.cmd.Path)
	go p.readStderr(newLineQueue(c.Stderr, p.tail.redact, p.log), c.StderrTo)
	select {
	case started <- nil:
	case <-abandoned:
		go p.stop()
	}
	p.reap()
	runtime.UnlockOSThread()
	p.closePipes()
}

// A file that is being written while another thread forks can be busy for the
// blink of an eye (ETXTBSY): the forked copy holds it open until it execs. An
// updater that replaces the CLI has the same effect.
const (
	busyTries = 10
	busyPause = 20 * time.Millisecond
)

// launch opens the pipes and starts the child. On failure nothing stays open.
func (p *Process) launch(abandoned <-chan struct{}) error {
	ends, err := openPipes()
	if err != nil {
		return &StartError{Path: p.cmd.Path, Err: err}
	}
	base := p.cmd
	for try := 1; ; try++ {
		cmd := *base // a Cmd serves one attempt
		cmd.Stdin, cmd.Stdout, cmd.Stderr = ends.childIn, ends.childOut, ends.childErr
		p.cmd = &cmd
		err = p.startGroup()
		if !errors.Is(err, syscall.ETXTBSY) || try == busyTries {
			break
		}
		select {
		case <-abandoned:
		case <-time.After(busyPause):
		}
	}
	ends.closeChild()
	if err != nil {
		ends.closeOurs()
		return p.startError(err)
	}
	p.in, p.out, p.stderr = newInput(ends.in), newOutput(ends.out), ends.err
	return nil
}

// startError turns the system's error into one that names the culprit.
func (p *Process) startError(err error) error {
	path := p.cmd.Path
	if pe, ok := errors.AsType[*fs.PathError](err); ok && pe.Op == "chdir" {
		return &DirError{Dir: p.cmd.Dir, Err: pe.Err}
	}
	start := &StartError{Path: path, Err: err}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		start.Err = errno
	}
	switch {
	case isTooLong(err):
		start.Reason = ErrArgsTooLong
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOEXEC):
		start.Reason = ErrNotExecutable
	case errors.Is(err, fs.ErrNotExist):
		// The kernel also reports "no such file" for the interpreter of a script
		// and for the loader of a program.
		if _, statErr := os.Stat(path); statErr != nil {
			return &NotFoundError{Name: path, Tried: []string{path}}
		}
		start.Reason = ErrInterpreter
	}
	return start
}

// checkDir refuses a working directory that cannot be entered. The trailing dot
// makes the system look inside, which needs the same permission as entering.
func checkDir(dir string) error {
	if dir == "" {
		return nil
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return &DirError{Dir: dir, Err: errNotDir}
	}
	_, err := os.Stat(dir + string(filepath.Separator) + ".")
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return &DirError{Dir: dir, Err: pe.Err}
	}
	return nil
}

// newMark makes the random value by which descendants are found.
func newMark() string {
	b := make([]byte, 16)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// withMark returns env with the mark. A mark that this process inherited, being
// a descendant of another such child, is replaced.
func withMark(env []string, mark string) []string {
	marked := slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		return strings.HasPrefix(entry, MarkVariable+"=")
	})
	return append(marked, MarkVariable+"="+mark)
}

// pipes are the six ends of the three pipes.
type pipes struct {
	in, out, err                *os.File // ours
	childIn, childOut, childErr *os.File
}

// openPipes opens all pipes or none.
func openPipes() (*pipes, error) {
	var (
		p    pipes
		errs [3]error
	)
	p.childIn, p.in, errs[0] = os.Pipe()
	p.out, p.childOut, errs[1] = os.Pipe()
	p.err, p.childErr, errs[2] = os.Pipe()
	if err := cmp.Or(errs[0], errs[1], errs[2]); err != nil {
		p.closeChild()
		p.closeOurs()
		return nil, fmt.Errorf("open pipes: %w", err)
	}
	return &p, nil
}

// closeChild closes the child's ends. A nil file only returns an error.
func (p *pipes) closeChild() {
	p.childIn.Close()
	p.childOut.Close()
	p.childErr.Close()
}

func (p *pipes) closeOurs() {
	p.in.Close()
	p.out.Close()
	p.err.Close()
}

// secrets are the values given to the child that its standard error must not
// show.
func secrets(env, more []string) *secret.Set {
	s := secret.FromEnv(env)
	s.AddValues(more...)
	return s
}
