package terminal

import (
	"os"
	"syscall"
)

// size knows consoles, but not how wide they are.
func size(f *os.File) (columns int, ok bool) {
	var mode uint32
	err := syscall.GetConsoleMode(syscall.Handle(f.Fd()), &mode)
	return 0, err == nil
}

// sequences is the mode in which a console obeys escape sequences,
// ENABLE_VIRTUAL_TERMINAL_PROCESSING.
const sequences = 4

func obeys(f *os.File) bool {
	var mode uint32
	err := syscall.GetConsoleMode(syscall.Handle(f.Fd()), &mode)
	return err == nil && mode&sequences != 0
}

func drop(*os.File) {}
