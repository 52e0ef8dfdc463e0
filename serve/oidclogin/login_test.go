package oidclogin_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/oidclogin"
)

// A person logs in with their account, comes to where they wanted to go, is known by the
// name and role that the rules give, and is out after the logout. The login is listed with
// the provider's name, and ends by itself.
func TestLogin(t *testing.T) {
	t.Parallel()
	p := newIDP(t)
	r := newRig(t, with(newLogin(t, p.http.URL)), func(o *serve.Options) { o.LoginLife = 3 * time.Hour })
	ada := r.person()
	if first := ada.get("/h?q=shop"); first.status != http.StatusUnauthorized || !strings.Contains(first.body, `href="/login/begin?to=%2fh%3fq%3dshop"`) || !strings.Contains(first.body, "Log in with Acme") {
		t.Fatalf("the page does not offer the login: %d\n%s", first.status, first.body)
	}
	if after := ada.get("/login/begin?to=%2fh%3fq%3dshop"); after.status != http.StatusOK || after.at != r.http.URL+"/h?q=shop" {
		t.Fatalf("the login ends with %d at %s:\n%s", after.status, after.at, after.body)
	}
	if who := ada.who(); who != "ada@example.com" {
		t.Errorf("the user is %q", who)
	}
	logins, err := r.server.Service().Logins(t.Context(), api.User{Name: "ada@example.com", Role: api.RoleOperator})
	if err != nil || len(logins.Items) != 1 {
		t.Fatalf("%+v, %v", logins, err)
	}
	if l := logins.Items[0]; l.Provider != "Acme" || l.Role != api.RoleOperator || l.Expires.Sub(l.Created).Round(time.Minute) != 3*time.Hour {
		t.Errorf("the login is %+v", l)
	}
	if list := ada.get("/logins"); !strings.Contains(list.body, "by Acme") {
		t.Errorf("the list does not name the provider:\n%s", list.body)
	}
	reply, err := ada.client.PostForm(r.http.URL+"/logout", nil)
	if err != nil {
		t.Fatal(err)
	}
	reply.Body.Close()
	if who := ada.who(); who != "" {
		t.Errorf("after the logout the user is %q", who)
	}
}

// Without a provider the page offers none, and its paths lead nowhere.
func TestNoProvider(t *testing.T) {
	t.Parallel()
	ada := newRig(t, with(nil)).person()
	if got := ada.get("/login"); strings.Contains(got.body, "/login/begin") {
		t.Errorf("the page offers a provider:\n%s", got.body)
	}
	for _, path := range []string{"/login/begin", "/login/return?code=1&state=2"} {
		if got := ada.get(path); got.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, got.status)
		}
	}
}

// A login leads to a page of this server and nowhere else.
func TestLeadsNowhereElse(t *testing.T) {
	t.Parallel()
	p := newIDP(t)
	r := newRig(t, with(newLogin(t, p.http.URL)))
	for _, to := range []string{"//evil.example", "/%2fevil.example", "/\\evil.example", "https://evil.example", "/%0d%0aSet-Cookie:x", "/" + strings.Repeat("x", 5000)} {
		ada := r.person()
		back := ada.toProvider(url.QueryEscape(to))
		if got := ada.still().get(back); got.status != http.StatusSeeOther || got.location != "/" {
			t.Errorf("%.60q leads to %q (%d)", to, got.location, got.status)
		}
	}
	// Nor if the browser itself has changed what it remembers.
	ada := r.person()
	back := ada.toProvider("/h")
	at, _ := url.Parse(r.http.URL)
	for _, c := range ada.client.Jar.Cookies(at) {
		secret, _, _ := strings.Cut(c.Value, ".")
		ada.client.Jar.SetCookies(at, []*http.Cookie{{Name: c.Name, Value: secret + ".Ly9ldmlsLmV4YW1wbGU"}}) // //evil.example
	}
	if got := ada.still().get(back); got.location != "/" {
		t.Errorf("a changed cookie leads to %q (%d)", got.location, got.status)
	}
}

