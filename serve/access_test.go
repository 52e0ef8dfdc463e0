package serve_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// document is the part of the OpenAPI document that the test needs.
type document struct {
	Paths map[string]map[string]struct {
		Role        api.Role  `json:"x-role"`
		RequestBody *struct{} `json:"requestBody"`
		Responses   map[string]struct {
			Content map[string]struct {
				Schema struct {
					Ref string `json:"$ref"`
				} `json:"schema"`
			} `json:"content"`
		} `json:"responses"`
		Parameters []struct{ Name string } `json:"parameters"`
	} `json:"paths"`
}

func openAPI(c *client) document { return get[document](c, "/openapi.json") }

// openAPIOf is openAPI without a network.
func openAPIOf(t *testing.T, r *rig) (d document) {
	t.Helper()
	if err := json.Unmarshal((&client{rig: r}).directly("GET", "/openapi.json", "").Body.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// Tokens of every role against the logins of every role: with a token, people see and
// end their own logins with that role or a lesser one, and admins those of all users.
// Any other login looks as if it did not exist.
func TestRolesOfLogins(t *testing.T) {
	r := newRig(t, store.Memory(), nil)
	nobody := &client{rig: r}
	admin := r.as("root", api.RoleAdmin)
	ids := func(c *client) map[string]bool {
		t.Helper()
		all := make(map[string]bool)
		for _, l := range get[api.List[api.LoginInfo]](c, "/v1/logins").Items {
			all[l.ID] = true
		}
		return all
	}
	for _, user := range []string{"ada", "eve"} {
		for _, role := range api.Roles() {
			before := ids(admin)
			token, err := r.server.Service().IssueLogin(t.Context(), api.User{Name: "ada", Role: role})
			if err != nil {
				t.Fatal(err)
			}
			cookie, _, _ := strings.Cut(nobody.do("POST", "/v1/login", api.LoginRequest{Token: token}).header.Get("Set-Cookie"), ";")
			var login string
			for id := range ids(admin) {
				if !before[id] {
					login = id
				}
			}
			for _, with := range api.Roles() {
				c := r.as(user, with)
				may := with == api.RoleAdmin || user == "ada" && atLeast(with, role)
				if listed := ids(c)[login]; listed != may {
					t.Errorf("%s as %s sees a login of ada as %s: %v", user, with, role, listed)
				}
				if may {
					continue
				}
				got, none := c.do("DELETE", "/v1/logins/"+login, nil), c.do("DELETE", "/v1/logins/ccs-0000000000000000", nil)
				if same := strings.ReplaceAll(string(got.body), login, "ccs-0000000000000000"); got.status != http.StatusNotFound || same != string(none.body) {
					t.Errorf("%s as %s ends a login of ada as %s: %d %s", user, with, role, got.status, got.body)
				}
			}
			if got := nobody.do("GET", "/v1/server", nil, "Cookie", cookie); got.status != http.StatusOK {
				t.Errorf("a login as %s was ended: %d", role, got.status)
			}
			least := role
			if user != "ada" {
				least = api.RoleAdmin
			}
			if got := r.as(user, least).do("DELETE", "/v1/logins/"+login, nil); got.status != http.StatusNoContent {
				t.Errorf("%s as %s cannot end a login of ada as %s: %d %s", user, least, role, got.status, got.body)
			}
		}
	}
}

// Another user's conversation does not exist: the answer of every endpoint in the
// OpenAPI document is the same, byte for byte, as for one that was never there. Admins
// see it, and all users once it is shared.
func TestPrivate(t *testing.T) {
	r := newRig(t, store.Memory(), nil)
	ada, eve, root := r.as("ada", api.RoleOperator), r.as("eve", api.RoleOperator), r.as("root", api.RoleAdmin)
	own := ada.begin("tool 1")
	asked := ada.pending(1)[0]
	never := "ada~00000000-0000-4000-8000-000000000000"
	bodies := map[string]string{ // of those that need one
		"PATCH /v1/conversations/{id}":        `{"title":"x"}`,
		"POST /v1/conversations/{id}/read":    `{}`,
		"POST /v1/conversations/{id}/prompts": `{"content":"hi"}`,
		"POST /v1/conversations/{id}/rewind":  `{"message":"00000000-0000-4000-8000-000000000000"}`,
		"POST /v1/approvals/{id}/decision":    `{"decision":"allow","digest":"` + asked.Digest + `"}`,
	}
	prompt := get[api.List[api.Prompt]](ada, "/v1/conversations/"+own.ID+"/prompts").Items[0].ID
	tried := 0
	for path, methods := range openAPI(ada).Paths {
		theirs := map[bool]string{true: own.ID, false: asked.ID}[strings.Contains(path, "/conversations/")]
		none := map[bool]string{true: never, false: "00000000000000000000000000000000"}[strings.Contains(path, "/conversations/")]
		for method, op := range methods {
			if !strings.Contains(path, "{id}") || op.Role == api.RoleAdmin {
				continue // it belongs to no user, or is for admins, who see everything
			}
			tried++
			name := strings.ToUpper(method) + " " + path
			ask := func(id string) reply {
				var body any
				if op.RequestBody != nil {
					body = bodies[name]
				}
				return eve.do(strings.ToUpper(method), strings.NewReplacer("{id}", id, "{prompt}", prompt).Replace(path), body)
			}
			got, want := ask(theirs), ask(none)
			same := strings.ReplaceAll(string(got.body), theirs, none) == string(want.body)
			if got.status != http.StatusNotFound || want.status != http.StatusNotFound || !same {
				t.Errorf("%s: %d %s\nwant as for what was never there: %d %s", name, got.status, got.body, want.status, want.body)
			}
		}
	}
	if tried < 18 {
		t.Errorf("only %d endpoints were tried", tried)
	}
	fork := want[api.Problem](eve, eve.do("POST", "/v1/conversations", api.NewConversation{Preset: "shop", Fork: &api.ForkFrom{Conversation: own.ID}}), http.StatusNotFound)
	if fork.Type != "/problems/not-found" {
		t.Errorf("%+v", fork)
	}
	for _, list := range []string{"/v1/conversations", "/v1/approvals", "/v1/approvals?q=BASH&preset=shop", "/v1/usage?by=user"} {
		if got := eve.do("GET", list, nil); strings.Contains(string(got.body), "ada") {
			t.Errorf("%s shows %s", list, got.body)
		}
		if got := root.do("GET", list, nil); list != "/v1/usage?by=user" && !strings.Contains(string(got.body), own.ID) {
			t.Errorf("%s shows an admin %s", list, got.body)
		}
	}
	for _, query := range []string{"q=nothing+like+it", "preset=nonsense", "q=bash&preset=nonsense", "kind=plan&q=bash"} {
		if got := get[api.List[api.Approval]](root, "/v1/approvals?"+query); len(got.Items) > 0 {
			t.Errorf("?%s selects %+v", query, got.Items)
		}
	}
	want[api.Conversation](ada, ada.do("PATCH", "/v1/conversations/"+own.ID, `{"shared":true}`), http.StatusOK)
	get[api.Conversation](eve, "/v1/conversations/"+own.ID)
	viewer := r.as("vic", api.RoleViewer)
	if a := get[api.Approval](viewer, "/v1/approvals/"+asked.ID); a.MayDecide {
		t.Error("a viewer may decide")
	}
	if got := eve.do("PATCH", "/v1/conversations/"+own.ID, `{"shared":false}`); got.status != http.StatusForbidden {
		t.Errorf("somebody else makes it private: %d", got.status)
	}
	approver := r.as("kim", api.RoleApprover)
	want[api.Approval](approver, approver.do("POST", "/v1/approvals/"+asked.ID+"/decision", api.Decision{Decision: "deny", Digest: asked.Digest}), http.StatusOK)
}

// Requests of other sites, and for other hosts, are refused before anything else.
func TestHostsAndOrigins(t *testing.T) {
	r := newRig(t, store.Memory(), func(o *serve.Options) { o.Hosts = []string{"claude.example", "192.0.2.7"} })
	ada := r.as("ada", api.RoleAdmin)
	hosts := map[string]int{
		"127.0.0.1": 200, "127.0.0.1:1": 200, "127.9.9.9": 200, "localhost": 200, "localhost:9999": 200, "LOCALHOST": 200, "[::1]": 200, "[::1]:80": 200,
		"claude.example": 200, "Claude.Example:443": 200, "192.0.2.7": 200,
		"evil.example": 421, "127.0.0.1.evil.example": 421, "localhost.evil.example": 421, "192.0.2.8": 421, "0.0.0.0": 421, "169.254.169.254": 421,
		"claude.example.evil.example": 421, "[::]": 421, "claude.example@evil.example": 421,
	}
	for host, want := range hosts {
		if got := ada.do("GET", "/v1/server", nil, "Host", host); got.status != want {
			t.Errorf("Host %s: status %d, want %d", host, got.status, want)
		}
	}
	self := r.http.URL
	for _, c := range []struct {
		method, origin, site string
		want                 int
	}{
		{"POST", "", "", 201},
		{"POST", self, "same-origin", 201},
		{"POST", "", "same-origin", 201},
		{"POST", "", "none", 201},
		{"POST", self, "", 201},
		{"POST", "https://evil.example", "cross-site", 403},
		{"POST", "https://evil.example", "", 403},
		{"POST", "", "cross-site", 403},
		{"POST", "", "same-site", 403},
		{"POST", "null", "", 403},
		{"POST", "http://localhost:1", "same-site", 403},
		{"GET", "https://evil.example", "cross-site", 200},
	} {
		path, body := "/v1/conversations", any(api.NewConversation{Preset: "shop"})
		if c.method == "GET" {
			body = nil
		}
		var headers []string
		if c.origin != "" {
			headers = append(headers, "Origin", c.origin)
		}
		if c.site != "" {
			headers = append(headers, "Sec-Fetch-Site", c.site)
		}
		got := ada.do(c.method, path, body, headers...)
		if got.status != c.want {
			t.Errorf("%s, Origin %q, Sec-Fetch-Site %q: status %d, want %d", c.method, c.origin, c.site, got.status, c.want)
		}
		if got.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("another site may read the answer")
		}
	}
	for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"} {
		if got := ada.do("POST", "/v1/conversations", `{"preset":"shop"}`, "Content-Type", kind); got.status != http.StatusUnsupportedMediaType {
			t.Errorf("Content-Type %q: status %d", kind, got.status)
		}
	}
	got := ada.do("GET", "/v1/server", nil)
	for name, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY", "Cache-Control": "no-store",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
	} {
		if got.header.Get(name) != want {
			t.Errorf("%s: %q", name, got.header.Get(name))
		}
	}
	policy := got.header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "require-trusted-types-for 'script'") || strings.Contains(policy, "unsafe") {
		t.Errorf("the policy is %q", policy)
	}
}

