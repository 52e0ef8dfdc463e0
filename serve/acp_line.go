package serve

import (
	"bufio"
	"net"
	"net/http"
	"sync"
	"time"
)

// How the line to an editor is written.
const (
	// linePiece is how many bytes are written at once, and lineStall how long that may
	// take: a line that is slower counts as dead. Systems take the bytes of a slow line
	// in steps of seconds, because they wait until a good part of their buffer is free.
	linePiece = 4 << 10
	lineStall = 30 * time.Second
	// lineFull is how much may wait when the next piece of a message is added, and
	// lineMost what replies to pings may add to it.
	lineFull = 16 << 10
	lineMost = 256 << 10
	// lineFlush is how long what waits may take when the line is closed.
	lineFlush = time.Second
)

// editorLine is a connection whose Write returns before the bytes are written. The
// WebSocket library gives a control frame five seconds and cuts the connection then,
// which a slow line with a long message under way does not meet. Here a control frame
// waits behind the message, and only a line on which nothing moves is cut. All methods
// may be called from any goroutine.
type editorLine struct {
	net.Conn
	done chan struct{} // closed when the connection is

	mu     sync.Mutex
	moved  sync.Cond // something was added or written, or the line has ended
	out    []byte    // waits
	closed bool      // nothing is added any more
	err    error     // why
}

func newEditorLine(conn net.Conn) *editorLine {
	l := &editorLine{Conn: conn, done: make(chan struct{})}
	l.moved.L = &l.mu
	go l.pump()
	return l
}

// Write adds bytes to those that wait.
func (l *editorLine) Write(p []byte) (int, error) {
	if err := l.room(lineMost); err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return 0, l.reason()
	}
	l.out = append(l.out, p...)
	l.moved.Broadcast()
	return len(p), nil
}

// room returns when fewer than so many bytes wait, or the line has ended.
func (l *editorLine) room(below int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.out) >= below && !l.closed {
		l.moved.Wait()
	}
	if l.closed {
		return l.reason()
	}
	return nil
}

// reason returns why nothing is added any more. The caller has the lock.
func (l *editorLine) reason() error {
	if l.err != nil {
		return l.err
	}
	return net.ErrClosed
}

// busy reports whether bytes wait. While they do, the line is known to move.
func (l *editorLine) busy() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.out) > 0
}

// pump writes what waits, until the line is closed or dead.
func (l *editorLine) pump() {
	defer close(l.done)
	defer l.Conn.Close()
	for {
		piece, ok := l.next()
		if !ok {
			return
		}
		n, err := l.Conn.Write(piece)
		l.mu.Lock()
		if l.out = l.out[n:]; len(l.out) == 0 {
			l.out = nil // a busy time leaves no memory behind
		}
		if err != nil {
			l.closed, l.err, l.out = true, err, nil
		}
		l.moved.Broadcast()
		l.mu.Unlock()
	}
}

// next waits for something to write. It reports false at the end of the line.
func (l *editorLine) next() (piece []byte, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.out) == 0 && !l.closed {
		l.moved.Wait()
	}
	if !l.closed { // Close has set a deadline for all that is left
		_ = l.Conn.SetWriteDeadline(time.Now().Add(lineStall))
	}
	return l.out[:min(len(l.out), linePiece)], len(l.out) > 0
}

// Close ends the line. What waits is still written, in bounded time; done is closed then.
func (l *editorLine) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	now := time.Now()
	_ = l.Conn.SetReadDeadline(now)
	_ = l.Conn.SetWriteDeadline(now.Add(lineFlush))
	l.moved.Broadcast()
	return nil
}

// lineTaker gives the WebSocket library an editorLine for the connection of a request.
type lineTaker struct {
	http.ResponseWriter
	line *editorLine // nil until it is taken
}

// Hijack implements [http.Hijacker].
func (t *lineTaker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, both, err := http.NewResponseController(t.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	t.line = newEditorLine(conn)
	both.Writer.Reset(t.line)
	return t.line, both, nil
}
