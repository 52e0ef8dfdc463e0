package claude

import (
	"errors"
	"os"
	"path/filepath"
)

// scratch is a temporary folder of one session, for what the CLI must read
// from a file because it is too big or too secret for a command line. It is
// made at the first write and only this user can look into it.
type scratch struct{ dir string }

// write puts data into a new file that only this user can read.
func (s *scratch) write(name string, data []byte) (path string, err error) {
	if s.dir == "" {
		if s.dir, err = os.MkdirTemp("", "claude-session-"); err != nil {
			return "", err
		}
	}
	path = filepath.Join(s.dir, name)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	return path, errors.Join(err, f.Close())
}

// remove deletes everything. It may be called again.
func (s *scratch) remove() error {
	if s.dir == "" {
		return nil
	}
	return os.RemoveAll(s.dir)
}
