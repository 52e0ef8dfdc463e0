package terminal

import (
	"os"
	"syscall"
)

// width knows consoles, but not how wide they are.
func width(f *os.File) (columns int, ok bool) {
	var mode uint32
	err := syscall.GetConsoleMode(syscall.Handle(f.Fd()), &mode)
	return 0, err == nil
}

// enableSequences is the mode in which a console obeys escape sequences,
// ENABLE_VIRTUAL_TERMINAL_PROCESSING.
const enableSequences = 4

func supportsEscapes(f *os.File) bool {
	var mode uint32
	err := syscall.GetConsoleMode(syscall.Handle(f.Fd()), &mode)
	return err == nil && mode&enableSequences != 0
}

func dropInput(*os.File) {}
