package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// reap lets the first process of a container start itself once more, collect what is
// orphaned, and end with its child. Orphans that nobody collects stay, and count against
// the limit on processes. It returns at once in any other process.
func reap() {
	if os.Getpid() != 1 {
		return
	}
	helper, err := os.StartProcess("/proc/self/exe", os.Args, &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err != nil {
		fmt.Fprintf(os.Stderr, "sandbox: start the helper: %v\n", err)
		os.Exit(125)
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		for s := range signals {
			_ = helper.Signal(s) // it may have ended
		}
	}()
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			os.Exit(125)
		case pid == helper.Pid && status.Exited():
			os.Exit(status.ExitStatus())
		case pid == helper.Pid:
			os.Exit(128 + int(status.Signal()))
		}
	}
}
