package main

import (
	"errors"
	"runtime"

	"golang.org/x/sys/unix"
)

// onOneCore calls start. What it starts stays on one core.
func onOneCore(start func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return err
	}
	for i := range len(all) * 64 {
		if all.IsSet(i) {
			one.Set(i)
			break
		}
	}
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return err
	}
	return errors.Join(start(), unix.SchedSetaffinity(0, &all))
}
