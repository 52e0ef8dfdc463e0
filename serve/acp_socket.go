package serve

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/coder/websocket"
)

// editorPiece is how many bytes of a message are in a frame. Control frames come between
// two of them.
const editorPiece = 16 << 10

// editorSocket turns a WebSocket into a stream of lines, one for each message. One
// goroutine may read while another writes and a third checks whether the editor is
// alive.
type editorSocket struct {
	conn *websocket.Conn
	line *editorLine
	ctx  context.Context // its cause explains the end of the connection
	in   []byte          // the unread rest of a message
	out  bytes.Buffer    // the beginning of an unfinished line

	heard atomic.Bool // something has arrived since the last check
}

// acceptEditor makes the connection of a request a WebSocket. If it fails, it has
// answered.
func acceptEditor(w http.ResponseWriter, r *http.Request) (*editorSocket, error) {
	take := &lineTaker{ResponseWriter: w}
	conn, err := websocket.Accept(take, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return nil, err
	}
	return &editorSocket{conn: conn, line: take.line, ctx: context.Background()}, nil
}

// Read returns messages as lines.
func (s *editorSocket) Read(p []byte) (int, error) {
	if len(s.in) == 0 {
		// Close ends the read. The end of a context would cut the connection before
		// Close can give its reason.
		_, r, err := s.conn.Reader(context.Background())
		if err != nil {
			return 0, io.EOF // closed or cut
		}
		data, err := io.ReadAll(hearing{r, &s.heard})
		if err != nil {
			return 0, io.EOF
		}
		for i, b := range data { // between the tokens of JSON a line feed is a blank
			if b == '\n' || b == '\r' {
				data[i] = ' '
			}
		}
		s.in = append(data, '\n')
	}
	n := copy(p, s.in)
	s.in = s.in[n:]
	return n, nil
}

// hearing notes that something was read.
type hearing struct {
	io.Reader
	heard *atomic.Bool
}

// Read implements [io.Reader].
func (h hearing) Read(p []byte) (int, error) {
	n, err := h.Reader.Read(p)
	if n > 0 {
		h.heard.Store(true)
	}
	return n, err
}

// Write sends each line as a message. An editor that reads nothing is dropped; one on a
// slow connection is not.
func (s *editorSocket) Write(p []byte) (int, error) {
	s.out.Write(p)
	for {
		line, rest, whole := bytes.Cut(s.out.Bytes(), []byte{'\n'})
		if !whole {
			return len(p), nil
		}
		if err := s.send(line); err != nil {
			return 0, err
		}
		s.out.Next(s.out.Len() - len(rest))
	}
}

// send writes a message frame by frame, each when the line has taken the one before. A
// line on which nothing moves ends by itself.
func (s *editorSocket) send(line []byte) error {
	w, err := s.conn.Writer(context.Background(), websocket.MessageText)
	for err == nil && len(line) > 0 {
		if err = s.line.room(lineFull); err != nil {
			break
		}
		n := min(len(line), editorPiece)
		_, err = w.Write(line[:n])
		line = line[n:]
	}
	if err != nil {
		return err
	}
	return w.Close()
}

// alive pings an editor that is silent. One that is sending is alive, and cannot reply
// before it has finished. While bytes wait for the line, the line itself finds out. The
// reply has time for what the system still holds back on a slow line.
func (s *editorSocket) alive(ctx context.Context) error {
	if s.heard.Swap(false) || s.line.busy() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, editorPong)
	defer cancel()
	if err := s.conn.Ping(ctx); err != nil && !s.heard.Load() && !s.line.busy() {
		return err
	}
	return nil
}

// Close gives the reason and closes the connection.
func (s *editorSocket) Close() error {
	switch cause := context.Cause(s.ctx); {
	case errors.Is(cause, errServerStops):
		return s.conn.Close(websocket.StatusGoingAway, cause.Error())
	case errors.Is(cause, errMayNotStay):
		return s.conn.Close(websocket.StatusPolicyViolation, cause.Error())
	case cause != nil:
		return s.conn.CloseNow()
	}
	return s.conn.Close(websocket.StatusNormalClosure, "")
}
