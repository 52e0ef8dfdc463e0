package regular

import (
	"errors"
	"io/fs"
	"os"
)

// ErrNotRegular means that a name stands for something else than a regular file.
var ErrNotRegular = errors.New("is not a regular file")

var errReplaced = errors.New("was replaced while it was opened")

// Open opens a file for reading, at once. Links are followed as far as the root lets
// them lead; the target must be a regular file.
func Open(r *os.Root, name string) (*os.File, fs.FileInfo, error) {
	f, err := r.OpenFile(name, os.O_RDONLY|noWait, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: ErrNotRegular}
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// OpenNoFollow is Open for a name that must be the file itself. A link is an error, even
// one that takes the place of the file in the same moment.
func OpenNoFollow(r *os.Root, name string) (*os.File, fs.FileInfo, error) {
	there, err := r.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	if !there.Mode().IsRegular() {
		return nil, nil, &fs.PathError{Op: "open", Path: name, Err: ErrNotRegular}
	}
	f, info, err := Open(r, name)
	if err != nil {
		return nil, nil, err
	}
	if !os.SameFile(there, info) {
		return nil, nil, errors.Join(&fs.PathError{Op: "open", Path: name, Err: errReplaced}, f.Close())
	}
	return f, info, nil
}
