package terminal

import (
	"os"
	"unsafe"
)

// The constants of tcflush(3).
const (
	tiocflush = 0x80047410
	fread     = 1
)

func dropInput(f *os.File) {
	queue := int32(fread)
	ioctl(f, tiocflush, uintptr(unsafe.Pointer(&queue)))
}
