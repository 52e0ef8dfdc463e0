package serve

import (
	"fmt"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// Guesses are counted by where they come from and by the token that is guessed, for a
// minute, and the count is bounded.
func TestGuesses(t *testing.T) {
	t.Parallel()
	var g guesses
	now := time.Unix(1_000_000, 0)
	for i := range maxGuesses {
		if g.add(now.Add(time.Duration(i)*time.Second), guessed("192.0.2.1", "ccl_ab.x")...) {
			t.Fatalf("guess %d is one too many", i)
		}
	}
	for _, c := range []struct {
		after          time.Duration
		address, token string
		want           bool
	}{
		{20 * time.Second, "192.0.2.1", "ccl_ff.x", true},  // the address
		{20 * time.Second, "192.0.2.2", "ccl_ab.y", true},  // the token
		{20 * time.Second, "192.0.2.2", "ccl_cd.y", false}, // neither
		{20 * time.Second, "192.0.2.3", "no token", false},
		{2 * time.Minute, "192.0.2.1", "ccl_ab.x", false},
	} {
		if got := g.add(now.Add(c.after), guessed(c.address, c.token)...); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	for i := range 3 * maxGuessed {
		g.add(now, fmt.Sprint("from ", i))
	}
	if len(g.made) > maxGuessed+2 {
		t.Errorf("%d are counted", len(g.made))
	}
}

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
