package scratch

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/internal/private"
)

// The folders for a CLI's configuration and for its temporary files.
const (
	ConfigName = "config"
	TempName   = "tmp"
)

const (
	prefix   = "claude-session-"
	lockName = "lock"

	removeRetries = 4
	removePause   = 50 * time.Millisecond
)

// Folder is a temporary folder that is made at the first write. The zero value
// is ready for use. It is not safe for concurrent use.
type Folder struct {
	// In is the folder in which it is made, the one for temporary files if empty.
	In string

	dir  string
	lock *os.File // held until Remove
}

// Dir makes a folder inside that only this user can look into.
func (f *Folder) Dir(name string) (path string, err error) {
	if err := f.open(); err != nil {
		return "", err
	}
	path = filepath.Join(f.dir, name)
	return path, private.Mkdir(path)
}

// Write puts data into a new file that only this user can read.
func (f *Folder) Write(name string, data []byte) (path string, err error) {
	if err := f.open(); err != nil {
		return "", err
	}
	path = filepath.Join(f.dir, name)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	_, err = file.Write(data)
	return path, errors.Join(err, file.Close())
}

// open makes the folder, if it is not there, after a sweep of those whose owners
// have died.
func (f *Folder) open() (err error) {
	if f.dir != "" {
		return nil
	}
	in := cmp.Or(f.In, os.TempDir())
	sweep(in)
	if f.dir, err = private.MkdirTemp(in, prefix); err != nil {
		return err
	}
	f.lock, err = claim(f.dir)
	return err
}

// Remove deletes everything. It may be called again.
func (f *Folder) Remove() error {
	if f.dir == "" {
		return nil
	}
	var err error
	if f.lock != nil {
		err = f.lock.Close() // first: Windows removes no open file
		f.lock = nil
	}
	removed := os.RemoveAll(f.dir)
	for range removeRetries { // what the owner has started may write a last time
		if removed == nil {
			break
		}
		time.Sleep(removePause)
		removed = os.RemoveAll(f.dir)
	}
	return errors.Join(err, removed)
}

// Sweep removes what owners that died have left in the folder for temporary files, and in
// others that were used instead. A new Folder does that too, but a program that was killed
// may need none when it is back.
func Sweep(others ...string) {
	for _, in := range append(others, os.TempDir()) {
		if in != "" {
			sweep(in)
		}
	}
}

// sweep removes the folders of owners that died. Folders that cannot be removed
// belong to another user, or are left to the next sweep.
func sweep(tmp string) {
	for _, name := range owned(tmp) {
		dir := filepath.Join(tmp, name)
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
			continue // a link could lead anywhere
		}
		if abandoned(dir) || madeAgain(dir, time.Now()) {
			removeAbandoned(dir, os.RemoveAll)
		}
	}
}

// owned returns the names of the folders that this package has made, as far as they can
// be read. The folder for temporary files may hold a hundred thousand others, and every
// session begins with a sweep: so names are read in pieces, and nothing else is asked
// about those that do not begin with the prefix. A pattern would not do: the path of the
// folder may hold any character.
func owned(tmp string) (names []string) {
	dir, err := os.Open(tmp)
	if err != nil {
		return nil
	}
	defer dir.Close()
	for {
		some, err := dir.Readdirnames(1024)
		for _, name := range some {
			if strings.HasPrefix(name, prefix) {
				names = append(names, name)
			}
		}
		if err != nil {
			return names // io.EOF, or what could be read
		}
	}
}

// removeAbandoned removes a folder, the lock last. Processes of a dead owner may live a
// little longer and still write to the folder: then the lock is still there, and the
// next sweep removes the rest.
func removeAbandoned(dir string, remove func(path string) error) {
	found, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, entry := range found {
		if entry.Name() == lockName {
			continue
		}
		if remove(filepath.Join(dir, entry.Name())) != nil {
			return
		}
	}
	_ = remove(dir)
}

// settleTime is how long what a dead owner had started may still write.
const settleTime = time.Minute

// madeAgain reports whether a folder was made by what a dead owner had started, after
// a sweep: it has the name of one, no lock, nothing but folders that Dir makes, and
// nothing was added to it for a while.
func madeAgain(dir string, now time.Time) bool {
	info, err := os.Lstat(dir)
	if err != nil || !private.IsTemp(filepath.Base(dir), prefix) || now.Sub(info.ModTime()) < settleTime || !ours(info) {
		return false
	}
	found, err := os.ReadDir(dir)
	return err == nil && len(found) > 0 && !slices.ContainsFunc(found, func(entry os.DirEntry) bool {
		return !entry.IsDir() || entry.Name() != ConfigName && entry.Name() != TempName
	})
}
