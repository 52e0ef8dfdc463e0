//go:build darwin || freebsd || netbsd

package durable

import (
	"io/fs"
	"syscall"
	"time"
)

// changedAt returns the time of the last change that a program cannot set.
func changedAt(info fs.FileInfo) (time.Time, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return time.Time{}, false
	}
	return time.Unix(st.Ctimespec.Unix()), true
}
