package serve

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
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

// slowly copies so many bytes a second, and holds back so many seconds of them.
func slowly(to io.Writer, from io.Reader, rate, depth int) {
	held := make(chan []byte, depth)
	go func() {
		defer close(held)
		for {
			p := make([]byte, rate)
			n, err := from.Read(p)
			if err != nil {
				return
			}
			held <- p[:n]
		}
	}()
	gone := false
	for p := range held {
		if !gone {
			<-time.After(time.Second)
			_, err := to.Write(p)
			gone = err != nil
		}
	}
}

// socketTo returns a socket of the server, and the editor's end of a line that takes so
// many bytes a second, and has room for so many seconds of them on their way.
func socketTo(t *testing.T, rate, depth int) (*editorSocket, *websocket.Conn) {
	t.Helper()
	l := oneConn{make(chan net.Conn, 1), make(chan struct{})}
	accepted := make(chan *editorSocket, 1)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, err := acceptEditor(w, r)
		if err != nil {
			t.Error(err)
		}
		accepted <- s
	})}
	go server.Serve(l)
	var line sync.WaitGroup
	client := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		of, there := net.Pipe()
		here, by := net.Pipe()
		l.conn <- there
		line.Go(func() { defer by.Close(); slowly(by, of, rate, depth) })
		line.Go(func() { defer of.Close(); io.Copy(of, by) })
		return here, nil
	}}}
	conn, _, err := websocket.Dial(t.Context(), "http://localhost/", &websocket.DialOptions{HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(-1)
	s := <-accepted
	t.Cleanup(func() { conn.CloseNow(); s.conn.CloseNow(); <-s.line.done; server.Close(); line.Wait() })
	return s, conn
}

// listen reads what the server sends, until the connection ends.
func listen(editor *websocket.Conn) <-chan string {
	got := make(chan string, 10)
	go func() {
		defer close(got)
		for {
			_, data, err := editor.Read(context.Background())
			if err != nil {
				return
			}
			got <- string(data)
		}
	}()
	return got
}

// hear reads what the editor sends, as a connection does.
func hear(s *editorSocket) { go io.Copy(io.Discard, s) }

// A message that takes minutes on its way to the editor arrives, and the editor does
// not count as dead meanwhile. One that is not taken at all ends the connection.
func TestEditorSocketSendsSlowly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, editor := socketTo(t, 4<<10, 1)
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
		if _, err := s.Write([]byte(long + "\n")); err == nil || time.Since(began) > lineStall+10*time.Second {
			t.Errorf("an editor that takes nothing: %v after %v", err, time.Since(began))
		}
	})
}

// Pings of both sides wait behind a long message on a slow line, even if each of its
// frames takes longer than the library gives a control frame. They do not end the
// connection.
func TestEditorSocketPingsOnSlowLine(t *testing.T) {
	t.Parallel()
	for name, depth := range map[string]int{"nothing is held back": 0, "the system holds much back": 40} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const rate = 1 << 10
				s, editor := socketTo(t, rate, depth)
				hear(s)
				got := listen(editor)
				long := strings.Repeat("x", 170*rate)
				began, sent, ponged := time.Now(), make(chan error, 1), make(chan error, 3)
				go func() {
					_, err := s.Write([]byte(long + "\n"))
					sent <- err
				}()
				for range cap(ponged) {
					go func() {
						ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
						defer cancel()
						ponged <- editor.Ping(ctx)
					}()
					<-time.After(editorPing)
					if err := s.alive(t.Context()); err != nil {
						t.Fatalf("after %v: %v", time.Since(began), err)
					}
				}
				if err := <-sent; err != nil {
					t.Fatalf("after %v: %v", time.Since(began), err)
				}
				for range cap(ponged) {
					if err := <-ponged; err != nil {
						t.Errorf("a ping of the editor: %v", err)
					}
				}
				if text := <-got; text != long {
					t.Errorf("%d bytes have arrived after %v", len(text), time.Since(began))
				}
				if err := s.alive(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A reply that is behind what the system holds back has its time.
func TestEditorSocketPongLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, editor := socketTo(t, 1<<10, 60)
		hear(s)
		listen(editor)
		if _, err := s.Write([]byte(strings.Repeat("x", 50<<10) + "\n")); err != nil {
			t.Fatal(err)
		}
		for s.line.busy() {
			<-time.After(time.Millisecond)
		}
		began := time.Now()
		if err := s.alive(t.Context()); err != nil || time.Since(began) < 30*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// An editor that pings without end and reads nothing does not make the server keep more
// than a bound, and is cut off. Nothing of a line is left when it is closed.
func TestEditorLineBounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		l := newEditorLine(ours)
		began, added := time.Now(), 0
		for {
			n, err := l.Write(make([]byte, 100))
			if err != nil {
				break
			}
			added += n
		}
		if took := time.Since(began); added > lineMost+100 || took != lineStall {
			t.Errorf("%d bytes were kept; the line ended after %v", added, took)
		}
		<-l.done
		if err := l.room(1); err == nil {
			t.Error("a line that has ended has room")
		}

		ours, theirs = net.Pipe()
		defer theirs.Close()
		l = newEditorLine(ours)
		if _, err := l.Write([]byte("bye")); err != nil {
			t.Fatal(err)
		}
		l.Close()
		if text, _ := io.ReadAll(theirs); string(text) != "bye" {
			t.Errorf("the editor got %q", text)
		}
		<-l.done
		if _, err := l.Write([]byte("late")); err == nil {
			t.Error("a line that is closed takes more")
		}

		ours, theirs = net.Pipe()
		defer theirs.Close()
		l = newEditorLine(ours)
		if _, err := l.Write([]byte("bye")); err != nil {
			t.Fatal(err)
		}
		began = time.Now()
		l.Close()
		if <-l.done; time.Since(began) > lineFlush {
			t.Errorf("a dead line took %v to end", time.Since(began))
		}
	})
}
