package serve

import (
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

// The address of a client is the one that the proxy names, if the connection is of a
// trusted one, and only as far as trusted proxies name it.
func TestClientOf(t *testing.T) {
	t.Parallel()
	s := &access{opts: &Options{ProxyFrom: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}}
	for _, c := range []struct{ peer, forwarded, want string }{
		{"10.0.0.1:99", "192.0.2.7", "192.0.2.7"},
		{"10.0.0.1:99", "203.0.113.9, 192.0.2.7", "192.0.2.7"}, // the client claims the first
		{"10.0.0.1:99", "192.0.2.7, 10.0.0.2", "192.0.2.7"},
		{"10.0.0.1:99", "203.0.113.9, 192.0.2.7, 10.0.0.2, 10.0.0.3", "192.0.2.7"},
		{"10.0.0.1:99", "203.0.113.9, nonsense, 10.0.0.2", "10.0.0.1"},
		{"10.0.0.1:99", "", "10.0.0.1"},
		{"10.0.0.1:99", "nonsense", "10.0.0.1"},
		{"10.0.0.1:99", "::ffff:192.0.2.7", "192.0.2.7"},
		{"192.0.2.8:99", "192.0.2.7", "192.0.2.8"}, // not a proxy
	} {
		for _, lines := range asLines(c.forwarded) {
			r := httptest.NewRequest("GET", "/", nil)
			r.RemoteAddr = c.peer
			r.Header["X-Forwarded-For"] = lines
			if got := s.clientOf(r); got != c.want {
				t.Errorf("%+v as %q: %s", c, lines, got)
			}
		}
	}
}

// asLines returns every way to spread a list over lines of a header, which all mean the
// same: proxies may add a line of their own below that of the client.
func asLines(list string) (all [][]string) {
	if list == "" {
		return [][]string{nil}
	}
	parts := strings.Split(list, ", ")
	for breaks := range 1 << (len(parts) - 1) { // bit i: a new line begins after part i
		lines := []string{parts[0]}
		for i, part := range parts[1:] {
			if breaks>>i&1 == 1 {
				lines = append(lines, part)
			} else {
				lines[len(lines)-1] += ", " + part
			}
		}
		all = append(all, lines)
	}
	return all
}
