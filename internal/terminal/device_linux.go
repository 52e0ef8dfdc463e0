package terminal

import "os"

// The constants of tcflush(3), which are the same on every Linux port of Go except MIPS
// and PowerPC, where input is not discarded.
const (
	tcflsh   = 0x540b
	tciflush = 0
)

func dropInput(f *os.File) { ioctl(f, tcflsh, tciflush) }
