package store

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path"
	"runtime"
)

// readEntries yields the lines of a file. Memory is that of the longest one.
func readEntries(in io.Reader) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		buf := bufio.NewReaderSize(in, 64<<10)
		for {
			line, err := readLine(buf)
			if errors.Is(err, io.EOF) && len(line) == 0 {
				return
			}
			if err != nil && !errors.Is(err, io.EOF) {
				yield(nil, err)
				return
			}
			if line = bytes.TrimRight(line, "\r\n"); len(line) > 0 && !yield(line, nil) {
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
	temporary := path.Join(path.Dir(name), "."+rand.Text())
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
	for name != "." { // its name, and those of the folders it is in
		name = path.Dir(name)
		if err := s.syncFolder(r, name); err != nil {
			return err
		}
	}
	return nil
}

// syncFolder makes sure that the names in a folder are on the disk.
func (s *FileStore) syncFolder(r *os.Root, name string) error {
	if s.NoSync || runtime.GOOS == "windows" { // which cannot, and need not
		return nil
	}
	f, err := r.Open(name)
	if err != nil {
		return fail(err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fail(err)
	}
	return nil
}
