//go:build linux || darwin

package workspace

import "syscall"

// nearlyFull reports whether a disk has less than a megabyte left.
func nearlyFull(dir string) bool {
	var s syscall.Statfs_t
	return syscall.Statfs(dir, &s) == nil && int64(s.Bavail)*int64(s.Bsize) < 1<<20
}
