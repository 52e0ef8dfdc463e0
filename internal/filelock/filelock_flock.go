//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package filelock

import (
	"os"
	"syscall"
)

// try locks the file unless it is locked.
func try(f *os.File) (bool, error) {
	for {
		switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err {
		case nil:
			return true, nil
		case syscall.EINTR:
		case syscall.EWOULDBLOCK:
			return false, nil
		case syscall.ENOSYS, syscall.ENOTSUP:
			return false, ErrUnsupported
		default:
			return false, os.NewSyscallError("flock", err)
		}
	}
}
