//go:build !linux

package sandbox

// reap only supervises: to collect orphans is a matter of Linux.
func reap() int { return runSupervisor() }