// A one-time token works once, a cookie until the logout, a token until it is revoked;
// and guessing is soon refused.
func TestLogin(t *testing.T) {
	r := newRig(t, store.Memory(), func(o *serve.Options) {
		o.Port, o.CLIVersion = 8080, func() string { return "2.1.325" }
	})
	nobody := &client{rig: r}
	link, err := r.server.LoginLink(t.Context(), r.http.URL, api.User{Name: "ada", Role: api.RoleOperator})
	if err != nil {
		t.Fatal(err)
	}
	base, token, _ := strings.Cut(link, "#t=")
	if base != r.http.URL+"/login" {
		t.Errorf("the link is %s", link)
	}
	login := nobody.do("POST", "/v1/login", api.LoginRequest{Token: token})
	if login.status != http.StatusNoContent {
		t.Fatalf("status %d: %s", login.status, login.body)
	}
	set := login.header.Get("Set-Cookie")
	for _, part := range []string{"claude-serve-8080=ccs_", "HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=2592000"} {
		if !strings.Contains(set, part) {
			t.Errorf("no %s in the cookie %s", part, set)
		}
	}
	if strings.Contains(set, "Secure") {
		t.Error("the cookie is for https only")
	}
	cookie, _, _ := strings.Cut(set, ";")
	info := want[api.ServerInfo](nobody, nobody.do("GET", "/v1/server", nil, "Cookie", cookie), http.StatusOK)
	if info.User.Name != "ada" || info.User.Role != api.RoleOperator || info.CLI != "2.1.325" {
		t.Errorf("%+v", info)
	}
	if again := nobody.do("POST", "/v1/login", api.LoginRequest{Token: token}); again.status != http.StatusUnauthorized {
		t.Errorf("the second login: status %d", again.status)
	}
	if out := nobody.do("DELETE", "/v1/login", nil, "Cookie", cookie); out.status != http.StatusNoContent {
		t.Errorf("logout: status %d", out.status)
	}
	if after := nobody.do("GET", "/v1/server", nil, "Cookie", cookie); after.status != http.StatusUnauthorized {
		t.Errorf("after the logout: status %d", after.status)
	}

	root := r.as("root", api.RoleAdmin)
	made := want[api.CreatedToken](root, root.do("POST", "/v1/tokens", `{"name":"ci","user":"bot","role":"viewer"}`), http.StatusCreated)
	bot := &client{rig: r, token: made.Secret}
	get[api.ServerInfo](bot, "/v1/server")
	byToken := nobody.do("POST", "/v1/login", api.LoginRequest{Token: made.Secret})
	cookie, _, _ = strings.Cut(byToken.header.Get("Set-Cookie"), ";")
	want[api.ServerInfo](nobody, nobody.do("GET", "/v1/server", nil, "Cookie", cookie), http.StatusOK)
	keyed := root.do("POST", "/v1/tokens", `{"name":"again","user":"bot","role":"viewer"}`, "Idempotency-Key", "k")
	if p := want[api.Problem](root, keyed, http.StatusBadRequest); !strings.Contains(p.Detail, "Idempotency-Key") || !strings.Contains(p.Detail, "revoke") {
		t.Errorf("%+v", p)
	}
	if all := get[api.List[api.TokenInfo]](root, "/v1/tokens").Items; slices.ContainsFunc(all, func(t api.TokenInfo) bool { return t.Name == "again" }) {
		t.Errorf("a refused request has made %+v", all)
	}
	if list := root.do("GET", "/v1/tokens", nil); strings.Contains(string(list.body), made.Secret[len(made.Secret)-20:]) || !strings.Contains(string(list.body), made.ID) {
		t.Errorf("the tokens are %s", list.body)
	}
	if got := root.do("DELETE", "/v1/tokens/"+made.ID, nil); got.status != http.StatusNoContent {
		t.Errorf("revoke: status %d", got.status)
	}
	if got := bot.do("GET", "/v1/server", nil); got.status != http.StatusUnauthorized {
		t.Errorf("a revoked token: status %d", got.status)
	}
	if got := nobody.do("GET", "/v1/server", nil, "Cookie", cookie); got.status != http.StatusUnauthorized {
		t.Errorf("the login of a revoked token: status %d", got.status)
	}
	if got := nobody.do("GET", "/v1/server?token="+made.Secret, nil); got.status != http.StatusUnauthorized {
		t.Errorf("a token in the address: status %d", got.status)
	}
	last := 0
	for range 12 {
		last = nobody.do("POST", "/v1/login", api.LoginRequest{Token: "ccl_0000000000000000.guess"}).status
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("after twelve guesses: status %d", last)
	}
}

