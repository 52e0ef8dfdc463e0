package durable

import (
	"os"

	"golang.org/x/sys/unix"
)

// flush hands a file to the disk, which may still have it in its cache. A later Sync of any
// file on the same disk empties that cache, and takes many times as long.
func flush(f *os.File) error { return unix.Fsync(int(f.Fd())) }
