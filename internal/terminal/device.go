package terminal

import "os"

// Width returns the number of columns of the terminal that a stream is
// connected to, and whether it is one at all. It asks anew each time, so that a
// window may change its size.
func Width(stream any) (columns int, ok bool) {
	f, isFile := stream.(*os.File)
	if !isFile {
		return 0, false
	}
	columns, ok = width(f)
	if ok && columns == 0 { // a serial line does not know
		columns = 80
	}
	return columns, ok
}

// Is reports whether a stream is connected to a terminal.
func Is(stream any) bool {
	_, ok := Width(stream)
	return ok
}

// SupportsEscapes reports whether a stream is connected to a terminal that obeys escape
// sequences, as old consoles of Windows do not.
func SupportsEscapes(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && Is(f) && supportsEscapes(f)
}

// DropInput forgets what was typed at a terminal and not yet read, so that an
// answer cannot be older than its question. It does nothing where that is not
// possible.
func DropInput(stream any) {
	if f, ok := stream.(*os.File); ok {
		dropInput(f)
	}
}
