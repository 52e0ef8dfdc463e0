package sandbox

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/internal/private"
)

// maxConnections bounds how many connections a bridge carries at once. A CLI uses a
// few; more wait.
const maxConnections = 64

const (
	acceptPause = 50 * time.Millisecond
	dialBound   = 10 * time.Second
)

// bridge carries connections from a listener to an address. It needs no protocol: what
// one side writes the other reads, and the end of each direction is passed on.
type bridge struct {
	listener net.Listener
	dial     func() (net.Conn, error)
	dir      string // to be removed

	mu     sync.Mutex
	open   map[net.Conn]struct{}
	closed bool
	all    sync.WaitGroup
}

// newBridge begins to carry connections.
func newBridge(l net.Listener, dial func() (net.Conn, error)) *bridge {
	b := &bridge{listener: l, dial: dial, open: make(map[net.Conn]struct{})}
	b.all.Go(b.accept)
	return b
}

// socketTo returns a bridge from a new unix socket, which only this user can reach, to
// an address.
func socketTo(address string) (b *bridge, path string, err error) {
	dir, err := private.MkdirTemp(os.TempDir(), "claude-bridge-")
	if err != nil {
		return nil, "", err
	}
	path = filepath.Join(dir, "api")
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, "", errors.Join(err, os.RemoveAll(dir))
	}
	b = newBridge(l, func() (net.Conn, error) { return net.DialTimeout("tcp", address, dialBound) })
	b.dir = dir
	return b, path, nil
}

func (b *bridge) accept() {
	free := make(chan struct{}, maxConnections)
	for {
		free <- struct{}{}
		conn, err := b.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // such as too many open files, which passes
			<-free
			time.Sleep(acceptPause)
			continue
		}
		b.all.Go(func() {
			defer func() { <-free }()
			b.carry(conn)
		})
	}
}

// keep notes a connection so that Close ends it.
func (b *bridge) keep(c net.Conn) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.open[c] = struct{}{}
	}
	return !b.closed
}

func (b *bridge) drop(c net.Conn) {
	b.mu.Lock()
	delete(b.open, c)
	b.mu.Unlock()
	c.Close()
}

// carry copies in both directions until both have ended.
func (b *bridge) carry(from net.Conn) {
	defer b.drop(from)
	if !b.keep(from) {
		return
	}
	to, err := b.dial()
	if err != nil {
		return // the CLI sees a connection that ends, and tries again
	}
	defer b.drop(to)
	if !b.keep(to) {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { pass(to, from) })
	pass(from, to)
	both.Wait()
}

// pass copies one direction and passes its end on.
func pass(to, from net.Conn) {
	_, err := io.Copy(to, from)
	if half, ok := to.(interface{ CloseWrite() error }); ok && err == nil {
		half.CloseWrite()
		return
	}
	to.Close()
	from.Close()
}

// Close ends all connections and removes the socket. It waits until they have ended.
func (b *bridge) Close() error {
	b.mu.Lock()
	b.closed = true
	err := b.listener.Close()
	for c := range b.open {
		c.Close()
	}
	b.mu.Unlock()
	b.all.Wait()
	if b.dir != "" {
		err = errors.Join(err, os.RemoveAll(b.dir))
	}
	return err
}

// loopback returns the address of this machine's loopback interface that an
// environment names as the API, "" if it names another one.
func loopback(env []string) (string, error) {
	base := value(env, "ANTHROPIC_BASE_URL")
	if base == "" {
		return "", nil
	}
	u, err := url.Parse(base)
	if err != nil {
		return "", errors.New("sandbox: ANTHROPIC_BASE_URL is not a URL") // it may hold a password
	}
	host := u.Hostname()
	if host == "localhost" {
		host = "127.0.0.1"
	}
	address, err := netip.ParseAddr(host)
	if err != nil || !address.IsLoopback() {
		return "", nil
	}
	if u.Scheme != "http" || u.Port() == "" {
		return "", fmt.Errorf("sandbox: ANTHROPIC_BASE_URL on loopback must be http with a port, not %s://%s", u.Scheme, u.Host)
	}
	return net.JoinHostPort(address.String(), u.Port()), nil
}
