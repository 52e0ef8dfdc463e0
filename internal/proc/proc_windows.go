package proc

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// groupSignal stands for the two steps of the stop ladder. Windows has no SIGTERM
// that a program without a window could handle, so both end the job.
type groupSignal int

const (
	groupTerm groupSignal = iota
	groupKill
)

// group is the job object that holds the child and all its descendants.
type group struct {
	mu  sync.Mutex
	job windows.Handle // 0 when given back
}

// sysProcAttr keeps Ctrl-C of our console away from the child and opens no
// window for it.
func sysProcAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		CreationFlags: windows.CREATE_NEW_PROCESS_GROUP,
		HideWindow:    true,
	}
}

// startGroup starts the child and puts it into a job that ends with our handle
// on it, and so with this process. A helper that the child starts before it is
// in the job would stay outside; the child needs far longer than that to get to
// its first helper.
func (p *Process) startGroup() error {
	job, err := newJob()
	if err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		windows.CloseHandle(job)
		return err
	}
	var assignErr error
	err = p.cmd.Process.WithHandle(func(handle uintptr) {
		assignErr = windows.AssignProcessToJobObject(job, windows.Handle(handle))
	})
	if err = errors.Join(err, assignErr); err != nil {
		p.cmd.Process.Kill()
		p.cmd.Wait()
		windows.CloseHandle(job)
		return os.NewSyscallError("AssignProcessToJobObject", err)
	}
	p.group.job = job
	return nil
}

func newJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, os.NewSyscallError("CreateJobObject", err)
	}
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{
			LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
		},
	}
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err != nil {
		windows.CloseHandle(job)
		return 0, os.NewSyscallError("SetInformationJobObject", err)
	}
	return job, nil
}

// signal ends every process in the job.
func (g *group) signal(groupSignal) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job == 0 {
		return os.ErrProcessDone
	}
	return windows.TerminateJobObject(g.job, 1)
}

// killHolders ends what holds our pipes open, because these pipes know no
// deadlines. All holders are descendants and so in the job.
func (g *group) killHolders() { g.signal(groupKill) }

// endLeftovers needs no patience: here nothing can be asked to end.
func (g *group) endLeftovers(_, _ time.Duration, _ func() bool) bool {
	g.signal(groupKill)
	return true
}

// note has nothing to do: whatever the child starts is in its job.
func (g *group) note() {}

func (g *group) killMarked(time.Duration) { g.signal(groupKill) }

// close closes the job, which ends whatever is left in it.
func (g *group) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	windows.CloseHandle(g.job)
	g.job = 0
}

func awaitExit(int) bool { return false }

// pipePoll is how often a pipe is looked at after the exit: the pipes of a child
// cannot be waited for, neither with a deadline nor with an event.
const pipePoll = 10 * time.Millisecond

// waiting returns how many bytes are in a pipe, and [io.EOF] if there are none and no
// process holds the other end any more.
func waiting(f *os.File) (n int, err error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	peek := windows.NewLazySystemDLL("kernel32.dll").NewProc("PeekNamedPipe") // loaded already
	var ready uint32
	var failed error
	err = conn.Control(func(handle uintptr) { // fails once the file is closed
		ok, _, errno := peek.Call(handle, 0, 0, 0, uintptr(unsafe.Pointer(&ready)), 0)
		if ok == 0 {
			failed = errno
		}
	})
	switch {
	case err != nil:
		return 0, err
	case errors.Is(failed, windows.ERROR_BROKEN_PIPE):
		return 0, io.EOF
	}
	return int(ready), failed
}

// readNow reads the available bytes. In the end, when the holders of the pipe
// have been ended, it reads up to its end.
func readNow(f *os.File, b []byte, final bool) (int, error) {
	if n, err := waiting(f); err != nil {
		return 0, err
	} else if n == 0 && !final {
		return 0, errAgain
	}
	return f.Read(b)
}

// awaitReadable waits until there is something to read or the end, or until another
// goroutine closes the file because the drain is over.
func awaitReadable(f *os.File) error {
	for {
		n, err := waiting(f)
		if n > 0 || errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		time.Sleep(pipePoll)
	}
}

// signalName is empty: processes end by exit codes only.
func signalName(*os.ProcessState) string { return "" }

// isTooLong knows the error for a command line of more than 32,767 characters.
func isTooLong(err error) bool {
	return errors.Is(err, windows.ERROR_FILENAME_EXCED_RANGE)
}

// errNotDir is the error of a working directory that is a file. syscall.ENOTDIR would
// match [os.ErrNotExist] here.
const errNotDir = windows.ERROR_DIRECTORY

// isBrokenPipe knows the errors of a write to a pipe without a reader: its other
// end is closed, or about to be.
func isBrokenPipe(err error) bool {
	return errors.Is(err, windows.ERROR_BROKEN_PIPE) || errors.Is(err, windows.ERROR_NO_DATA)
}
