package filelock

import (
	"context"
	"errors"
	"os"
	"time"
)

// ErrUnsupported means that this system or file system has no locks.
var ErrUnsupported = errors.New("file locks are not supported here")

// Lock waits until the file is locked for this handle alone. Closing the file
// unlocks it.
func Lock(ctx context.Context, f *os.File) error {
	// There is no waiting for a lock that a context could end, so it is tried
	// again and again. Locks are held for as long as a write takes.
	wait := 100 * time.Microsecond
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		ok, err := try(f)
		if ok || err != nil {
			return err
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		wait = min(2*wait, 10*time.Millisecond)
	}
}
