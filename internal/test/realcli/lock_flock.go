//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package realcli

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// exclusive is true: lock keeps others out.
const exclusive = true

// lockPoll is how often a waiting installer looks again. A blocking flock
// could not be given up when the context ends.
const lockPoll = 100 * time.Millisecond

// lock waits for the file lock at path. The lock belongs to the open file, so
// it excludes other goroutines as well as other processes, and the system
// frees it when the process dies.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			f.Close()
			return nil, &os.PathError{Op: "flock", Path: path, Err: err}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			f.Close()
			return nil, context.Cause(ctx)
		}
	}
}

// interrupt lets npm remove its half-written files.
func interrupt(p *os.Process) error { return p.Signal(os.Interrupt) }
