package durable

import (
	"errors"
	"io/fs"
	"path/filepath"
	"time"
)

// slack is how much later than it was the clock of a file system may tell a change.
const slack = time.Minute

// walk syncs what may have changed in a folder since a time, file by file. Files that may not
// be opened, and on Windows those that another process keeps to itself, are left to the system.
type walk struct {
	since   time.Time // zero: ever
	changed func(fs.FileInfo) (time.Time, bool)
	file    func(path string) error
	dir     func(path string) error
}

// walkTree does for a folder what Tree promises, where the system cannot.
func walkTree(dir string, since time.Time) error {
	return walk{since, changedAt, syncFile, Dir}.all(dir)
}

func (w walk) all(dir string) error {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return allowed(err)
		}
		if !d.IsDir() && !d.Type().IsRegular() {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return allowed(err)
		}
		if at, known := w.changed(info); known && at.Add(slack).Before(w.since) {
			return nil
		}
		if d.IsDir() {
			return allowed(w.dir(path))
		}
		return allowed(w.file(path))
	})
	if err != nil {
		return err
	}
	return allowed(w.dir(dir)) // last: on macOS it is this sync that reaches the disk itself
}

func allowed(err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, errKept) {
		return nil
	}
	return err
}
