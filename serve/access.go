package serve

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/internal/login"
)

// access finds out who sends a request, and whether it may be served at all.
type access struct {
	opts *Options
	gate *login.Authenticator
}

// identify finds the user of a request. A request without a user is not an error, but
// one with wrong credentials is. If w is nil, the cookie is not renewed.
func (ac *access) identify(w http.ResponseWriter, r *http.Request) (api.User, error) {
	u, err := ac.userOf(w, r)
	u.Address = ac.clientOf(r)
	return u, err
}

func (ac *access) userOf(w http.ResponseWriter, r *http.Request) (api.User, error) {
	if ac.opts.Authenticate != nil {
		if u, ok := ac.opts.Authenticate(r); ok && usableName(u.Name) && u.Role.Valid() {
			return api.User{Name: u.Name, Role: u.Role}, nil
		}
	}
	if u, ok := ac.proxied(r); ok {
		return u, nil
	}
	ctx := r.Context()
	if header := r.Header.Get("Authorization"); header != "" {
		return ac.bearer(ctx, header)
	}
	cookie, err := r.Cookie(ac.cookieName())
	if err != nil {
		return api.User{}, nil
	}
	c, revision, err := ac.gate.Check(ctx, cookie.Value, login.Cookie)
	if errors.Is(err, login.ErrUnknown) {
		return api.User{}, nil // an old cookie counts as none
	}
	if err != nil {
		return api.User{}, problemOf(err)
	}
	if w != nil && ac.gate.Renew(ctx, c, revision) {
		http.SetCookie(w, ac.cookie(cookie.Value, login.CookieLife))
	}
	return api.User{Name: c.User, Role: c.Role, Login: c.ID}, nil
}

// bearer finds the user of a bearer token.
func (ac *access) bearer(ctx context.Context, header string) (api.User, error) {
	token, ok := strings.CutPrefix(header, "Bearer ")
	if !ok {
		return api.User{}, unauthorized.because("the header Authorization must begin with \"Bearer \"")
	}
	c, _, err := ac.gate.Check(ctx, token, login.Bearer)
	if errors.Is(err, login.ErrUnknown) {
		return api.User{}, unauthorized.because("the token is unknown or has expired: ask an admin for another")
	}
	if err != nil {
		return api.User{}, problemOf(err)
	}
	return c.Account(), nil
}

// proxied finds the user that a trusted proxy names.
func (ac *access) proxied(r *http.Request) (api.User, bool) {
	if ac.opts.ProxyHeader == "" {
		return api.User{}, false
	}
	names := r.Header.Values(ac.opts.ProxyHeader)
	if len(names) != 1 || !usableName(names[0]) || !ac.trusted(r) {
		return api.User{}, false
	}
	return api.User{Name: names[0], Role: ac.opts.ProxyRole}, true
}

// trusted reports whether a request comes from the proxy.
func (ac *access) trusted(r *http.Request) bool {
	if overSocket(r) {
		return ac.opts.ProxySocket
	}
	ip, err := netip.ParseAddr(addressOf(r))
	return err == nil && ac.isProxy(ip)
}

// strict reports whether a browser should use only https for the host name that it
// asked for. It exempts localhost, to which other programs on this machine answer as
// well, and literal addresses, for which browsers ignore HSTS.
func (ac *access) strict(r *http.Request) bool {
	name := hostName(r.Host)
	_, err := netip.ParseAddr(name)
	return (r.TLS != nil || ac.opts.Secure) && err != nil && name != "localhost" && !strings.HasSuffix(name, ".localhost")
}

// allowedHost reports whether the server answers to a host name: a literal loopback
// address, localhost, or one of the names in the options. This stops DNS rebinding: a
// page of another site whose name was made to point here has none of these names.
func (ac *access) allowedHost(host string) bool {
	name := hostName(host)
	if ip, err := netip.ParseAddr(name); err == nil && ip.IsLoopback() || name == "localhost" {
		return true
	}
	for _, allowed := range ac.opts.Hosts {
		if strings.EqualFold(name, strings.Trim(allowed, "[]")) {
			return true
		}
	}
	return false
}

// clientOf returns the address that a request comes from: the other end of the
// connection, or the one that a trusted proxy names. In a chain of proxies only those
// in ProxyFrom are believed.
func (ac *access) clientOf(r *http.Request) string {
	peer := addressOf(r)
	if !ac.trusted(r) {
		return peer
	}
	for _, text := range slices.Backward(strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")) {
		ip, err := netip.ParseAddr(strings.TrimSpace(text))
		if err != nil {
			return peer
		}
		if !ac.isProxy(ip) {
			return ip.Unmap().WithZone("").String()
		}
	}
	return peer
}

// isProxy reports whether an address belongs to a trusted proxy.
func (ac *access) isProxy(ip netip.Addr) bool {
	return slices.ContainsFunc(ac.opts.ProxyFrom, func(from netip.Prefix) bool { return from.Contains(ip.Unmap()) })
}

// cookie makes the cookie. It is SameSite=Lax, so that links from mails and chats work.
func (ac *access) cookie(text string, life time.Duration) *http.Cookie {
	return &http.Cookie{
		Name: ac.cookieName(), Value: text, Path: "/", MaxAge: int(life / time.Second),
		HttpOnly: true, Secure: ac.opts.Secure, SameSite: http.SameSiteLaxMode,
	}
}

// cookieName includes the port, because browsers share cookies between ports.
func (ac *access) cookieName() string {
	if ac.opts.Port == 0 {
		return "claude-serve"
	}
	return "claude-serve-" + strconv.Itoa(ac.opts.Port)
}

// maxBrowser is how many bytes of a browser's name are kept.
const maxBrowser = 200

// browserOf returns the User-Agent of a request.
func browserOf(r *http.Request) string {
	name := r.UserAgent()
	return strings.ToValidUTF8(name[:min(len(name), maxBrowser)], "")
}
