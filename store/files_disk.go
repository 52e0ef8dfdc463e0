package store

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"runtime"

	"github.com/claude-agent-go/claude/internal/private"
)

// readEntries yields the lines of a file. Memory is that of the longest one.
func readEntries(in io.Reader) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for e, err := range readPlaced(in, 0) {
			if !yield(e.Entry, err) {
				return
			}
		}
	}
}

// readPlaced is readEntries with the place at which each line ends, counted from
// where the reader begins.
func readPlaced(in io.Reader, place int64) iter.Seq2[PlacedEntry, error] {
	return func(yield func(PlacedEntry, error) bool) {
		buf := bufio.NewReaderSize(in, 64<<10)
		for {
			line, err := readLine(buf)
			place += int64(len(line))
			if errors.Is(err, io.EOF) && len(line) == 0 {
				return
			}
			if err != nil && !errors.Is(err, io.EOF) {
				yield(PlacedEntry{}, err)
				return
			}
			if line = bytes.TrimRight(line, "\r\n"); len(line) > 0 && !yield(PlacedEntry{line, Place(place)}, nil) {
				return
			}
		}
	}
}

// readLine reads a line of at most MaxEntry bytes.
func readLine(in *bufio.Reader) (line []byte, err error) {
	for {
		piece, err := in.ReadSlice('\n')
		line = append(line, piece...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
		if len(line) > MaxEntry {
			return nil, fmt.Errorf("%w: a line is longer than %d bytes", ErrDamaged, MaxEntry)
		}
	}
}

// replace puts a value in the place of a file, so that others see the old one or
// the new one and nothing between.
func (s *FileStore) replace(r *os.Root, name string, value []byte) error {
	if err := s.folder(r, path.Dir(name)); err != nil {
		return err
	}
	return s.replaceBy(r, path.Join(path.Dir(name), "."+rand.Text()), name, value)
}

// replaceBy is replace with the name of the file in which the value is written first, in
// the same folder.
func (s *FileStore) replaceBy(r *os.Root, temporary, name string, value []byte) error {
	f, err := r.OpenFile(temporary, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fail(err)
	}
	_, err = f.Write(value)
	err = errors.Join(err, s.sync(f), f.Close())
	if err == nil {
		err = r.Rename(temporary, name)
	}
	if err != nil {
		return fail(errors.Join(err, r.Remove(temporary)))
	}
	return s.syncFolder(r, path.Dir(name))
}

// folder makes a folder if it is not there.
func (s *FileStore) folder(r *os.Root, name string) error {
	if exists(r, name) {
		return nil
	}
	if err := r.MkdirAll(name, 0o700); err != nil {
		return fail(err)
	}
	return s.syncFolders(r, path.Dir(name))
}

// syncFolders syncs the names in a folder and in all its parents to the disk.
// Another process may have made them, and died before it synced them.
func (s *FileStore) syncFolders(r *os.Root, name string) error {
	for {
		if err := s.syncFolder(r, name); err != nil || name == "." {
			return err
		}
		name = path.Dir(name)
	}
}

// makeDir makes the directory of the store. Its name, and those of the directories
// that were made for it, are on the disk before anything is in it.
func (s *FileStore) makeDir() error {
	dir, err := filepath.Abs(s.dir)
	if err != nil {
		return fail(err)
	}
	s.mu.Lock()
	made := s.made
	s.mu.Unlock()
	if _, err := os.Stat(dir); err == nil && made {
		return nil
	}
	missing := []string{dir}
	for up := filepath.Dir(dir); up != filepath.Dir(up); up = filepath.Dir(up) {
		if _, err := os.Stat(up); err == nil {
			break
		}
		missing = append(missing, up)
	}
	if err := private.MkdirAll(dir); err != nil {
		return fail(err)
	}
	for _, name := range missing {
		if err := s.syncIn(filepath.Dir(name)); err != nil {
			return err
		}
	}
	s.mu.Lock()
	s.made = true
	s.mu.Unlock()
	return nil
}

// syncIn makes sure that the names in a directory above the store are on the disk,
// if this user may read it.
func (s *FileStore) syncIn(dir string) error {
	f, err := os.Open(dir)
	if errors.Is(err, fs.ErrPermission) {
		return nil // then another process created its content
	}
	if err != nil {
		return fail(err)
	}
	defer f.Close()
	return s.syncNames(f)
}

// syncFolder makes sure that the names in a folder are on the disk.
func (s *FileStore) syncFolder(r *os.Root, name string) error {
	f, err := r.Open(name)
	if err != nil {
		return fail(err)
	}
	defer f.Close()
	return s.syncNames(f)
}

// syncNames is sync for a folder.
func (s *FileStore) syncNames(f *os.File) error {
	if runtime.GOOS == "windows" { // which cannot, and need not
		return nil
	}
	return s.sync(f)
}
