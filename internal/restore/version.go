package restore

import (
	"errors"
	"io/fs"
	"os"
	"path"
)

// Version is a snapshot of the files of a session on disk: it changes when one is
// written, added or removed. Two are compared with [maps.Equal].
type Version map[string]fileVersion

type fileVersion struct {
	size     int64
	modified int64 // in nanoseconds
}

// VersionOf looks at the transcript of a session and at all that is in its folder.
func VersionOf(root *os.Root, folder, session string) (Version, error) {
	base := path.Join("projects", folder, session)
	info, err := root.Lstat(base + ".jsonl")
	if err != nil {
		return nil, err
	}
	v := Version{base + ".jsonl": versionOf(info)}
	err = walk(root, base, func(name string, d fs.DirEntry) error {
		if d.IsDir() {
			return nil
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) { // it was removed in this moment
			return nil
		}
		if err == nil {
			v[name] = versionOf(info)
		}
		return err
	})
	return v, err
}

func versionOf(info fs.FileInfo) fileVersion {
	return fileVersion{info.Size(), info.ModTime().UnixNano()}
}

// walk visits the content of a session's folder, which need not exist. A link in
// its place is not followed: it could lead to other sessions.
func walk(root *os.Root, base string, visit func(name string, d fs.DirEntry) error) error {
	if info, err := root.Lstat(base); err == nil && !info.IsDir() {
		return nil
	}
	return fs.WalkDir(root.FS(), base, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		return visit(name, d)
	})
}
