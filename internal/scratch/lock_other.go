//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package scratch

import (
	"os"
	"path/filepath"
	"runtime"
)

// claim makes the file in a folder that shows that its owner is alive. Windows
// removes no file that is open; on other systems nothing is swept.
func claim(dir string) (*os.File, error) {
	return os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
}

// abandoned reports whether the file in a folder could be removed, which is when
// its owner is gone.
func abandoned(dir string) bool {
	return runtime.GOOS == "windows" && os.Remove(filepath.Join(dir, lockName)) == nil
}

// ours reports whether something is this user's, which cannot be seen here.
func ours(os.FileInfo) bool { return false }
