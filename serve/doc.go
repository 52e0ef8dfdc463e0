// Package serve puts the conversations of a fleet on HTTP: a JSON API, a stream
// of events that can be resumed, an inbox of approvals, and a page for people.
//
//	s, err := serve.New(f, serve.Options{Records: db, Project: "prod", Presets: presets, Page: page.New})
//	http.Handle("/", s)
//	link, err := s.LoginLink(ctx, "http://127.0.0.1:8080", serve.User{Name: "ada", Role: serve.Admin})
//
// A [Server] is an [http.Handler] for any Go server, over anything that is a
// [fleet.Conversations]. The program "claudectl serve" is such a server.
//
// # Closed by default
//
// Nobody gets in without a login: a one-time token that becomes a cookie, a
// bearer token, a header of a proxy that is trusted by its address, or your own
// users by Options.Authenticate. Requests whose Host is not expected are refused
// before anything else, requests of other sites are refused, and a request names
// a [Preset] of the server, never the options of a CLI. See [Options].
//
// # Users
//
// A [User] has a name and a [Role]. A conversation has an owner. Until it is
// shared it exists only for its owner and for admins: to everybody else the
// answer is the same as for one that does not exist. What is shared is seen by
// all users, and acted upon by those whose role allows it. The approvals of a
// conversation are seen by those who see the conversation, and decided by those
// of them who are at least approvers.
//
// # The API
//
// Everything is below /v1: the table in routes.go has each endpoint with its role
// and its types, and the OpenAPI document at /openapi.json is made from it.
// Members of JSON have the names that the types of this package say. Unknown
// members are refused in requests, and clients should ignore them in replies.
// Lists are pages of a [List]. Errors are a [Problem] in application/problem+json
// and say what to do. A POST may carry an Idempotency-Key: sent again within 24
// hours it does nothing and gets the same answer.
//
// # Events
//
// GET /v1/conversations/{id}/events is a stream of server-sent events. Those
// that last ([Event] with a Seq) have dense numbers from 1 on in each
// conversation, and are stored before they are sent. A client loads the
// conversation, whose last_seq says where it stands, and its messages, and then
// follows the stream after that number. Text that is being written comes as
// deltas without a number. A reader that is too slow misses deltas, never
// events, and holds up nobody. GET /v1/feed is a stream of hints over all
// conversations.
//
// # AG-UI
//
// POST /ag-ui/{preset} runs an agent by AG-UI 1.0, the protocol that chat
// interfaces share; the client "@ag-ui/client" works with it as it is. A thread
// is a conversation, and an approval is an interrupt, which the next run answers.
// A run that is cut off stops nothing, and may be repeated. Pages of other sites
// need Options.Origins and a bearer token.
//
// # The page
//
// A [Page] is what people see in a browser. It is made by Options.Page from the
// [Service], so that it can do what the API can do and nothing else. The server
// checks Host, origin and login, sets the headers of a strict content security
// policy, and passes on every path that is not its own; [UserOf] says who asks.
package serve
