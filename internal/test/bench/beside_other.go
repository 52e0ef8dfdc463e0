//go:build !linux

package main

// onOneCore calls start. Programs cannot be kept on one core here.
func onOneCore(start func() error) error { return start() }
