package serve

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener of connections in memory, whose deadlines follow the clock of a
// test.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// A body that never ends is given up after ten seconds if its sender is unknown, and
// after two minutes if a user sends it. Once it is there it has no deadline: its answer
// may be a stream.
func TestBodiesHaveDeadlines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, sent string
		known      bool
		want       time.Duration
	}{
		{"half of a stranger's", "Content-Length: 100\r\n\r\nhalf", false, strangerBody},
		{"chunks of a stranger", "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n", false, strangerBody},
		{"half of a user's", "Content-Length: 100\r\n\r\nhalf", true, userBody},
		{"all", "Content-Length: 4\r\n\r\nfull", false, time.Hour},
		{"all chunks", "Transfer-Encoding: chunked\r\n\r\n4\r\nfull\r\n0\r\n\r\n", true, time.Hour},
		{"none", "\r\n", false, time.Hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				took := make(chan time.Duration, 1)
				web := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					begun := time.Now()
					timeBody(w, r)
					if c.known {
						knownBody(r)
					}
					_, _ = io.Copy(io.Discard, r.Body)
					if c.want == time.Hour { // it is there, and the answer takes its time
						select {
						case <-time.After(time.Hour):
						case <-r.Context().Done():
						}
					}
					took <- time.Since(begun)
				})}
				connections := make(pipes, 1)
				served := make(chan struct{})
				go func() { defer close(served); _ = web.Serve(connections) }()
				client, server := net.Pipe()
				connections <- server
				go func() { _, _ = io.Copy(io.Discard, bufio.NewReader(client)) }()
				if _, err := fmt.Fprintf(client, "POST / HTTP/1.1\r\nHost: x\r\n%s", c.sent); err != nil {
					t.Fatal(err)
				}
				if got := <-took; got != c.want {
					t.Errorf("it took %s, want %s", got, c.want)
				}
				_ = client.Close()
				close(connections)
				_ = web.Shutdown(context.Background())
				<-served
			})
		})
	}
}
