//go:build !unix

package tee_test

// playSignals is a child for the tests of signals, which this system does not
// have.
func playSignals(string) int { return 97 }
