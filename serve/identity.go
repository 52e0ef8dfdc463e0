package serve

import (
	"net"
	"net/http"
	"strings"
)

// overSocket reports whether a request came over a Unix socket. It looks at the
// server's end of the connection, because the client chooses the name of its own.
func overSocket(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return ok && local.Network() == "unix"
}

// addressOf returns the address of the connection itself. Headers can be forged.
func addressOf(r *http.Request) string {
	if overSocket(r) {
		return "unix socket"
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// hostName returns a host without its port, in lower case.
func hostName(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}
