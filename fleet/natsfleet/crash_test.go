package natsfleet_test

import (
	"bytes"
	"net"
	"os"
	"regexp"
	"sync"
)

// diePoint ends a process, as SIGKILL does, in the moment before it sends something
// to a server. So a test names the moment by what would have been stored next.
type diePoint struct {
	// Before is a regular expression for what is sent: the line of the protocol
	// and the message's headers and data.
	Before string
	// Call is the name of a call of the store beside the stream, such as "Append",
	// instead of something that is sent. After lets it happen first.
	Call  string
	After bool
	// Times is how often it is let through.
	Times int
}

// dyingDialer makes the connections of a process that ends at a point. It implements
// [nats.CustomDialer].
type dyingDialer struct {
	form *regexp.Regexp

	mu   sync.Mutex
	left int // how often it is let through
}

func (p diePoint) dialer() *dyingDialer {
	return &dyingDialer{form: regexp.MustCompile(`(?s)` + p.Before), left: p.Times}
}

// Dial makes a connection to a server.
func (d *dyingDialer) Dial(network, address string) (net.Conn, error) {
	c, err := net.Dial(network, address)
	if err != nil {
		return nil, err
	}
	return &dyingConn{c, d}, nil
}

// due reports whether a message is the one.
func (d *dyingDialer) due(message []byte) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.form.Match(message) {
		return false
	}
	d.left--
	return d.left < 0
}

type dyingConn struct {
	net.Conn
	dialer *dyingDialer
}

var published = regexp.MustCompile(`(?:^|\r\n)H?PUB `)

// Write writes what comes before the message at which the process ends.
func (c *dyingConn) Write(b []byte) (int, error) {
	starts := published.FindAllIndex(b, -1)
	for i, at := range starts {
		end := len(b)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		if c.dialer.due(bytes.TrimPrefix(b[at[0]:end], []byte("\r\n"))) {
			_, _ = c.Conn.Write(b[:at[0]]) // what was sent before it counts
			die()
		}
	}
	return c.Conn.Write(b)
}

// die ends this process at once.
func die() {
	p, err := os.FindProcess(os.Getpid())
	if err == nil {
		_ = p.Kill()
	}
	select {}
}
