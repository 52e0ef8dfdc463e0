package serve_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// A valid link or token gets in, however many guesses came from the same address
// before; behind a proxy, one client's guesses do not count against another's.
func TestGuessesBlockNobodyElse(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), func(o *serve.Options) { o.ProxyFrom = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	nobody := &client{rig: r}
	guess := func(from string) int {
		t.Helper()
		return nobody.do("POST", "/v1/login", api.LoginRequest{Token: "not a token"}, "X-Forwarded-For", from).status
	}
	for range 12 {
		guess("192.0.2.1")
	}
	if got := guess("192.0.2.1"); got != http.StatusTooManyRequests {
		t.Errorf("after twelve guesses: %d", got)
	}
	if got := guess("192.0.2.2"); got != http.StatusUnauthorized {
		t.Errorf("from elsewhere: %d", got)
	}
	link, err := r.server.Service().IssueLogin(t.Context(), api.User{Name: "ada", Role: api.RoleViewer})
	if err != nil {
		t.Fatal(err)
	}
	for what, token := range map[string]string{"link": link, "token": r.token("bob", api.RoleViewer)} {
		if got := nobody.do("POST", "/v1/login", api.LoginRequest{Token: token}, "X-Forwarded-For", "192.0.2.1").status; got != http.StatusNoContent {
			t.Errorf("a %s that works: %d", what, got)
		}
	}
	if all := get[api.List[api.LoginInfo]](r.as("root", api.RoleAdmin), "/v1/logins").Items; len(all) != 2 || all[0].Address != "192.0.2.1" {
		t.Errorf("the logins are %+v", all)
	}
}

// Names of users are short and have no invisible characters, wherever they come from.
func TestNamesOfUsers(t *testing.T) {
	t.Parallel()
	db := store.Memory()
	r := newRig(t, db, func(o *serve.Options) {
		o.ProxyHeader, o.ProxyFrom = "Remote-User", []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	})
	root := r.as("root", api.RoleAdmin)
	for _, name := range []string{"ada\nroot", "ada\u202etoor", "ada\u200b", strings.Repeat("a", 5000), " ada", "\x1b[31mada", "ada\xff"} {
		if got := root.do("POST", "/v1/tokens", api.NewToken{Name: "x", User: name, Role: api.RoleViewer}); name != "ada\xff" && got.status != http.StatusBadRequest {
			t.Errorf("a token for %.20q: %d", name, got.status)
		}
		if _, err := serve.IssueLogin(t.Context(), db, "p", api.User{Name: name, Role: api.RoleViewer}); err == nil || len(err.Error()) > 400 {
			t.Errorf("a login for %.20q: %v", name, err)
		}
		if _, err := serve.IssueToken(t.Context(), db, "p", api.NewToken{Name: "x", User: name, Role: api.RoleViewer}); err == nil {
			t.Errorf("another token for %.20q", name)
		}
	}
	nobody := &client{rig: r}
	for name, want := range map[string]int{"Zoë Müller-Ångström": http.StatusOK, strings.Repeat("a", 5000): http.StatusUnauthorized, "ada\u202etoor": http.StatusUnauthorized} {
		if got := nobody.do("GET", "/v1/server", nil, "Remote-User", name).status; got != want {
			t.Errorf("the proxy names %.20q: %d, want %d", name, got, want)
		}
	}
}

// A request from another site is refused with that reason.
func TestCrossSiteSaysSo(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), nil)
	got := want[api.Problem](r.as("ada", api.RoleAdmin), r.as("ada", api.RoleAdmin).do("POST", "/v1/conversations", api.NewConversation{Preset: "shop"}, "Sec-Fetch-Site", "cross-site"), http.StatusForbidden)
	if got.Type != "/problems/cross-site" || got.Title != "The request comes from another site" {
		t.Errorf("%+v", got)
	}
}

// A browser that has seen the server over https comes back over https only, but not to
// names of the machine itself, which other programs share.
func TestStrictTransport(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		secure bool
		host   string
		want   bool
	}{
		{true, "agents.example", true}, {true, "agents.example:8443", true}, {false, "agents.example", false},
		{true, "localhost:8443", false}, {true, "127.0.0.1:8443", false}, {true, "[::1]:8443", false},
	} {
		r := newRig(t, store.Memory(), func(o *serve.Options) { o.Secure, o.Hosts = c.secure, []string{"agents.example"} })
		w, req := httptest.NewRecorder(), httptest.NewRequest("GET", "/healthz", nil)
		req.Host = c.host
		r.server.ServeHTTP(w, req)
		if got := w.Header().Get("Strict-Transport-Security") != ""; got != c.want || w.Code != http.StatusNoContent {
			t.Errorf("%+v: %v, status %d", c, got, w.Code)
		}
	}
}
