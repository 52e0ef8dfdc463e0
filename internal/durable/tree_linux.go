package durable

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Tree makes sure that everything below a folder that may have changed since a time is on the
// disk, or simply everything if the time is zero. It syncs the whole file system at once,
// which takes far less time than to sync each file.
func Tree(dir string, since time.Time) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	err = unix.Syncfs(int(f.Fd()))
	if errors.Is(err, errors.ErrUnsupported) {
		return walkTree(dir, since)
	}
	return os.NewSyscallError("syncfs", err)
}
