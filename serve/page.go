package serve

import (
	"net/http"

	"github.com/claude-agent-go/claude/serve/api"
)

// Page is the part of the server that people see. It serves every path that is not
// below /v1 or /ag-ui and not /openapi.json, /healthz or /problems/…, even for people
// who are not logged in: then [UserOf] returns false, and the page shows its login. A
// POST has already passed the check of its origin, so a page needs no tokens in its
// forms.
//
// Its methods are called from many goroutines at once.
//
// A page logs people in with [Service.Login] and out with [Service.Logout]. The server
// sets the content security policy: styles and scripts come from the page's own paths,
// and nothing is inline.
type Page interface {
	http.Handler
	// HTML returns safe markup for the message of an event, for streams that asked for
	// it with html=1. Empty: there is nothing to show.
	HTML(e *api.Event) string
}

// Router is a [Page] that knows the routes of its own paths, so that traces can name
// them.
type Router interface {
	// Route returns the route that serves a request, such as "GET /c/{id}".
	Route(r *http.Request) string
}
