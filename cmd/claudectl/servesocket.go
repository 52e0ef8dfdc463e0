package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/claude-agent-go/claude/internal/filelock"
	"github.com/claude-agent-go/claude/internal/private"
)

// socketPath returns the path of the Unix socket that --listen names, if it names one.
func (s *serveStart) socketPath() (path string, ok bool) {
	return strings.CutPrefix(s.Listen, "unix:")
}

// checkSocket refuses options under which the socket would be useless, or open to
// every user.
func (s *serveStart) checkSocket(path string) error {
	switch {
	case runtime.GOOS == "windows":
		return fmt.Errorf("--listen %s: on Windows a socket has no mode that keeps others out; use an address of this machine", s.Listen)
	case !filepath.IsAbs(path):
		return fmt.Errorf("--listen %s: the path of a socket must be absolute, such as unix:/run/agents/serve.sock", s.Listen)
	case !s.BehindProxy:
		return fmt.Errorf("--listen %s needs --behind-proxy: a browser cannot open a socket, so nobody could use the login link without a proxy", s.Listen)
	case s.TLSCert != "":
		return fmt.Errorf("--listen %s cannot have --tls-cert: the proxy in front of the socket terminates https", s.Listen)
	case len(s.ProxyFrom) > 0:
		return fmt.Errorf("--listen %s cannot have --proxy-from: everyone who may open the socket is the proxy", s.Listen)
	}
	return nil
}

// unixSocket is a listener on a Unix socket that only its owner may open. Closing it
// removes the socket.
type unixSocket struct {
	net.Listener
	path  string
	made  fs.FileInfo
	close func() error
}

// listenUnix makes the socket, and takes the place of one whose server has died. Two
// servers that start at once do not take each other's: the directory is locked.
func listenUnix(ctx context.Context, path string) (*unixSocket, error) {
	path = filepath.Clean(path)
	place, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer place.Close() // and unlock it
	ctx, cancel := context.WithTimeout(ctx, lockBound)
	defer cancel()
	if err := filelock.Lock(ctx, place); err != nil {
		return nil, fmt.Errorf("lock %s: %w", place.Name(), err)
	}
	if err := removeStale(path); err != nil {
		return nil, err
	}
	return makeSocket(path)
}

// Locks are held for as long as the calls in listenUnix take.
const (
	lockBound = 5 * time.Second
	dialBound = 2 * time.Second
)

// longestSocket is the longest path that every system accepts, without the byte that
// ends it.
const longestSocket = 103

// removeStale removes a socket without a listener. Anything else stays.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s exists and is not a socket: choose another path, or remove it", path)
	}
	conn, err := net.DialTimeout("unix", path, dialBound)
	switch {
	case err == nil:
		_ = conn.Close()
		return fmt.Errorf("a server is already listening on %s", path)
	case !errors.Is(err, syscall.ECONNREFUSED): // such as: its queue is full, or it belongs to another user
		return fmt.Errorf("%s may belong to a living server: %w", path, err)
	}
	return os.Remove(path)
}

// makeSocket makes the socket in a directory that no other user can enter, and
// renames it once its mode is right. So it is never open to others, whatever the
// umask. The umask belongs to the whole process and must not change while other
// goroutines create files.
func makeSocket(path string) (*unixSocket, error) {
	dir, err := private.MkdirTemp(filepath.Dir(path), ".s")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	hidden := filepath.Join(dir, "s")
	if max(len(path), len(hidden)) > longestSocket {
		return nil, fmt.Errorf("%s: the path is too long for a socket: choose a shorter directory", path)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: hidden, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // it would unlink the hidden name
	made, err := nameSocket(hidden, path)
	if err != nil {
		_ = l.Close()
		return nil, err
	}
	s := &unixSocket{Listener: l, path: path, made: made}
	s.close = sync.OnceValue(s.end)
	return s, nil
}

// nameSocket gives a socket its mode and its name, which must be free.
func nameSocket(hidden, path string) (fs.FileInfo, error) {
	if err := os.Chmod(hidden, 0o600); err != nil {
		return nil, err
	}
	made, err := os.Lstat(hidden)
	if err != nil {
		return nil, err
	}
	return made, os.Link(hidden, path) // unlike a rename, it replaces nothing
}

// Close removes the socket and stops listening. Further calls do nothing.
func (s *unixSocket) Close() error { return s.close() }

// end removes the name before it stops listening: until then no other server takes
// it. If the name means something else then, it stays.
func (s *unixSocket) end() error {
	var err error
	if info, lost := os.Lstat(s.path); lost == nil && os.SameFile(info, s.made) {
		err = os.Remove(s.path)
	}
	return errors.Join(err, s.Listener.Close())
}
