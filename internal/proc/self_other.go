//go:build !linux

package proc

// Hide does nothing: it is about /proc, which only Linux has.
func Hide() error { return nil }
