// Package rpc speaks JSON-RPC 2.0 over lines, in both directions, as the Agent
// Client Protocol uses it.
//
// One goroutine reads. It hands each request to the [Handler] in the order of
// arrival; the work that the Handler returns runs in a goroutine of its own, so a
// request never waits for another. A request is answered exactly once. A message
// that cannot be read is answered with an error and never ends the connection.
//
// Ids may be numbers or texts. Either side withdraws a request with
// "$/cancel_request", which ends the context of its work.
package rpc
