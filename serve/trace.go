package serve

import (
	"context"
	"net/http"
)

// RequestTrace follows a request. It is called with a request that begins and the route
// that serves it, such as "POST /v1/conversations/{id}/prompts", empty if none does.
// The request is served with the returned context, which must be derived from that of
// the request: a prompt that the request sends passes it on to the fleet. done, if it
// is not nil, is called with the status of the answer when the request has ended, or
// when its stream has. If the answer broke off in a panic, the status is 0.
type RequestTrace func(r *http.Request, route string) (ctx context.Context, done func(status int))

// serveTraced serves a request with a trace.
func (s *Server) serveTraced(w http.ResponseWriter, r *http.Request) {
	_, route := s.mux.Handler(r)
	if page, ok := s.service.page.(Router); ok && route == "/" {
		route = page.Route(r)
	}
	ctx, done := s.service.opts.Trace(r, route)
	if ctx != nil {
		r = r.WithContext(ctx)
	}
	if done == nil {
		s.serve(w, r)
		return
	}
	noted := &notedStatus{ResponseWriter: w}
	status := 0
	defer func() { done(status) }()
	s.serve(noted, r)
	if status = noted.status; status == 0 {
		status = http.StatusOK // as net/http does for an answer that was never begun
	}
}

// notedStatus notes the status of an answer.
type notedStatus struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements [http.ResponseWriter].
func (n *notedStatus) WriteHeader(status int) {
	if n.status == 0 && status >= 200 {
		n.status = status
	}
	n.ResponseWriter.WriteHeader(status)
}

// Write implements [io.Writer].
func (n *notedStatus) Write(b []byte) (int, error) {
	if n.status == 0 {
		n.status = http.StatusOK
	}
	return n.ResponseWriter.Write(b)
}

// Unwrap lets [http.ResponseController] find the connection.
func (n *notedStatus) Unwrap() http.ResponseWriter { return n.ResponseWriter }
