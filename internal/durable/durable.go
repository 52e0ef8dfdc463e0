// Package durable makes sure that files and their names are on the disk, so that a power
// loss does not take them back.
//
// A file that was written and renamed into place may be empty after a power loss unless it
// was synced before, and its name may be gone unless its folder was synced after. All
// functions may be called from several goroutines at once.
package durable

import (
	"errors"
	"os"
	"runtime"
)

// Dir makes sure that the names in a folder are on the disk.
func Dir(dir string) error {
	if runtime.GOOS == "windows" { // which cannot, and need not
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
