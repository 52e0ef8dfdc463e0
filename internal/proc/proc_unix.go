//go:build unix

package proc

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// groupSignal is a signal to a whole process group.
type groupSignal = syscall.Signal

const (
	groupTerm = syscall.SIGTERM
	groupKill = syscall.SIGKILL
)

// group is the process group that the child leads. Its number is the child's.
type group struct {
	id    int
	mark  string
	noted notedGroups
}

// startGroup starts the child as the leader of a new group. The group exists
// when this returns: the child joins it before it runs the program.
func (p *Process) startGroup() error {
	if err := p.cmd.Start(); err != nil {
		return err
	}
	p.group.id, p.group.mark = p.cmd.Process.Pid, p.mark
	return nil
}

// signal signals every member. The caller makes sure that the leader is not
// reaped yet.
func (g *group) signal(sig groupSignal) error {
	err := syscall.Kill(-g.id, sig)
	if sig == groupTerm {
		// A suspended process handles SIGTERM only when it is continued.
		syscall.Kill(-g.id, syscall.SIGCONT)
	}
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// The time between two looks for leftovers: each looks at every process of the
// system, so it doubles from the first to the last.
const (
	firstPoll = 10 * time.Millisecond
	lastPoll  = 160 * time.Millisecond
)

// endBySignals sends SIGTERM, waits for at most patience, and then sends SIGKILL
// again and again until the bound is over. With no patience it begins with
// SIGKILL, and it continues with that when hurried reports that none is left.
// signal sends a signal to the leftovers, 0 for none, and reports
// whether there are none. The result is false when something is still left after
// the bound.
func endBySignals(patience, bound time.Duration, hurried func() bool, signal func(syscall.Signal) bool) bool {
	if patience > 0 && !hurried() {
		if signal(syscall.SIGTERM) {
			return true
		}
		// A suspended process handles SIGTERM only when it is continued.
		signal(syscall.SIGCONT)
		gone := false
		pollUntil(patience, func() bool {
			gone = signal(0)
			return gone || hurried()
		})
		if gone {
			return true
		}
	}
	return pollUntil(bound, func() bool { return signal(syscall.SIGKILL) })
}

// pollUntil calls gone, once at least, until it reports true. It reports false when
// the bound is over first.
func pollUntil(bound time.Duration, gone func() bool) bool {
	over := time.NewTimer(bound)
	defer over.Stop()
	for pause := firstPoll; !gone(); pause = min(2*pause, lastPoll) {
		select {
		case <-over.C:
			return gone()
		case <-time.After(pause):
		}
	}
	return true
}

// killHolders does nothing: the deadlines of our pipe ends do the work.
func (g *group) killHolders() {}

func (g *group) close() {}

// readNow reads the available bytes without waiting. It bypasses the deadline of
// the file, which would refuse to read them, and its read lock, which
// awaitReadable may hold.
func readNow(f *os.File, b []byte, _ bool) (n int, err error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	var readErr error
	err = conn.Control(func(fd uintptr) {
		// It is set already wherever the runtime could poll the pipe.
		syscall.SetNonblock(int(fd), true)
		for {
			n, readErr = syscall.Read(int(fd), b)
			if readErr != syscall.EINTR {
				return
			}
		}
	})
	switch {
	case err != nil:
		return 0, err
	case readErr == syscall.EAGAIN:
		return 0, errAgain
	case readErr != nil:
		return 0, readErr
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// awaitReadable waits until there is something to read or the end, and leaves it
// there. Readers are not in its way, nor it in theirs. The error is that of the
// deadline or of a closed pipe.
func awaitReadable(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	return conn.Read(func(fd uintptr) bool {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, 0)
		return n > 0 || err != nil
	})
}

// signalName names the signal that ended the child.
func signalName(state *os.ProcessState) string {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return status.Signal().String()
	}
	return ""
}

func isTooLong(err error) bool { return errors.Is(err, syscall.E2BIG) }

// errNotDir is the error of a working directory that is a file.
const errNotDir = syscall.ENOTDIR

// isBrokenPipe has nothing to add: a write to a pipe without a reader fails with
// EPIPE.
func isBrokenPipe(error) bool { return false }
