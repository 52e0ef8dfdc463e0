package serve_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// account is a login provider whose person is always there.
type account struct {
	user   api.User
	err    error
	silent bool
	began  serve.LoginAttempt
	ended  serve.LoginAttempt
}

func (a *account) Name() string { return "Acme" }

func (a *account) Begin(_ context.Context, attempt serve.LoginAttempt) (string, error) {
	a.began = attempt
	return "https://idp.example/?state=" + attempt.State, nil
}

func (a *account) Finish(ctx context.Context, attempt serve.LoginAttempt, _ url.Values) (api.User, error) {
	if a.ended = attempt; a.silent {
		<-ctx.Done()
		return api.User{}, ctx.Err()
	}
	return a.user, a.err
}

// doors is a page that has only the login.
type doors struct {
	http.Handler
	service *serve.Service
}

func (doors) HTML(*api.Event) string { return "" }

func newDoors(s *serve.Service) (serve.Page, error) {
	d := &doors{http.NewServeMux(), s}
	mux := d.Handler.(*http.ServeMux)
	do := func(pattern string, do func(w http.ResponseWriter, r *http.Request) (string, error)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			to, err := do(w, r)
			if p, ok := errors.AsType[*api.Problem](err); ok {
				http.Error(w, p.Type+" "+p.Detail, p.Status)
				return
			}
			http.Redirect(w, r, to, http.StatusSeeOther)
		})
	}
	do("GET /begin", func(w http.ResponseWriter, r *http.Request) (string, error) { return s.BeginLogin(w, r, "/here") })
	do("GET "+serve.LoginReturn, func(w http.ResponseWriter, r *http.Request) (string, error) { return s.FinishLogin(w, r) })
	return d, nil
}

// visitor is a browser that keeps all of its cookies.
type visitor struct {
	*rig
	cookies map[string]*http.Cookie
}

func (v *visitor) get(address string) *http.Response {
	v.t.Helper()
	r := httptest.NewRequest("GET", address, nil)
	for _, c := range v.cookies {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	v.server.ServeHTTP(w, r)
	for _, c := range w.Result().Cookies() {
		if c.MaxAge < 0 {
			delete(v.cookies, c.Name)
		} else {
			v.cookies[c.Name] = c
		}
	}
	return w.Result()
}

// logIn goes to the provider and back.
func (v *visitor) logIn(base string) *http.Response {
	v.t.Helper()
	to, err := v.get(base + "/begin").Location()
	if err != nil {
		v.t.Fatal(err)
	}
	return v.get(base + serve.LoginReturn + "?state=" + to.Query().Get("state"))
}

// newVisitor opens a server whose people have accounts elsewhere.
func newVisitor(t *testing.T, a *account, change func(*serve.Options)) *visitor {
	t.Helper()
	return &visitor{newService(t, store.Memory(), t.TempDir(), func(o *fleet.Options) { o.Poll, o.TTL = 24*time.Hour, 24*time.Hour }, func(o *serve.Options) {
		o.Page, o.Login = newDoors, a
		if change != nil {
			change(o)
		}
	}), make(map[string]*http.Cookie)}
}

// The provider gets the same attempt twice, and another one for each login. Its three
// values differ, and lead back to the host that the browser has asked for.
func TestProviderAttempt(t *testing.T) {
	t.Parallel()
	a := &account{user: api.User{Name: "ada", Role: api.RoleOperator}}
	v := newVisitor(t, a, func(o *serve.Options) { o.Secure, o.Hosts = true, []string{"agents.example"} })
	if w := v.logIn("https://agents.example:8443"); w.StatusCode != http.StatusSeeOther || w.Header.Get("Location") != "/here" {
		t.Fatalf("%d to %q", w.StatusCode, w.Header.Get("Location"))
	}
	first := a.began
	if a.ended != first || first.Return != "https://agents.example:8443/login/return" {
		t.Errorf("it began with %+v and ended with %+v", first, a.ended)
	}
	v.logIn("https://agents.example")
	all := map[string]bool{}
	for _, text := range []string{first.State, first.Nonce, first.Verifier, a.began.State, a.began.Nonce, a.began.Verifier} {
		all[text] = true
		if len(text) != 43 { // PKCE wants at least that
			t.Errorf("%q has %d characters", text, len(text))
		}
	}
	if len(all) != 6 {
		t.Errorf("values are used again: %v", all)
	}
	for _, c := range v.cookies {
		for text := range all {
			if strings.Contains(c.Value, text) {
				t.Errorf("the cookie %s shows %q", c.Name, text)
			}
		}
	}
	v.get("https://agents.example/begin")
	c := v.cookies["__Host-claude-serve-attempt"]
	if c == nil || !c.Secure || !c.HttpOnly || c.Path != "/" || c.Domain != "" || c.SameSite != http.SameSiteLaxMode || c.MaxAge != 600 {
		t.Errorf("the cookie of the attempt is %v", c)
	}
}

// A login by a provider ends after its life, however often it is used: the provider may no
// longer know its user.
func TestProviderLoginEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := newVisitor(t, &account{user: api.User{Name: "ada", Role: api.RoleOperator}}, func(o *serve.Options) { o.LoginLife = time.Hour })
		v.logIn("http://localhost")
		for _, c := range []struct {
			later time.Duration
			want  int
		}{{0, http.StatusOK}, {59 * time.Minute, http.StatusOK}, {2 * time.Minute, http.StatusUnauthorized}} {
			v.age(c.later)
			if got := v.get("http://localhost/v1/server"); got.StatusCode != c.want {
				t.Errorf("%s later: %d, want %d", c.later, got.StatusCode, c.want)
			}
		}
		v.close()
	})
}

// What a provider fails with, and users that it must not name, log nobody in. A provider
// that does not answer is given up.
func TestProviderFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &account{}
		v := newVisitor(t, a, nil)
		for want, c := range map[string]account{
			"401 /problems/login-failed Acme did not confirm":   {err: fmt.Errorf("x: %w: secret", serve.ErrLoginFailed)},
			"403 /problems/login-refused Acme knows you as eve": {err: &serve.UnknownUserError{Name: "eve\x1b[31m"}},
			"502 /problems/login-provider Acme cannot be asked": {err: errors.New("secret")},
			"502 /problems/login-provider Acme cannot":          {silent: true},
			"500 /problems/internal the name or":                {user: api.User{Name: "ada\u202e", Role: api.RoleViewer}},
			"500 /problems/internal the name":                   {user: api.User{Name: "ada", Role: "root"}},
		} {
			*a = c
			began := time.Now()
			got := v.logIn("http://localhost")
			text := new(strings.Builder)
			if err := got.Write(text); err != nil {
				t.Fatal(err)
			}
			_, body, _ := strings.Cut(text.String(), "\r\n\r\n")
			if body = fmt.Sprint(got.StatusCode, " ", body); !strings.HasPrefix(body, want) || strings.Contains(body, "secret") || strings.Contains(body, "\x1b") {
				t.Errorf("%q, want %q", body, want)
			}
			if v.cookies["claude-serve"] != nil || v.cookies["claude-serve-attempt"] != nil {
				t.Errorf("%s: the browser has %v", want, v.cookies)
			}
			if took := time.Since(began); took > 15*time.Second {
				t.Errorf("%s: it took %s", want, took)
			}
		}
		v.close()
	})
}
