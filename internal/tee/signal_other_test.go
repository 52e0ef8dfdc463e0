//go:build !unix

package tee_test

// playSignals is a child that has to do with signals, of which there are none.
func playSignals(string) int { return 97 }
