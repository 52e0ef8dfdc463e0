package serve

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
)

// oneConn is a listener for one connection.
type oneConn struct {
	conn chan net.Conn
	done chan struct{}
}

func (l oneConn) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l oneConn) Close() error   { close(l.done); return nil }
func (l oneConn) Addr() net.Addr { return &net.TCPAddr{} }

// slow is a connection that takes 4 KiB a second.
type slow struct{ net.Conn }

func (s slow) Read(p []byte) (int, error) {
	<-time.After(time.Second)
	return s.Conn.Read(p[:min(len(p), 4<<10)])
}

// socketTo returns a socket of the server, and the editor's end of a slow line.
func socketTo(t *testing.T) (*editorSocket, *websocket.Conn) {
	t.Helper()
	l := oneConn{make(chan net.Conn, 1), make(chan struct{})}
	accepted := make(chan *websocket.Conn, 1)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
		}
		accepted <- conn
	})}
	go server.Serve(l)
	client := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		l.conn <- there
		return slow{here}, nil
	}}}
	conn, _, err := websocket.Dial(t.Context(), "http://localhost/", &websocket.DialOptions{HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(-1)
	s := &editorSocket{conn: <-accepted, ctx: t.Context()}
	t.Cleanup(func() { conn.CloseNow(); s.conn.CloseNow(); server.Close() })
	return s, conn
}

// A message that takes minutes on its way to the editor arrives, and the editor does
// not count as dead meanwhile. One that is not taken at all ends the connection.
func TestEditorSocketSendsSlowly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, editor := socketTo(t)
		long := strings.Repeat("x", 500<<10)
		got := make(chan string, 1)
		go func() {
			_, data, err := editor.Read(t.Context())
			if err != nil {
				t.Error(err)
			}
			got <- string(data)
		}()
		began, sent := time.Now(), make(chan error, 1)
		go func() {
			_, err := s.Write([]byte(long + "\n"))
			sent <- err
		}()
		for range 3 {
			<-time.After(editorPing)
			if err := s.alive(t.Context()); err != nil {
				t.Errorf("after %v: %v", time.Since(began), err)
			}
		}
		if err := <-sent; err != nil {
			t.Fatalf("after %v: %v", time.Since(began), err)
		}
		if text := <-got; text != long {
			t.Errorf("%d bytes have arrived", len(text))
		}
		if took := time.Since(began); took < 2*time.Minute {
			t.Errorf("the line is not slow: %v", took)
		}
		began = time.Now()
		if _, err := s.Write([]byte(long + "\n")); err == nil || time.Since(began) > 2*writeWait {
			t.Errorf("an editor that takes nothing: %v after %v", err, time.Since(began))
		}
	})
}