// A browser that did not begin a login cannot end it, and no answer counts twice.
func TestOtherBrowser(t *testing.T) {
	t.Parallel()
	p := newIDP(t)
	r := newRig(t, with(newLogin(t, p.http.URL)))
	refused := func(what string, by *person, address string) {
		t.Helper()
		says := "begun in another browser"
		if what == "a stolen code" { // the browser's own login, which the provider refuses
			says = "did not confirm who you are"
		}
		got := by.still().get(address)
		if got.status != http.StatusUnauthorized || !strings.Contains(got.body, says) || by.who() != "" {
			t.Errorf("%s: %d, the user is %q\n%s", what, got.status, by.who(), got.body)
		}
	}
	ada, eve := r.person(), r.person()
	mine := ada.toProvider("/")
	refused("a browser without a login", r.person(), mine)
	theirs := eve.toProvider("/")
	refused("a browser with a login of its own", ada, theirs)

	code := func(address string) string { u, _ := url.Parse(address); return u.Query().Get("code") }
	state := func(address string) string { u, _ := url.Parse(address); return u.Query().Get("state") }
	refused("without a state", ada, r.http.URL+serve.LoginReturn+"?code="+code(mine))
	refused("with two states", ada, mine+"&state="+state(mine))
	// The code of another browser, in this browser's own login: PKCE.
	refused("a stolen code", ada, r.http.URL+serve.LoginReturn+"?code="+code(theirs)+"&state="+state(mine))

	mine = ada.toProvider("/")
	if got := ada.still().get(mine); got.status != http.StatusSeeOther || ada.who() == "" {
		t.Fatalf("the login ends with %d:\n%s", got.status, got.body)
	}
	again := r.person()
	refused("the same answer in another browser", again, mine)
	if got := ada.still().get(mine); got.status != http.StatusUnauthorized {
		t.Errorf("the same answer again: %d", got.status)
	}
}

// Whatever is wrong with an answer of the provider, nobody is logged in, the page says so
// in its own words, and the next login works.
func TestAnswers(t *testing.T) {
	t.Parallel()
	tokens := func(change func(claims, header map[string]any)) func(*idp) { return func(p *idp) { p.change = change } }
	claim := func(name string, value any) func(*idp) {
		return tokens(func(claims, _ map[string]any) { claims[name] = value })
	}
	answer := func(name string, values ...string) func(*idp) {
		return func(p *idp) { p.answer = func(q url.Values) { q[name] = values } }
	}
	const failed, evil = http.StatusUnauthorized, "<b>call 555 now"
	for name, c := range map[string]struct {
		change func(*idp)
		status int
		says   string
	}{
		"another nonce":          {claim("nonce", "other"), failed, "did not confirm"},
		"no nonce":               {tokens(func(c, _ map[string]any) { delete(c, "nonce") }), failed, "did not confirm"},
		"expired":                {claim("exp", time.Now().Add(-time.Minute).Unix()), failed, "did not confirm"},
		"another issuer's token": {claim("iss", "https://evil.example"), failed, "did not confirm"},
		"for another client":     {claim("aud", "other"), failed, "did not confirm"},
		"for several, by none":   {claim("aud", []string{clientID, "other"}), failed, "did not confirm"},
		"authorized by another":  {claim("azp", "other"), failed, "did not confirm"},
		"no subject":             {claim("sub", ""), failed, "did not confirm"},
		"another access token":   {claim("at_hash", "AAAAAAAAAAAAAAAAAAAAAA"), failed, "did not confirm"},
		"unsigned":               {tokens(func(_, h map[string]any) { h["alg"] = "none" }), failed, "did not confirm"},
		"a key of somebody else": {tokens(func(_, h map[string]any) { h["kid"] = "2" }), failed, "did not confirm"},
		"mixed up":               {answer("iss", "https://evil.example"), failed, "did not confirm"},
		"an issuer twice":        {func(p *idp) { p.answer = func(q url.Values) { q["iss"] = []string{p.http.URL, p.http.URL} } }, failed, "did not confirm"},
		"an unnamed issuer":      {func(p *idp) { p.about = map[string]any{"authorization_response_iss_parameter_supported": true} }, failed, "did not confirm"},
		"denied": {func(p *idp) {
			p.answer = func(q url.Values) { q.Del("code"); q.Set("error", evil); q.Set("error_description", evil) }
		}, failed, "did not confirm"},
		"no code":              {func(p *idp) { p.answer = func(q url.Values) { q.Del("code") } }, failed, "did not confirm"},
		"two codes":            {func(p *idp) { p.answer = func(q url.Values) { q.Add("code", "other") } }, failed, "did not confirm"},
		"unknown":              {func(p *idp) { p.claims = map[string]any{"email": "eve@example.com", "email_verified": true} }, http.StatusForbidden, "Acme knows you as eve@example.com"},
		"unverified":           {func(p *idp) { p.claims = map[string]any{"email": "ada@example.com", "email_verified": false} }, http.StatusForbidden, "no access"},
		"verification unknown": {func(p *idp) { p.claims = map[string]any{"email": "ada@example.com"} }, http.StatusForbidden, "no access"},
		"verified elsewhere": {func(p *idp) {
			p.info = map[string]any{"sub": "248289761001", "email": "eve@example.com", "email_verified": true}
			p.claims = map[string]any{"email": "ada@example.com"}
		}, http.StatusForbidden, "no access"},
		"contradicted": {func(p *idp) {
			p.info = map[string]any{"sub": "248289761001", "email": "ada@example.com", "email_verified": true}
			p.claims = map[string]any{"email": "eve@example.com"}
		}, http.StatusForbidden, "no access"},
		"facts about another person": {func(p *idp) {
			p.info = map[string]any{"sub": "1", "email": "ada@example.com", "email_verified": true}
		}, failed, "did not confirm"},
		"names that mean something": {func(p *idp) { p.claims = map[string]any{"email": evil, "email_verified": true} }, http.StatusForbidden, "&lt;b&gt;call 555"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newIDP(t)
			c.change(p)
			r := newRig(t, with(newLogin(t, p.http.URL)))
			ada := r.person()
			got := ada.get("/login/begin?to=/h")
			if got.status != c.status || !strings.Contains(got.body, c.says) || ada.who() != "" || strings.Contains(got.body, evil) {
				t.Errorf("status %d, want %d with %q; the user is %q\n%s", got.status, c.status, c.says, ada.who(), got.body)
			}
			if !strings.Contains(got.body, `href="/login/begin?to=%2fh"`) {
				t.Errorf("the page does not offer to try again:\n%s", got.body)
			}
			p.change, p.answer, p.claims = nil, nil, map[string]any{"email": "ada@example.com", "email_verified": "true"}
			if p.info != nil {
				p.info["sub"] = "248289761001"
			}
			if p.about != nil {
				p.answer = func(q url.Values) { q.Set("iss", p.http.URL) }
			}
			if got := ada.get("/login/begin?to=/h"); got.status != http.StatusOK || ada.who() != "ada@example.com" {
				t.Errorf("the next login: %d, the user is %q\n%s", got.status, ada.who(), got.body)
			}
		})
	}
}

