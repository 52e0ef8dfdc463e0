package serve

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/claude-agent-go/claude/serve/api"
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

// identify finds the user of a request. No user is not an error; credentials that
// are wrong are. Without an answer to put it into, the cookie is not renewed.
func (s *Service) identify(w http.ResponseWriter, r *http.Request) (api.User, error) {
	u, err := s.userOf(w, r)
	u.Address = s.clientOf(r)
	return u, err
}

func (s *Service) userOf(w http.ResponseWriter, r *http.Request) (api.User, error) {
	if s.opts.Authenticate != nil {
		if u, ok := s.opts.Authenticate(r); ok && usableName(u.Name) && u.Role.Valid() {
			return api.User{Name: u.Name, Role: u.Role}, nil
		}
	}
	if u, ok := s.proxied(r); ok {
		return u, nil
	}
	ctx := r.Context()
	if header := r.Header.Get("Authorization"); header != "" {
		return s.bearer(ctx, header)
	}
	cookie, err := r.Cookie(s.cookieName())
	if err != nil {
		return api.User{}, nil
	}
	c, revision, err := s.gate.check(ctx, cookie.Value, cookiePrefix)
	if errors.Is(err, errCredential) {
		return api.User{}, nil // an old cookie is like none
	}
	if err != nil {
		return api.User{}, problemOf(err)
	}
	if w != nil && s.gate.renew(ctx, c, revision) {
		http.SetCookie(w, s.cookie(cookie.Value, cookieLife))
	}
	return api.User{Name: c.User, Role: c.Role, Login: c.ID}, nil
}

// bearer finds the user of a bearer token.
func (s *Service) bearer(ctx context.Context, header string) (api.User, error) {
	token, ok := strings.CutPrefix(header, "Bearer ")
	if !ok {
		return api.User{}, unauthorized.because("the header Authorization must begin with \"Bearer \"")
	}
	c, _, err := s.gate.check(ctx, token, bearerPrefix)
	if errors.Is(err, errCredential) {
		return api.User{}, unauthorized.because("the token is unknown or has expired: ask an admin for another")
	}
	if err != nil {
		return api.User{}, problemOf(err)
	}
	return api.User{Name: c.User, Role: c.Role}, nil
}

// proxied finds the user that a trusted proxy names.
func (s *Service) proxied(r *http.Request) (api.User, bool) {
	if s.opts.ProxyHeader == "" {
		return api.User{}, false
	}
	names := r.Header.Values(s.opts.ProxyHeader)
	if len(names) != 1 || !usableName(names[0]) || !s.trusted(r) {
		return api.User{}, false
	}
	return api.User{Name: names[0], Role: s.opts.ProxyRole}, true
}

// trusted reports whether a request comes from the proxy.
func (s *Service) trusted(r *http.Request) bool {
	if overSocket(r) {
		return s.opts.ProxySocket
	}
	ip, err := netip.ParseAddr(addressOf(r))
	return err == nil && s.isProxy(ip)
}

// strict reports whether a browser should use https only for the name that it has asked
// for: not for this machine itself, where other programs answer to the same name.
func (s *Service) strict(r *http.Request) bool {
	name := hostName(r.Host)
	_, err := netip.ParseAddr(name)
	return (r.TLS != nil || s.opts.Secure) && err != nil && name != "localhost" && !strings.HasSuffix(name, ".localhost")
}

// hostName is a host without its port, in lower case.
func hostName(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

// allowedHost reports whether the server answers to a host name: a literal address of
// the loopback, localhost, or one of the names of the options. A page of another site
// whose name was made to point here has none of these.
func (s *Service) allowedHost(host string) bool {
	name := hostName(host)
	if ip, err := netip.ParseAddr(name); err == nil && ip.IsLoopback() || name == "localhost" {
		return true
	}
	for _, allowed := range s.opts.Hosts {
		if strings.EqualFold(name, strings.Trim(allowed, "[]")) {
			return true
		}
	}
	return false
}
