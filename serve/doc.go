// Package serve puts the conversations of a fleet on HTTP: a JSON API, a stream
// of events that can be resumed, an inbox of approvals, and a page for people.
//
//	s, err := serve.New(f, serve.Options{Records: db, Project: "prod", Presets: presets, Page: page.New})
//	http.Handle("/", s)
//	link, err := s.LoginLink(ctx, "http://127.0.0.1:8080", api.User{Name: "ada", Role: api.RoleAdmin})
//
// A [Server] is an [http.Handler] for any Go server, over anything that is a
// [fleet.Conversations]. The program "claudectl serve" is such a server.
//
// # Closed by default
//
// No request is served without a login: a one-time token that becomes a cookie, a
// bearer token, a header from a proxy whose address you trust, or your own check in
// Options.Authenticate. Requests with an unexpected Host are refused before anything
// else, as are requests from other sites. A request names a [Preset] of the server,
// never the options of a CLI. See [Options].
//
// # Users
//
// An [api.User] has a name and an [api.Role]. A conversation has an owner. Until it is
// shared, only its owner and admins can see it: other users get the same answer as for
// one that does not exist. All users see what is shared, and may act on it if their
// role allows. If you can see a conversation you can see its approvals; to decide them
// you must be at least an approver.
//
// # The API
//
// Everything is below /v1: the table in routes.go has each endpoint with its role and
// its types, and the OpenAPI document at /openapi.json is made from it. JSON members
// are named by the tags of the types in package serve/api. Unknown members are refused
// in requests, and clients should ignore them in replies. Lists are pages of an
// [api.List]. Errors are an [api.Problem] in application/problem+json, with advice. A
// POST may carry an Idempotency-Key: repeated within 24 hours it does nothing and gets
// the same answer, unless the conversation that the answer is about was deleted since.
// POST /v1/tokens refuses the key: its answer has a secret, which the server does not
// keep.
//
// # Events
//
// GET /v1/conversations/{id}/events is a stream of server-sent events. Durable events
// ([api.Event] with a Seq) are numbered in each conversation, from 1 and without gaps,
// and are stored before they are sent. A client loads the conversation, whose last_seq
// is its position, and its messages, and then follows the stream after that number.
// Text that is being written comes as deltas without a number. A slow reader misses
// deltas, never events, and holds up no other reader. GET /v1/feed is a stream of hints
// about all conversations.
//
// # AG-UI
//
// POST /ag-ui/{preset} runs an agent by AG-UI 1.0, the protocol that chat interfaces
// share; the client "@ag-ui/client" works with it unchanged. A thread is a
// conversation, and an approval is an interrupt, which the next run answers. A run that
// is cut off stops nothing, and may be repeated. Pages on other sites need
// Options.Origins and a bearer token.
//
// # The page
//
// A [Page] serves people in a browser. Options.Page makes it from the [Service], so it
// can do what the API can do and nothing else. The server checks Host, origin and
// login, sets the headers of a strict content security policy, and passes on every path
// that is not its own; [UserOf] returns the user of a request.
package serve
