// Package need lets a test say what it needs of the system it runs on.
//
// Some things do not exist everywhere: Windows has no file modes and no signals, and
// only Linux shows its processes in /proc. A test that cannot hold without one of them
// names it, and is skipped where it is missing:
//
//	need.Signals.Test(t)
//
// A test of which only one check depends on the system asks for that check alone:
//
//	if need.FileModes.Here() && info.Mode().Perm() != 0o600 {
//
// So the reason stands at the test, and everything else in its file still runs. Linux
// has all of these things: the gate runs there, and fails if any test is skipped.
package need

import (
	"os"
	"path/filepath"
	"runtime"
)

// Thing is something that a test needs and that some systems lack.
type Thing string

const (
	// FileModes are permissions that can be set and read as bits.
	FileModes Thing = "file modes"
	// Signals end a process, suspend it, and are reported as the reason of its end.
	Signals Thing = "signals"
	// Symlinks are symbolic links that every user may create.
	Symlinks Thing = "symbolic links"
	// Shell is a program sh that runs scripts by their first line.
	Shell Thing = "a POSIX shell"
	// Processes are listed in /proc, with their environment and what they use.
	Processes Thing = "a list of processes in /proc"
	// Namespaces keep a process away from files and networks.
	Namespaces Thing = "namespaces of Linux"
	// OpenRemoval is the removal of files that a process has open.
	OpenRemoval Thing = "the removal of open files"
	// FolderSync writes the names in a folder to the disk.
	FolderSync Thing = "folders that can be synced"
	// UnixPaths are absolute if they begin with a slash. A path below a file is an error,
	// and a child finds its working directory in PWD.
	UnixPaths Thing = "the paths of Unix"
)

// Things lists all of them.
func Things() []Thing {
	return []Thing{FileModes, Signals, Symlinks, Shell, Processes, Namespaces, OpenRemoval, FolderSync, UnixPaths}
}

// T is the part of [testing.TB] that is needed here.
type T interface {
	Helper()
	Skipf(format string, args ...any)
	TempDir() string
}

// Here reports whether this system has the thing. Symbolic links are said to be missing
// on Windows, where the rights of the user decide; [Thing.Test] tries.
func (n Thing) Here() bool { return on(n, runtime.GOOS) }

// Test skips the test that calls it on a system without the thing. Goroutines may call
// it as they may call Skip.
func (n Thing) Test(t T) {
	t.Helper()
	if n.Here() || n == Symlinks && canLink(t.TempDir()) {
		return
	}
	t.Skipf("it needs %s, which %s lacks", n, runtime.GOOS)
}

// on reports whether an operating system has the thing.
func on(n Thing, goos string) bool {
	if n == Processes || n == Namespaces {
		return goos == "linux"
	}
	return goos != "windows"
}

// canLink reports whether this user may create a symbolic link in a folder, and it is
// seen to be one.
func canLink(dir string) bool {
	link := filepath.Join(dir, "link")
	if os.Symlink(dir, link) != nil {
		return false
	}
	info, err := os.Lstat(link) // a link of wine looks like what it leads to
	return os.Remove(link) == nil && err == nil && info.Mode()&os.ModeSymlink != 0
}
