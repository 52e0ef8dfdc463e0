package serve

import (
	"net"
	"net/http"
	"strings"
)

// overSocket reports whether a request came over a Unix socket. It asks the end of the
// server: the client chooses the name of the other one.
func overSocket(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return ok && local.Network() == "unix"
}

// addressOf is where the connection itself comes from. Headers can say anything.
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

// hostName is a host without its port, in lower case.
func hostName(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}