// What the id token leaves out comes from the userinfo endpoint.
func TestUserInfo(t *testing.T) {
	t.Parallel()
	p := newIDP(t)
	p.claims, p.info = nil, map[string]any{"sub": "248289761001", "email": "ada@example.com", "email_verified": true}
	ada := newRig(t, with(newLogin(t, p.http.URL))).person()
	if got := ada.get("/login/begin"); got.status != http.StatusOK || ada.who() != "ada@example.com" {
		t.Errorf("%d, the user is %q\n%s", got.status, ada.who(), got.body)
	}
}

// While the provider is away, the page says so and the other logins work; afterwards no
// restart is needed. A redirect is not followed, and an endless answer is not read.
func TestProviderAway(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s was sent elsewhere", r.Method, r.URL)
	}))
	t.Cleanup(elsewhere.Close)
	for name, front := range map[string]frontFunc{
		"broken": func(w http.ResponseWriter, _ *http.Request) bool {
			http.Error(w, "out of order", http.StatusBadGateway)
			return true
		},
		"redirects": func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
			return true
		},
		"not JSON": func(w http.ResponseWriter, _ *http.Request) bool { _, _ = w.Write([]byte("<html>")); return true },
		"another": func(w http.ResponseWriter, _ *http.Request) bool {
			_, _ = w.Write([]byte(`{"issuer":"https://evil.example"}`))
			return true
		},
		"no tokens": func(w http.ResponseWriter, r *http.Request) bool {
			lost := r.URL.Path == "/token"
			if lost {
				http.Error(w, "out of order", http.StatusServiceUnavailable)
			}
			return lost
		},
		"cut off": func(w http.ResponseWriter, r *http.Request) bool {
			lost := r.URL.Path == "/token"
			if lost {
				panic(http.ErrAbortHandler)
			}
			return lost
		},
		"leads away": func(w http.ResponseWriter, r *http.Request) bool {
			lost := r.URL.Path == "/token"
			if lost {
				http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
			}
			return lost
		},
		"endless": func(w http.ResponseWriter, _ *http.Request) bool {
			piece := []byte(strings.Repeat(" ", 64<<10))
			for range 64 { // 4 MB: enough to be refused, and an end if it is not
				if _, err := w.Write(piece); err != nil {
					return true
				}
			}
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newIDP(t)
			p.front.Store(&front)
			r := newRig(t, with(newLogin(t, p.http.URL)))
			ada := r.person()
			got := ada.get("/login/begin?to=/h")
			if got.status != http.StatusBadGateway || !strings.Contains(got.body, "Acme cannot be asked at the moment") || ada.who() != "" || strings.Contains(got.body, "out of order") {
				t.Errorf("%d, the user is %q\n%s", got.status, ada.who(), got.body)
			}
			p.front.Store(nil)
			if got := ada.get("/login/begin?to=/h"); got.status != http.StatusOK || ada.who() != "ada@example.com" {
				t.Errorf("afterwards: %d, the user is %q\n%s", got.status, ada.who(), got.body)
			}
		})
	}
}

