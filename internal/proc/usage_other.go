//go:build !linux

package proc

// Measures reports whether Measure works on this system.
const Measures = false

// Measure returns [ErrNoUsage].
func Measure(int) (Usage, error) { return Usage{}, ErrNoUsage }
