// Package api defines the vocabulary of the server's HTTP API: the members of requests
// and replies, the events of a stream, problems, and the roles of users. Package serve
// speaks it as a server, package serve/client as a client.
//
// The package imports nothing but the standard library, so that a client pulls in
// nothing else. All types are plain values: they may be copied, and read from several
// goroutines at once. JSON members are named by the tags; a client ignores members
// that it does not know.
package api
