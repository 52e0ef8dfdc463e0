package proc

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds used where a [Command] leaves them zero.
const (
	DefaultTerm  = 5 * time.Second
	DefaultKill  = 5 * time.Second
	DefaultDrain = 2 * time.Second
)

// MarkVariable is the environment variable whose random value marks a child and
// everything that descends from it.
const MarkVariable = "CLAUDE_AGENT_GO_MARK"

// Command describes a program to start, and the patience with it. It is read by
// [Start] and may be used again afterwards.
type Command struct {
	// Path is the program. It is resolved by [Find], so it may be empty or a
	// bare name. A .js, .mjs or .cjs file is run by the node in PATH of Env.
	Path string

	// Args are the arguments, without the program itself.
	Args []string

	// Env is the whole environment, in the form of [os.Environ]; nil stands
	// for that of this process. The mark is added, nothing is taken away.
	Env []string

	// Secrets are further texts to hide from standard error.
	Secrets []string

	// Dir is the working directory; empty is that of this process.
	Dir string

	// Stderr, if set, gets each line of standard error, without its line end
	// and without secrets. A line over 64 KiB is cut there, with a note of how
	// much is missing. It runs in a goroutine of its own and one call at a time.
	// When it is slow, lines are dropped and counted; when it panics, the panic
	// is logged. Lines may still come after Wait has returned.
	Stderr func(line string)

	// StderrTo, if set, gets standard error as it comes, byte for byte and with
	// its secrets. It is called by the goroutine that reads: a write that
	// waits makes the child wait. When a write fails, standard error is
	// closed, as the child would see it if it wrote there directly.
	StderrTo io.Writer

	// Log is silent when nil.
	Log *slog.Logger

	// Term is the time from SIGTERM to SIGKILL. Kill bounds the wait after
	// SIGKILL. Drain is the patience with what the child leaves behind: for
	// processes from SIGTERM to SIGKILL, and for pipes that another process still
	// holds open. Zero is the default; a negative value means no patience.
	Term, Kill, Drain time.Duration
}

// Process is a child that was started. All methods may be called by several
// goroutines at once.
//
// It must be ended by [Process.Stop], or waited for until it ends by itself;
// dropping it does not end it.
type Process struct {
	cmd  *exec.Cmd
	log  *slog.Logger
	mark string

	term, kill, drain time.Duration

	// The ends of the three pipes that are ours.
	in       *input
	out      *output
	stderr   *os.File
	tail     *tail
	errEnded chan struct{} // closed when standard error has been read

	group group // the system's handle on the child and its helpers

	// mu guards group signals: none may be sent once the child is reaped,
	// because its number may then belong to another process.
	mu     sync.Mutex
	reaped bool

	killed atomic.Bool // it has had all the patience there is

	// Set before done is closed, constant afterwards.
	state   *os.ProcessState
	waitErr error

	exited chan struct{} // closed when the child itself has exited
	done   chan struct{} // closed when what it left behind is ended, and it is reaped
	ended  chan struct{} // closed when, besides, the pipes are closed

	stop func() error
}

// Start starts the program. The context bounds the start only: ending it later
// does not touch the child.
//
// A failed Start leaves nothing behind. Should the context end while the system
// is still busy starting, the child is stopped as soon as it is there, and Start
// waits for its end. A system that takes longer than 5 s to start a program is
// not waited for: its child is stopped in the background.
func Start(ctx context.Context, c *Command) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p, err := prepare(c)
	if err != nil {
		return nil, err
	}
	started := make(chan error)
	abandoned, finished := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(finished)
		p.run(c, started, abandoned)
	}()
	select {
	case err := <-started:
		if err != nil {
			return nil, err
		}
		return p, nil
	case <-ctx.Done():
		close(abandoned)
		select {
		case <-finished:
		case <-time.After(abandonTimeout):
		}
		return nil, ctx.Err()
	}
}

// abandonTimeout bounds the wait for the end of a child that is no longer wanted.
// Mostly it ends before it has run its first instruction.
const abandonTimeout = 5 * time.Second

// PID returns the number of the child, which is also that of its group. It may
// belong to another process once [Process.Done] is closed.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done returns a channel that is closed when the child has exited and been
// reaped, and nothing is left of what it started. Output may still be unread
// then.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait blocks until [Process.Done] is closed and standard error has been read or
// given up. It returns nil for exit code 0, else an
// [*ExitError].
func (p *Process) Wait() error {
	<-p.done
	<-p.errEnded
	if p.waitErr != nil {
		return p.waitErr
	}
	if p.state.Success() {
		return nil
	}
	return &ExitError{
		Code:   p.state.ExitCode(),
		Signal: signalName(p.state),
		Stderr: p.StderrTail(),
	}
}

// State returns how the child ended, nil before [Process.Done] is closed and for
// a child that could not be waited for.
func (p *Process) State() *os.ProcessState {
	select {
	case <-p.done:
		return p.state
	default:
		return nil
	}
}

// StderrTail returns the end of the child's standard error so far, at most 16 KiB. Secrets are
// replaced: those of the Command, the values of environment entries whose names speak of keys,
// tokens, secrets, passwords or authorization, and API keys by their form. The cut is at the
// beginning of a line where possible, never inside a secret.
func (p *Process) StderrTail() string { return p.tail.String() }

// Read reads standard output. At its end it returns [io.EOF]; output that
// others hold open after the exit ends when [Command.Drain] is over.
func (p *Process) Read(b []byte) (int, error) { return p.out.Read(b) }

// Write writes to standard input and blocks while the pipe is full. Once the
// child has gone the error matches [syscall.EPIPE]; after CloseWrite it matches
// [os.ErrClosed]. Both also end a Write that is under way.
func (p *Process) Write(b []byte) (int, error) { return p.in.Write(b) }

// CloseWrite closes standard input, which asks the CLI to finish and exit. Only
// the first call does something; every call returns its error.
func (p *Process) CloseWrite() error { return p.in.Close() }

// Note looks for the groups that descendants lead. Call it just before the child
// is asked to end: afterwards, the rest of these groups is ended, even if their
// leaders have gone first. Stop also does it.
func (p *Process) Note() {
	if !p.hasExited() {
		p.group.note()
	}
}

// CloseRead closes our end of standard output: the child can write no more, and
// the content of the pipe is lost. It is for the goroutine that reads.
func (p *Process) CloseRead() { p.out.discard() }

// Signal sends the child a signal, and not its group. After the exit the error
// is [os.ErrProcessDone]; on Windows only [os.Kill] can be sent.
func (p *Process) Signal(sig os.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped || p.hasExited() {
		return os.ErrProcessDone
	}
	return p.cmd.Process.Signal(sig)
}

// Stop ends the child: SIGTERM to its group, SIGKILL after [Command.Term], then
// a wait of [Command.Kill] at most, and [Command.Drain] for what it left behind.
// It returns nil when the child has been reaped and [ErrStillRunning] when it
// could not be. Only the first call
// does something; every call waits for it and returns its error.
func (p *Process) Stop() error { return p.stop() }

// Kill ends the child, its group and what it left behind at once, with SIGKILL. It
// returns when the child has been reaped, as Stop does; a Stop that waits returns too.
func (p *Process) Kill() error {
	p.killed.Store(true)
	if err := p.signal(groupKill); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.log.Warn("process group does not take SIGKILL", "pid", p.PID(), "error", err)
	}
	return p.Stop() // which finds it gone
}
