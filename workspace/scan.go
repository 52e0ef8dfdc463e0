package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// BoundError means that a folder has more in it than a snapshot may have. Nothing of it
// was read.
type BoundError struct {
	What  string // "files", "bytes" or "levels of folders"
	Limit int64
	Path  string // the file at which the bound was passed
}

func (e *BoundError) Error() string {
	advice := "ignore paths or raise the bound"
	if e.What == levels {
		advice = "ignore paths: this bound is fixed"
	}
	return fmt.Sprintf("claude: workspace: more than %d %s at %s; %s", e.Limit, e.What, e.Path, advice)
}

// levels names the bound that no option raises.
const levels = "levels of folders"

// maxDepth is how many folders may be in one another: each is open while what is in it is
// listed.
const maxDepth = 256

// found is an entry of a folder, and what shows that its file is unchanged.
type found struct {
	entry
	stamp stamp
}

// stamp distinguishes states of a file without reading it.
type stamp struct {
	Size     int64  `json:"size"`
	Modified int64  `json:"modified"`
	Changed  int64  `json:"changed,omitzero"` // the time that a program cannot set; 0 where there is none
	Inode    uint64 `json:"inode,omitzero"`
}

// scan lists what a snapshot of a folder has. It reads names and attributes, and
// targets of links, but no file.
type scan struct {
	ignore   ignoreList
	tracked  tracked // is never ignored
	maxFiles int
	maxBytes int64

	found []found
	bytes int64
	// unread are folders that may not be read. They are found, without what is in them.
	unread []string
}

// walk lists a folder. In an ignored one only what git tracks counts.
func (s *scan) walk(ctx context.Context, root *os.Root, below string, ignored bool) error {
	dir, err := root.Open(".")
	if errors.Is(err, fs.ErrPermission) && below != "" {
		s.unread = append(s.unread, below)
		return nil
	}
	if err != nil {
		return err
	}
	names, err := dir.Readdirnames(-1)
	if err := firstError(err, dir.Close(), ctx.Err()); err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		if err := s.add(ctx, root, name, path.Join(below, name), ignored); err != nil {
			return err
		}
	}
	return nil
}

func (s *scan) add(ctx context.Context, root *os.Root, name, at string, ignored bool) error {
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrPermission) {
		s.unread = append(s.unread, at)
		return nil
	}
	if os.IsNotExist(err) {
		return nil // it has just gone
	}
	if err != nil {
		return err
	}
	kind := info.Mode().Type()
	ignored = ignored || s.ignore.ignores(at, kind == fs.ModeDir)
	switch {
	case ignored && !s.tracked.has(at), kind&^(fs.ModeDir|fs.ModeSymlink) != 0, kind == 0 && name == ".git":
		return nil
	case strings.ContainsRune(name, '/'), name == "", name == ".":
		return fmt.Errorf("claude: workspace: the file system has the name %q", name)
	}
	f := found{entry: entry{Path: at, Mode: kind | info.Mode().Perm()}}
	if !utf8.ValidString(at) {
		f.Path, f.Raw = "", []byte(at)
	}
	switch kind {
	case 0:
		f.Size, f.Modified, f.stamp = info.Size(), info.ModTime().UnixNano(), stampOf(info)
	case fs.ModeSymlink:
		f.Mode = kind // links have no permissions of their own
		if f.Target, err = root.Readlink(name); err != nil {
			return err
		}
		if !utf8.ValidString(f.Target) {
			f.Target, f.RawTarget = "", []byte(f.Target)
		}
	}
	s.found = append(s.found, f)
	s.bytes += f.Size
	if len(s.found) > s.maxFiles {
		return &BoundError{"files", int64(s.maxFiles), at}
	}
	if s.bytes > s.maxBytes {
		return &BoundError{"bytes", s.maxBytes, at}
	}
	if kind != fs.ModeDir {
		return nil
	}
	if strings.Count(at, "/") >= maxDepth {
		return &BoundError{levels, maxDepth, at[:min(len(at), 200)] + "…"}
	}
	sub, err := root.OpenRoot(name)
	if errors.Is(err, fs.ErrPermission) {
		s.unread = append(s.unread, at)
		return nil
	}
	if err != nil {
		return err
	}
	defer sub.Close()
	if now, err := sub.Lstat("."); err != nil || !os.SameFile(info, now) {
		return fmt.Errorf("claude: workspace: %s was replaced while it was read: %w", at, ErrChanging)
	}
	return s.walk(ctx, sub, at, ignored)
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
