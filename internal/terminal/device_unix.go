//go:build linux || darwin

package terminal

import (
	"os"
	"syscall"
	"unsafe"
)

// ioctl performs an operation on a file without changing its mode, as Fd would.
func ioctl(f *os.File, request, arg uintptr) bool {
	conn, err := f.SyscallConn()
	if err != nil {
		return false
	}
	done := false
	err = conn.Control(func(fd uintptr) {
		_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, fd, request, arg)
		done = errno == 0
	})
	return err == nil && done
}

func supportsEscapes(*os.File) bool { return true }

func width(f *os.File) (columns int, ok bool) {
	var dimensions struct{ rows, columns, width, height uint16 }
	ok = ioctl(f, syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&dimensions)))
	return int(dimensions.columns), ok
}
