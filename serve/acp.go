package serve

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/claude-agent-go/claude/acp"
	"github.com/claude-agent-go/claude/serve/api"
)

// editorPing is how often an editor that says nothing is asked whether it lives.
const editorPing = 30 * time.Second

// editorRoute is where editors connect. It is not in the table of routes: OpenAPI
// cannot describe a WebSocket.
func editorRoute() *route {
	return &route{method: "GET", path: "/acp", least: api.Viewer, status: http.StatusSwitchingProtocols, handle: (*call).editor}
}

// editor speaks the Agent Client Protocol over a WebSocket, a message in each text
// frame, until the editor is gone, the server stops, or the user may no longer be
// here. Its sessions are conversations of this server.
//
// A browser names the page that connects: only one of this server may.
func (c *call) editor() error {
	o := &c.service().opts
	if !c.s.streams.enter(c.user.Name, o.StreamsPerUser, o.Streams) {
		return limited.because("too many streams and editors are open: close some, or come back later")
	}
	defer c.s.streams.leave(c.user.Name)
	conn, err := websocket.Accept(c.w, c.r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return nil // it has answered
	}
	conn.SetReadLimit(maxPrompt)
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(c.ctx())) // that of the request ends with the upgrade
	defer cancel(nil)
	defer context.AfterFunc(c.s.ctx, func() { cancel(errServerStops) })()
	socket := &editorSocket{conn: conn, ctx: ctx}
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel(nil)
	watching.Go(func() { c.watchEditor(ctx, conn, cancel) })
	agent := &acp.Remote{Server: &userServer{c.service(), c.editorUser}, Name: "claudectl", Logger: o.Logger}
	err = (&acp.Endpoint{Backend: agent, Logger: o.Logger}).Serve(ctx, socket)
	if err != nil && ctx.Err() == nil {
		o.Logger.Warn("serve: the connection of an editor ended", "user", c.user.Name, "error", err)
	}
	return nil
}

var (
	errServerStops = errors.New("the server stops")
	errMayNotStay  = errors.New(mayNoLonger)
)

// watchEditor ends a connection whose editor does not answer, or whose user may no
// longer be here.
func (c *call) watchEditor(ctx context.Context, conn *websocket.Conn, end context.CancelCauseFunc) {
	ping, look := time.NewTicker(editorPing), time.NewTicker(lookAgain)
	defer ping.Stop()
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ping.C:
			bounded, cancel := context.WithTimeout(ctx, writeWait)
			err := conn.Ping(bounded)
			cancel()
			if err != nil {
				end(err)
			}
		case <-look.C:
			if !c.stillAllowed("") {
				end(errMayNotStay)
			}
		}
	}
}

// editorUser is who uses a connection now. Each request is made as them, as if it had
// come alone: a token that was revoked counts no longer.
func (c *call) editorUser() (api.User, error) {
	u, err := c.service().access.identify(nil, c.r)
	if err == nil {
		err = need(u, c.route.least)
	}
	if err == nil && u.Name != c.user.Name {
		err = unauthorized.because(mayNoLonger)
	}
	if err != nil {
		return api.User{}, problemOf(err)
	}
	return u, nil
}

// editorSocket is a WebSocket as a stream of lines.
type editorSocket struct {
	conn *websocket.Conn
	ctx  context.Context // its cause is why the connection ends
	in   []byte          // of the frame that is being read
	out  bytes.Buffer    // a line that has no end yet
}

// Read returns frames as lines.
func (s *editorSocket) Read(p []byte) (int, error) {
	if len(s.in) == 0 {
		// Close ends the read. The end of a context would cut the connection before
		// Close can say why.
		_, data, err := s.conn.Read(context.Background())
		if err != nil {
			return 0, io.EOF // closed or cut
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

// Write sends each line as a frame. An editor that takes nothing is dropped.
func (s *editorSocket) Write(p []byte) (int, error) {
	s.out.Write(p)
	for {
		line, rest, whole := bytes.Cut(s.out.Bytes(), []byte{'\n'})
		if !whole {
			return len(p), nil
		}
		ctx, cancel := context.WithTimeout(context.Background(), writeWait)
		err := s.conn.Write(ctx, websocket.MessageText, line)
		cancel()
		if err != nil {
			return 0, err
		}
		s.out.Next(s.out.Len() - len(rest))
	}
}

// Close says why and closes the connection.
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
