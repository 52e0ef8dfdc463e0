//go:build !linux

package main

// unloadProgram does nothing: only Linux is known to keep what a program has used once.
func unloadProgram() {}

// newDiet returns a diet of pauses alone.
func newDiet() diet { return diet{answer: func() {}, rest: makeSmall} }
