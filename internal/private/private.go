// Package private makes folders that only their owner can look into.
//
// On Unix that is a mode. On Windows modes mean nothing, and a new folder inherits the
// access list of the one above it, which may be open to every user of the machine. So a
// folder gets a list of its own there, which inherits nothing and lets in the user of
// this process, the system and administrators, who are to Windows what root is to Unix.
// Files and folders that are made in it later inherit that list, whatever mode they are
// made with.
//
// A folder that exists is left as it is, on every system: it is not ours.
package private

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Mkdir makes a folder like [os.Mkdir]. It is private from the moment it exists.
// Goroutines and processes may call it at the same time; one of them makes the folder.
func Mkdir(path string) error { return mkdir(path) }

// MkdirTemp makes a folder with a new name that begins with a prefix, in the folder in.
// Goroutines and processes may call it at the same time.
func MkdirTemp(in, prefix string) (path string, err error) {
	const tries = 100 // the names are random: one more than once is rare
	for range tries {
		path = filepath.Join(in, prefix+rand.Text()[:randomLength])
		if err = mkdir(path); !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	if err != nil {
		return "", err
	}
	return path, nil
}

const (
	randomLength = 12
	randomDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567" // of rand.Text
)

// IsTemp reports whether [MkdirTemp] could have chosen a name for this prefix.
func IsTemp(name, prefix string) bool {
	random, ok := strings.CutPrefix(name, prefix)
	return ok && len(random) == randomLength && strings.Trim(random, randomDigits) == ""
}

// MkdirAll makes a folder and those above it that are missing, like [os.MkdirAll]. All
// that it makes are private. Goroutines and processes may call it at the same time.
func MkdirAll(path string) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return &fs.PathError{Op: "mkdir", Path: path, Err: syscall.ENOTDIR}
	}
	if above := filepath.Dir(path); above != path {
		if err := MkdirAll(above); err != nil {
			return err
		}
	}
	err = mkdir(path)
	if info, statErr := os.Stat(path); errors.Is(err, fs.ErrExist) && statErr == nil && info.IsDir() {
		return nil // another process was faster
	}
	return err
}
