package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strings"
)

// Reasons of a [StartError]. They are matched with [errors.Is].
var (
	// ErrNotExecutable means that the file exists but may not be run: a
	// directory, no execute permission, or not a program of this system.
	ErrNotExecutable = errors.New("not an executable program")

	// ErrArgsTooLong means that the arguments and the environment are too big for
	// the system. Linux refuses a single argument of 131,072 bytes.
	ErrArgsTooLong = errors.New("arguments or environment too long")

	// ErrInterpreter means that the file exists, but the interpreter of its first
	// line or its dynamic loader does not.
	ErrInterpreter = errors.New("its interpreter or loader is missing")

	// ErrBatchFile means that the program is a .cmd or .bat file. Windows runs
	// those through cmd.exe, which reads arguments as commands.
	ErrBatchFile = errors.New("batch files are not run: use claude.exe or the cli.js behind the batch file")
)

// ErrStillRunning is returned by [Process.Stop] when the child is still there
// after SIGKILL and the bound for it, as a process stuck in the kernel can be.
var ErrStillRunning = errors.New("process is still running after SIGKILL")

// NotFoundError means that a program does not exist. It matches [fs.ErrNotExist]
// and [exec.ErrNotFound].
type NotFoundError struct {
	Name  string   // what was asked for: a bare name or a path
	Tried []string // the places looked at, in order
}

// Error names the program and the places looked at.
func (e *NotFoundError) Error() string {
	if len(e.Tried) == 0 {
		return fmt.Sprintf("%s: program not found", e.Name)
	}
	if len(e.Tried) == 1 && e.Tried[0] == e.Name {
		return fmt.Sprintf("%s: no such program", e.Name)
	}
	return fmt.Sprintf("%s: program not found, tried %s", e.Name, strings.Join(e.Tried, ", "))
}

// Is matches [fs.ErrNotExist] and [exec.ErrNotFound].
func (e *NotFoundError) Is(target error) bool {
	return target == fs.ErrNotExist || target == exec.ErrNotFound
}

// DirError means that the working directory cannot be entered. The operating
// system reports a missing directory with the same error as a missing program;
// this type keeps them apart.
type DirError struct {
	Dir string
	Err error // from the operating system; often fs.ErrNotExist
}

// Error names the directory.
func (e *DirError) Error() string {
	return fmt.Sprintf("working directory %s: %v", e.Dir, e.Err)
}

// Unwrap returns the operating system's error.
func (e *DirError) Unwrap() error { return e.Err }

// StartError means that a program exists but could not be started.
type StartError struct {
	Path   string
	Reason error // one of the reasons above; nil when there is none to give
	Err    error // from the operating system; may be nil
}

// Error names the program and the reason.
func (e *StartError) Error() string {
	switch {
	case e.Reason == nil:
		return fmt.Sprintf("start %s: %v", e.Path, e.Err)
	case e.Err == nil:
		return fmt.Sprintf("start %s: %v", e.Path, e.Reason)
	}
	return fmt.Sprintf("start %s: %v (%v)", e.Path, e.Reason, e.Err)
}

// Unwrap returns the reason and the operating system's error.
func (e *StartError) Unwrap() []error {
	var errs []error
	for _, err := range []error{e.Reason, e.Err} {
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// ExitError describes the end of a child that did not end with code 0.
//
// A CLI that handles SIGTERM exits with code 143: that is a code, not a signal.
// Death by a signal has Code -1 and the name of the signal.
type ExitError struct {
	Code   int
	Signal string // "killed", "segmentation fault", …; empty when it exited
	Stderr string // what [Process.StderrTail] returned at the end
}

// errorStderr bounds how much of standard error an error text repeats. The
// whole tail stays in the field.
const errorStderr = 1 << 10

// Error gives the code or the signal and the end of standard error.
func (e *ExitError) Error() string {
	what := fmt.Sprintf("exit code %d", e.Code)
	if e.Signal != "" {
		what = "ended by signal: " + e.Signal
	}
	if text := strings.TrimSpace(lastText(e.Stderr, errorStderr)); text != "" {
		what += ": " + text
	}
	return what
}
