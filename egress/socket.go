package egress

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"github.com/claude-agent-go/claude/internal/private"
)

// listenSocket listens on a socket that only this user may open, from the moment it exists:
// it is made where others cannot look, and named when its mode is right. A socket on which
// nothing listens any more is replaced.
func listenSocket(path string) (net.Listener, error) {
	if err := removeStale(path); err != nil {
		return nil, err
	}
	dir, err := private.MkdirTemp(filepath.Dir(path), ".e")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	hidden := filepath.Join(dir, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: hidden, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // it would unlink the hidden name
	err = os.Chmod(hidden, 0o600)
	if err == nil {
		err = os.Link(hidden, path) // unlike Rename, it replaces nothing
	}
	if err != nil {
		_ = l.Close()
		return nil, err
	}
	return &socket{l, path}, nil
}

// socket removes its name when it is closed.
type socket struct {
	*net.UnixListener
	path string
}

func (s *socket) Close() error {
	err := s.UnixListener.Close()
	if err == nil {
		_ = os.Remove(s.path)
	}
	return err
}

// removeStale removes a socket on which nothing listens. Anything else stays.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s exists and is not a socket", path)
	}
	conn, err := net.DialTimeout("unix", path, short)
	if err == nil {
		_ = conn.Close()
		return fmt.Errorf("another server listens on %s", path)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("%s may belong to a living server: %w", path, err)
	}
	return os.Remove(path)
}
