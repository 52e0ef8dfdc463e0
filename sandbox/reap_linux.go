package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/claude-agent-go/claude/internal/proc"
)

// reap starts the helper once more and adopts what is orphaned below it: the first process
// of a container does so anyway, and another one asks the kernel for it. So a process that
// the CLI has started stays within reach even if it has left its session and its
// environment. Orphans are collected, because otherwise they stay and count against the
// limit on processes. When the helper has ended, however it has, what is left is killed.
// It returns the helper's exit code.
func reap() int {
	runtime.LockOSThread() // the helper is killed when the thread that has started it ends
	err := proc.AdoptOrphans()
	var helper *os.Process
	if err == nil {
		helper, err = os.StartProcess("/proc/self/exe", []string{os.Args[0], supervisedWord}, &os.ProcAttr{
			Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}, Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
		})
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "sandbox: start the helper: %v\n", err)
		return 125
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		for s := range signals {
			_ = helper.Signal(s) // it may have ended
		}
	}()
	code := collect(helper.Pid)
	ended := make(chan struct{})
	go func() {
		endOrphans()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(orphansBound):
	}
	return code
}

// orphansBound is how long orphans may take to die, which one that waits for a broken disk
// does not.
const orphansBound = 5 * time.Second

// collect collects children until one of them has ended, and returns its exit code.
func collect(pid int) int {
	for {
		var status syscall.WaitStatus
		ended, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return 125
		case ended == pid && status.Exited():
			return status.ExitStatus()
		case ended == pid:
			return 128 + int(status.Signal())
		}
	}
}

// endOrphans kills the children of this process, and theirs as they become its own, until
// there are none.
func endOrphans() {
	for {
		for _, pid := range childrenOf(os.Getpid()) { // collected only here, so no number is another's
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if _, err := syscall.Wait4(-1, nil, 0, nil); err != nil && !errors.Is(err, syscall.EINTR) {
			return
		}
	}
}

// childrenOf returns the children of a process.
func childrenOf(parent int) (pids []int) {
	entries, _ := os.ReadDir("/proc") // what was read before an error counts
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		// The name of the program may hold any character; behind it are state and parent.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) > 1 && string(fields[1]) == strconv.Itoa(parent) {
			pids = append(pids, pid)
		}
	}
	return pids
}
