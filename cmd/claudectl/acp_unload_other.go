//go:build !linux

package main

// unloadProgram does nothing: only Linux is known to keep what a program has used once.
func unloadProgram() {}