// The records have no secret.
func TestSecretsAreHashed(t *testing.T) {
	db := store.Memory()
	r := newRig(t, db, nil)
	token := r.token("ada", api.RoleViewer)
	login, err := serve.IssueLogin(t.Context(), db, "p", api.User{Name: "ada", Role: api.RoleViewer})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, kind := range []string{"serve-token", "serve-login"} {
		for rec, err := range db.Scan(t.Context(), store.Folder{Project: "p", Kind: kind}, "") {
			if err != nil {
				t.Fatal(err)
			}
			n++
			for _, secret := range []string{token, login} {
				_, text, _ := strings.Cut(secret, ".")
				if strings.Contains(string(rec.Value), text) {
					t.Errorf("%s has the secret", rec.Key)
				}
			}
		}
	}
	if n != 2 {
		t.Errorf("%d records", n)
	}
}

// A proxy's header counts only on a connection from the proxy.
func TestProxy(t *testing.T) {
	for _, c := range []struct {
		from string
		want int
	}{{"127.0.0.0/8", 200}, {"192.0.2.0/24", 401}} {
		r := newRig(t, store.Memory(), func(o *serve.Options) {
			o.ProxyHeader, o.ProxyFrom, o.ProxyRole = "Remote-User", []netip.Prefix{netip.MustParsePrefix(c.from)}, api.RoleViewer
		})
		nobody := &client{rig: r}
		got := nobody.do("GET", "/v1/server", nil, "Remote-User", "ada", "X-Forwarded-For", "192.0.2.1")
		if got.status != c.want {
			t.Errorf("from %s: status %d, %s", c.from, got.status, got.body)
		}
		if c.want == 200 {
			var info api.ServerInfo
			if err := json.Unmarshal(got.body, &info); err != nil || info.User.Name != "ada" || info.User.Role != api.RoleViewer {
				t.Errorf("%+v, %v", info.User, err)
			}
		}
	}
	if _, err := serve.New(nil, serve.Options{}); err == nil {
		t.Error("a server without a fleet")
	}
}

