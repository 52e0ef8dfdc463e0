package webpush

import (
	"context"
	"crypto/ecdh"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// Subscription is where and how a browser receives messages.
type Subscription struct {
	Endpoint string `json:"endpoint"` // of its push service
	Key      []byte `json:"key"`      // its public key, a point of P-256
	Auth     []byte `json:"auth"`     // a secret of 16 bytes
}

const maxEndpoint = 2 << 10

// Check refuses a subscription that cannot work, and one whose endpoint is not at a
// public address, unless private is true. A name may still lead to a private address:
// [Client] refuses that when it connects.
func (s *Subscription) Check(private bool) error {
	u, err := url.Parse(s.Endpoint)
	switch {
	case err != nil || len(s.Endpoint) > maxEndpoint || u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "":
		return errors.New("claude: webpush: the endpoint is not an https address of a push service")
	case len(s.Auth) != 16:
		return errors.New("claude: webpush: the secret of the subscription does not have 16 bytes")
	}
	if _, err := ecdh.P256().NewPublicKey(s.Key); err != nil {
		return errKey
	}
	name := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	ip, err := netip.ParseAddr(name)
	if private || err == nil && Public(ip) || err != nil && strings.Contains(name, ".") && !strings.HasSuffix(name, ".localhost") && !strings.HasSuffix(name, ".local") && !strings.HasSuffix(name, ".internal") {
		return nil
	}
	return &PrivateError{name}
}

// PrivateError means that an endpoint is not at a public address.
type PrivateError struct{ Address string }

func (e *PrivateError) Error() string {
	return fmt.Sprintf("claude: webpush: %q is not a public address, so it is not a push service", e.Address)
}

// Public reports whether an address is one of the internet: not of this machine, of its
// network, or of those that only look like others.
func Public(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	if !ip.IsGlobalUnicast() || ip.IsPrivate() {
		return false
	}
	for _, special := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		"64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "fec0::/10",
	} {
		if netip.MustParsePrefix(special).Contains(ip) {
			return false
		}
	}
	return true
}

// Client returns a client for push services. It connects to public addresses only,
// unless private is true, whatever a name leads to, and follows no redirects.
func Client(private bool) *http.Client {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	if !private {
		dialer.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
			if at, err := netip.ParseAddrPort(address); err != nil || !Public(at.Addr()) {
				return &PrivateError{address}
			}
			return nil
		}
	}
	return &http.Client{
		Timeout:       20 * time.Second,
		Transport:     &http.Transport{DialContext: dialer.DialContext, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute, TLSHandshakeTimeout: 10 * time.Second},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
