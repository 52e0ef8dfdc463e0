package egress

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// deadConn is a connection whose other end can go silently.
type deadConn struct {
	net.Conn
	gone, closed chan struct{}
	once         sync.Once
}

func (c *deadConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	select {
	case <-c.gone:
		<-c.closed
		return 0, net.ErrClosed
	default:
		return n, err
	}
}

func (c *deadConn) Write(p []byte) (int, error) {
	select {
	case <-c.gone:
		return len(p), nil
	default:
		return c.Conn.Write(p)
	}
}

func (c *deadConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// oneConn is a listener with one connection.
type oneConn struct {
	net.Listener
	conns chan net.Conn
}

func (l *oneConn) Accept() (net.Conn, error) {
	c, ok := <-l.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (l *oneConn) Close() error   { return nil }
func (l *oneConn) Addr() net.Addr { return &net.TCPAddr{} }

// A connection to the API that has died silently is given up long before the API
// would have been too slow.
func TestDeadConnection(t *testing.T) {
	outside := httptest.NewTLSServer(http.NotFoundHandler()) // for its certificate
	defer outside.Close()
	certificate := outside.TLS.Certificates
	roots := outside.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		dead := &deadConn{Conn: near, gone: make(chan struct{}), closed: make(chan struct{})}
		server := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.ProtoMajor != 2 {
				t.Errorf("asked by %s", r.Proto)
			}
			close(dead.gone)
			<-r.Context().Done()
		})}
		l := &oneConn{conns: make(chan net.Conn, 1)}
		l.conns <- far
		served := make(chan struct{})
		server.TLSConfig = &tls.Config{Certificates: certificate}
		go func() {
			defer close(served)
			_ = server.ServeTLS(l, "", "")
		}()
		transport := newTransport(Bounds{}.orDefault())
		transport.Proxy = nil
		transport.TLSClientConfig = &tls.Config{RootCAs: roots}
		transport.DialContext = func(context.Context, string, string) (net.Conn, error) { return dead, nil }
		req, err := http.NewRequestWithContext(t.Context(), "POST", "https://example.com/v1/messages", strings.NewReader(question))
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		resp, err := transport.RoundTrip(req)
		if took := time.Since(began); err == nil || took > time.Minute {
			t.Errorf("%v, %v, after %v", resp, err, took)
		}
		_ = dead.Close()
		close(l.conns)
		_ = server.Close()
		<-served
		transport.CloseIdleConnections()
	})
}

const question = `{"model":"claude-opus-4-8","max_tokens":1000,"messages":[]}`
