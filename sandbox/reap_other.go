//go:build !linux

package sandbox

// reap is for containers, which run Linux.
func reap() {}