// silent never answers.
type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// A provider that does not answer is given up after seconds, even behind another's
// question.
func TestProviderSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		login := newLogin(t, "https://idp.example", func(o *oidclogin.Options) { o.Client = &http.Client{Transport: silent{}, Timeout: time.Hour} })
		began := time.Now()
		failed := make(chan error, 2)
		for range cap(failed) {
			go func() { failed <- login.Discover(t.Context()) }()
		}
		for range cap(failed) {
			if err := <-failed; err == nil {
				t.Error("a silent provider was found")
			}
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("two logins waited for %s", took)
		}
		go func() { failed <- login.Discover(context.Background()) }()
		go func() { failed <- login.Discover(context.Background()) }()
		synctest.Wait() // one asks, the other waits behind it
		brief, end := context.WithTimeout(t.Context(), 12*time.Second)
		defer end()
		began = time.Now()
		if err := login.Discover(brief); err == nil || time.Since(began) > 12*time.Second {
			t.Errorf("a login with 12 seconds ended after %s: %v", time.Since(began), err)
		}
		<-failed
		<-failed
	})
}

// Options that cannot work are refused, and say why.
func TestOptions(t *testing.T) {
	t.Parallel()
	user := oidclogin.Allow(oidclogin.Access{Who: "*", Role: api.RoleViewer})
	good := oidclogin.Options{Issuer: "https://idp.example", ClientID: "a", User: user}
	for want, change := range map[string]func(*oidclogin.Options){
		"":                    func(*oidclogin.Options) {},
		"is not an address":   func(o *oidclogin.Options) { o.Issuer = "idp.example" },
		"is not an address s": func(o *oidclogin.Options) { o.Issuer = "https://idp.example?tenant=1" },
		"must use https":      func(o *oidclogin.Options) { o.Issuer = "http://idp.example" },
		"must use http":       func(o *oidclogin.Options) { o.Issuer = "ftp://localhost" },
		"ClientID is missing": func(o *oidclogin.Options) { o.ClientID = "" },
		"who has access":      func(o *oidclogin.Options) { o.User = nil },
	} {
		o := good
		change(&o)
		l, err := oidclogin.New(o)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o.Issuer, err, want)
		}
		if err == nil && l.Name() != "idp.example" {
			t.Errorf("its name is %q", l.Name())
		}
	}
	p := newIDP(t)
	p.about = map[string]any{"token_endpoint": "http://idp.example/token"}
	if err := newLogin(t, p.http.URL).Discover(t.Context()); err == nil || !strings.Contains(err.Error(), "does not use https") {
		t.Errorf("an endpoint in the clear: %v", err)
	}
}

// A public client, and one whose provider takes the secret in the body.
func TestSecretIsSentAsAsked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		methods []string
		secret  string
		basic   bool
	}{
		"unsaid": {nil, "x", true}, "basic": {[]string{"client_secret_post", "client_secret_basic"}, "x", true},
		"post": {[]string{"client_secret_post"}, "x", false}, "public": {[]string{"client_secret_basic"}, "", false},
	} {
		p := newIDP(t)
		if c.methods != nil {
			p.about = map[string]any{"token_endpoint_auth_methods_supported": c.methods}
		}
		asked := make(chan *http.Request, 1)
		front := frontFunc(func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/token" {
				_ = r.ParseForm()
				asked <- r
				http.Error(w, "", http.StatusBadRequest)
			}
			return r.URL.Path == "/token"
		})
		p.front.Store(&front)
		ada := newRig(t, with(newLogin(t, p.http.URL, func(o *oidclogin.Options) { o.ClientSecret = c.secret }))).person()
		if got := ada.get("/login/begin"); got.status != http.StatusUnauthorized {
			t.Fatalf("%s: %d", name, got.status)
		}
		r := <-asked
		if _, _, basic := r.BasicAuth(); basic != c.basic || r.PostForm.Get("client_secret") != map[bool]string{false: c.secret}[c.basic] {
			t.Errorf("%s: in the header %t, in the body %q", name, basic, r.PostForm.Get("client_secret"))
		}
		if len(asked) > 0 {
			t.Errorf("%s: the code was sent again", name)
		}
	}
}
