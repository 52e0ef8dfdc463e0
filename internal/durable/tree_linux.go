package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Tree makes sure that everything below a folder is on the disk. It syncs the whole file
// system at once, which takes far less time than to sync each file.
func Tree(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		return errors.Join(&os.PathError{Op: "syncfs", Path: dir, Err: err}, f.Close())
	}
	return f.Close()
}
