package workspace

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
)

// ErrFull means that a disk, or the user's share of it, is full: where the folder is, or where
// its chunks are kept. Nothing was lost: the folder and the last snapshot are as they were.
var ErrFull = errors.New("the disk is full")

// named returns an error that also matches [ErrFull] if it comes from a full disk.
func named(err error) error {
	if err == nil || errors.Is(err, ErrFull) || !isFull(err) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrFull, err)
}

// isFull reports whether an error is that of a full disk: of the system, or told by git.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, errQuota) || strings.Contains(err.Error(), "No space left on device") || strings.Contains(err.Error(), "Disk quota exceeded")
}

// filled returns the error of a git that failed where a disk is full, as one that matches
// [ErrFull]: git does not always print why it could not write. Call it before anything is
// taken back, which makes room.
func filled(err error, w *Worktrees) error {
	if _, failed := errors.AsType[*exec.ExitError](err); !failed || isFull(err) {
		return err
	}
	if nearlyFull(w.o.Root) || nearlyFull(w.common) {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}
