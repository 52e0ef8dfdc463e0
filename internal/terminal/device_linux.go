package terminal

import "os"

// The constants of tcflush(3), which are the same on every Linux that Go runs
// on but MIPS and PowerPC; there nothing is dropped.
const (
	tcflsh   = 0x540b
	tciflush = 0
)

func dropInput(f *os.File) { ioctl(f, tcflsh, tciflush) }
