//go:build !windows

package durable

import (
	"errors"
	"os"
)

// errKept is an error that does not happen here.
var errKept = errors.New("kept by another process")

// syncFile syncs a file, also one that may only be read, as the objects of git.
func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(flush(f), f.Close())
}
