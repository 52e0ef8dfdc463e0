package serve

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/acp"
	"github.com/claude-agent-go/claude/serve/api"
)

// editorPing is the interval at which the server pings a silent editor, and editorPong
// how long the reply may take.
const (
	editorPing = 30 * time.Second
	editorPong = time.Minute
)

// editorRoute is where editors connect. It is not in the table of routes: OpenAPI
// cannot describe a WebSocket.
func editorRoute() *route {
	return &route{method: "GET", path: "/acp", least: api.RoleViewer, status: http.StatusSwitchingProtocols, handle: (*call).editor}
}

// editor speaks the Agent Client Protocol over a WebSocket until the editor leaves, the
// server stops, or the user loses access. Its sessions are conversations of this
// server.
//
// A browser sends the origin of the page that connects: only this server's own may.
func (c *call) editor() error {
	if !c.s.editors.enter() {
		return closing.because("try again in a moment")
	}
	defer c.s.editors.leave()
	o := &c.service().opts
	if !c.s.streams.enter(c.user.Name, o.StreamsPerUser, o.Streams) {
		return limited.because("too many streams and editors are open: close some, or come back later")
	}
	defer c.s.streams.leave(c.user.Name)
	socket, err := acceptEditor(c.w, c.r)
	if err != nil {
		return nil // it has answered
	}
	defer func() { <-socket.line.done }()
	defer socket.conn.CloseNow()
	socket.conn.SetReadLimit(maxPrompt)
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(c.ctx())) // the request's context ends with the upgrade
	defer cancel(nil)
	defer context.AfterFunc(c.s.ctx, func() { cancel(errServerStops) })()
	socket.ctx = ctx
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel(nil)
	watching.Go(func() { pingEditor(ctx, socket, cancel) })
	watching.Go(func() { c.watchEditor(ctx, cancel) })
	user := func() (api.User, error) { return c.editorUser(ctx) }
	agent := &acp.Remote{Server: &userServer{c.service(), user}, Name: "claudectl", Logger: o.Logger}
	admit := func() (leave func(), err error) { // a session counts as an event stream: it follows a conversation
		if !c.s.streams.enter(c.user.Name, o.StreamsPerUser, o.Streams) {
			return nil, errors.New("too many sessions and event streams of this user are open on the server: close some with session/close, or come back later")
		}
		return func() { c.s.streams.leave(c.user.Name) }, nil
	}
	err = (&acp.Endpoint{Backend: agent, Admit: admit, Logger: o.Logger}).Serve(ctx, socket)
	if err != nil && ctx.Err() == nil {
		o.Logger.Warn("serve: the connection of an editor ended", "user", c.user.Name, "error", err)
	}
	return nil
}

var (
	errServerStops = errors.New("the server stops")
	errMayNotStay  = errors.New(mayNoLonger)
)

// pingEditor ends a connection whose editor stops answering.
func pingEditor(ctx context.Context, socket *editorSocket, end context.CancelCauseFunc) {
	ping := time.NewTicker(editorPing)
	defer ping.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ping.C:
			if err := socket.alive(ctx); err != nil {
				end(err)
			}
		}
	}
}

// watchEditor ends a connection whose user loses access.
func (c *call) watchEditor(ctx context.Context, end context.CancelCauseFunc) {
	look := time.NewTicker(lookAgain)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			if !c.stillAllowed(ctx, "") {
				end(errMayNotStay)
			}
		}
	}
}

// editorUser returns the user of a connection as of now. Every request is authorised
// anew, as if it had come alone, so a revoked token stops working at once. The context
// is that of the connection: the request's does not end before its handler does.
func (c *call) editorUser(ctx context.Context) (api.User, error) {
	ctx, cancel := context.WithTimeout(ctx, identifyBound)
	defer cancel()
	u, err := c.service().access.identify(nil, c.r.WithContext(ctx))
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
