//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || solaris)

package durable

import (
	"io/fs"
	"time"
)

// changedAt does not know: programs that unpack archives set the only time there is.
func changedAt(fs.FileInfo) (time.Time, bool) { return time.Time{}, false }
