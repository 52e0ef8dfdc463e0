//go:build !linux

package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Tree makes sure that everything below a folder is on the disk. Files that may not be
// opened are left to the system.
func Tree(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return allowed(err)
		case d.IsDir():
			return allowed(Dir(path))
		case !d.Type().IsRegular():
			return nil
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0) // Windows syncs only what may be written
		if err != nil {
			return allowed(err)
		}
		return errors.Join(f.Sync(), f.Close())
	})
}

func allowed(err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