// Over a Unix socket the header counts only if the options trust its clients as the
// proxy, whatever address a client gives itself.
func TestProxySocket(t *testing.T) {
	for socket, want := range map[bool]int{true: http.StatusOK, false: http.StatusUnauthorized} {
		r := newRig(t, store.Memory(), func(o *serve.Options) {
			o.ProxyHeader, o.ProxyFrom, o.ProxySocket = "Remote-User", []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, socket
		})
		t.Chdir(t.TempDir())
		l, err := net.Listen("unix", "s")
		if err != nil {
			t.Fatal(err)
		}
		web := &httptest.Server{Listener: l, Config: &http.Server{Handler: r.server}}
		web.Start()
		defer web.Close()
		named := &net.Dialer{LocalAddr: &net.UnixAddr{Name: "127.0.0.1:80", Net: "unix"}}
		if runtime.GOOS == "windows" {
			named.LocalAddr = nil // a file has no such name there
		}
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return named.DialContext(ctx, "unix", "s")
		}}}
		req, err := http.NewRequestWithContext(t.Context(), "GET", "http://localhost/v1/server", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Remote-User", "ada")
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("ProxySocket %v: status %d", socket, res.StatusCode)
		}
	}
}

// A program's own users need no other login.
func TestAuthenticate(t *testing.T) {
	r := newRig(t, store.Memory(), func(o *serve.Options) {
		o.Authenticate = func(r *http.Request) (api.User, bool) {
			name := r.Header.Get("X-Test-User")
			return api.User{Name: name, Role: api.RoleViewer}, name != ""
		}
	})
	nobody := &client{rig: r}
	if got := nobody.do("GET", "/v1/server", nil, "X-Test-User", "ada"); got.status != 200 {
		t.Errorf("status %d", got.status)
	}
	if got := nobody.do("GET", "/v1/server", nil); got.status != 401 {
		t.Errorf("status %d", got.status)
	}
}
