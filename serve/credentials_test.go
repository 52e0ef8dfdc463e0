package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// browser makes requests without a network, with the cookies that it was given.
type browser struct {
	*rig
	address string
	cookie  string
}

// do makes a request and keeps the cookie that comes.
func (b *browser) do(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	b.t.Helper()
	req := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
	req.RemoteAddr = b.address + ":1"
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if b.cookie != "" {
		req.AddCookie(&http.Cookie{Name: "claude-serve", Value: b.cookie})
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	b.server.ServeHTTP(w, req)
	for _, c := range w.Result().Cookies() {
		b.cookie = c.Value
	}
	return w
}

// login logs in with a token.
func (b *browser) login(token string) *httptest.ResponseRecorder {
	return b.do("POST", "/v1/login", fmt.Sprintf(`{"token":%q}`, token))
}

// who is the user that the server sees, "" if it asks for a login.
func (b *browser) who(headers ...string) string {
	b.t.Helper()
	w := b.do("GET", "/v1/server", "", headers...)
	if w.Code == http.StatusUnauthorized {
		return ""
	}
	var info api.ServerInfo
	if err := json.Unmarshal(w.Body.Bytes(), &info); err != nil || w.Code != http.StatusOK {
		b.t.Errorf("status %d, %s, %v", w.Code, w.Body, err)
	}
	return info.User.Name + " " + string(info.User.Role)
}

// inBubble starts a server without a network, whose clock is that of the bubble.
func inBubble(t *testing.T, change func(*serve.Options), do func(*testing.T, *rig)) {
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		do(t, newService(t, store.Memory(), root, func(o *fleet.Options) { o.Poll = time.Hour }, change))
	})
}

// age makes credentials and answers that are kept older, as if the time had passed: a
// bubble in which a month passes has a lot to do.
func (r *rig) age(by time.Duration) {
	r.t.Helper()
	synctest.Wait() // what the server still writes is written
	for _, kind := range []string{"serve-login", "serve-token", "serve-once"} {
		for rec, err := range r.db.Scan(r.t.Context(), store.Folder{Project: "p", Kind: kind}, "") {
			var value map[string]any
			if err == nil {
				err = json.Unmarshal(rec.Value, &value)
			}
			if err != nil {
				r.t.Fatal(err)
			}
			for _, name := range []string{"created", "expires", "at"} {
				if text, ok := value[name].(string); ok {
					at, err := time.Parse(time.RFC3339Nano, text)
					if err != nil {
						r.t.Fatal(err)
					}
					value[name] = at.Add(-by)
				}
			}
			data, err := json.Marshal(value)
			if err == nil {
				_, err = store.Put(r.t.Context(), r.db, rec.Key, data, rec.Revision, store.Fence{})
			}
			if err != nil {
				r.t.Fatal(err)
			}
		}
	}
}

// A cookie has the attributes that keep it safe, lives for thirty days after its last use,
// and ends with a logout.
func TestCookieLife(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		inBubble(t, func(o *serve.Options) { o.Secure = secure }, func(t *testing.T, r *rig) {
			token, err := r.server.Service().IssueLogin(t.Context(), api.User{Name: "ada", Role: api.RoleApprover})
			if err != nil {
				t.Fatal(err)
			}
			b := &browser{rig: r, address: "127.0.0.1"}
			w := b.login("  " + token + "\n")
			cookies := w.Result().Cookies()
			if w.Code != http.StatusNoContent || len(cookies) != 1 {
				t.Fatalf("status %d, %s, cookies %v", w.Code, w.Body, cookies)
			}
			c := cookies[0]
			if c.Name != "claude-serve" || c.Path != "/" || c.Domain != "" || !c.HttpOnly || c.Secure != secure || c.SameSite != http.SameSiteLaxMode || c.MaxAge != 30*24*3600 || strings.Contains(token, c.Value) {
				t.Errorf("the cookie is %+v", c)
			}
			if got := b.who(); got != "ada approver" {
				t.Errorf("logged in as %q", got)
			}
			other := &browser{rig: r, address: "127.0.0.1"}
			if w := other.login(token); w.Code != http.StatusUnauthorized || other.cookie != "" {
				t.Errorf("a token that was used: %d %s", w.Code, w.Body)
			}
			r.age(23 * time.Hour)
			if w := b.do("GET", "/v1/server", ""); len(w.Result().Cookies()) != 0 {
				t.Errorf("renewed within a day: %v", w.Result().Cookies())
			}
			r.age(2 * time.Hour)
			if w := b.do("GET", "/v1/server", ""); len(w.Result().Cookies()) != 1 || w.Result().Cookies()[0].MaxAge != 30*24*3600 || w.Result().Cookies()[0].Value != c.Value {
				t.Errorf("not renewed after a day: %v", w.Result().Cookies())
			}
			r.age(29*24*time.Hour + 23*time.Hour)
			if got := b.who(); got != "ada approver" {
				t.Errorf("within thirty days: %q", got)
			}
			old := b.cookie
			if w := b.do("DELETE", "/v1/login", ""); w.Code != http.StatusNoContent || len(w.Result().Cookies()) != 1 || w.Result().Cookies()[0].MaxAge >= 0 || w.Result().Cookies()[0].Value != "" {
				t.Errorf("logged out: %d %v", w.Code, w.Result().Cookies())
			}
			b.cookie = old
			if got := b.who(); got != "" {
				t.Errorf("the cookie of a logout is %q", got)
			}
		})
	}
}

// A cookie that is not used for thirty days counts as none.
func TestCookieEnds(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(t *testing.T, r *rig) {
		token, err := r.server.Service().IssueLogin(t.Context(), api.User{Name: "ada", Role: api.RoleViewer})
		if err != nil {
			t.Fatal(err)
		}
		b := &browser{rig: r, address: "127.0.0.1"}
		b.login(token)
		r.age(30 * 24 * time.Hour)
		if got := b.who(); got != "" {
			t.Errorf("after thirty days: %q", got)
		}
	})
}

// A one-time token works for five minutes.
func TestLoginTokenEnds(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(t *testing.T, r *rig) {
		for wait, want := range map[time.Duration]int{5*time.Minute - time.Second: http.StatusNoContent, 5 * time.Minute: http.StatusUnauthorized} {
			token, err := serve.IssueLogin(t.Context(), r.db, "p", api.User{Name: "ada", Role: api.RoleViewer})
			if err != nil {
				t.Fatal(err)
			}
			r.age(wait)
			b := &browser{rig: r, address: "127.0.0.1"}
			if w := b.login(token); w.Code != want {
				t.Errorf("after %v: %d %s", wait, w.Code, w.Body)
			}
		}
	})
	for _, u := range []api.User{{Name: "", Role: api.RoleViewer}, {Name: "ada"}, {Name: "ada", Role: "root"}} {
		if token, err := serve.IssueLogin(t.Context(), store.Memory(), "p", u); err == nil || token != "" {
			t.Errorf("a login of %+v: %q", u, token)
		}
	}
}

// A login with a bearer token has its user and role, and ends with the token: it is not
// renewed, and is over when the token expires or is revoked.
func TestLoginOfBearerToken(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(t *testing.T, r *rig) {
		expires := time.Now().Add(48 * time.Hour)
		short, err := serve.IssueToken(t.Context(), r.db, "p", api.NewToken{Name: "short", User: "ada", Role: api.RoleOperator, Expires: &expires})
		if err != nil {
			t.Fatal(err)
		}
		long, err := serve.IssueToken(t.Context(), r.db, "p", api.NewToken{Name: "long", User: "bob", Role: api.RoleViewer})
		if err != nil {
			t.Fatal(err)
		}
		ada, bob := &browser{rig: r, address: "127.0.0.1"}, &browser{rig: r, address: "127.0.0.1"}
		if w := ada.login(short.Secret); w.Code != http.StatusNoContent || w.Result().Cookies()[0].MaxAge != 48*3600 {
			t.Errorf("%d %v", w.Code, w.Result().Cookies())
		}
		if w := bob.login(long.Secret); w.Code != http.StatusNoContent || w.Result().Cookies()[0].MaxAge != 30*24*3600 {
			t.Errorf("%d %v", w.Code, w.Result().Cookies())
		}
		if got := ada.who() + ", " + bob.who(); got != "ada operator, bob viewer" {
			t.Errorf("logged in as %q", got)
		}
		r.age(48*time.Hour - time.Second)
		if w := ada.do("GET", "/v1/server", ""); w.Code != http.StatusOK || len(w.Result().Cookies()) != 0 {
			t.Errorf("just before its end: %d %v", w.Code, w.Result().Cookies())
		}
		bearer := []string{"Authorization", "Bearer " + short.Secret}
		none := &browser{rig: r, address: "127.0.0.1"}
		if got := none.who(bearer...); got != "ada operator" {
			t.Errorf("the token itself: %q", got)
		}
		r.age(time.Second)
		if got := ada.who() + none.who(bearer...); got != "" {
			t.Errorf("after the end of the token: %q", got)
		}
		admin := &browser{rig: r, address: "127.0.0.1"}
		if w := admin.do("DELETE", "/v1/tokens/"+long.ID, "", "Authorization", "Bearer "+r.token("root", api.RoleAdmin)); w.Code != http.StatusNoContent {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		if got := bob.who() + none.who("Authorization", "Bearer "+long.Secret); got != "" {
			t.Errorf("after the token was revoked: %q", got)
		}
	})
}

// A credential works only where it belongs, and only as it was made.
func TestCredentialsInOtherPlaces(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(t *testing.T, r *rig) {
		login, err := r.server.Service().IssueLogin(t.Context(), api.User{Name: "ada", Role: api.RoleAdmin})
		if err != nil {
			t.Fatal(err)
		}
		bearer := r.token("ada", api.RoleAdmin)
		b := &browser{rig: r, address: "127.0.0.1"}
		b.login(bearer)
		cookie := b.cookie
		if got := b.who(); got != "ada admin" {
			t.Fatalf("logged in as %q", got)
		}
		other := r.token("eve", api.RoleViewer)
		_, secret, _ := strings.Cut(bearer, ".")
		owner, _, _ := strings.Cut(other, ".")
		for name, header := range map[string]string{
			"a cookie": "Bearer " + cookie, "a login": "Bearer " + login, "no scheme": bearer, "another scheme": "Basic " + bearer, "lower case": "bearer " + bearer,
			"no secret": "Bearer " + strings.TrimSuffix(bearer, secret), "the secret of another": "Bearer " + owner + "." + secret, "nothing": "Bearer ",
			"more": "Bearer " + bearer + "x", "less": "Bearer " + bearer[:len(bearer)-1], "no point": "Bearer " + strings.ReplaceAll(bearer, ".", ""),
		} {
			none := &browser{rig: r, address: "127.0.0.1"}
			w := none.do("GET", "/v1/server", "", "Authorization", header)
			if w.Code != http.StatusUnauthorized || !strings.HasPrefix(w.Header().Get("WWW-Authenticate"), "Bearer") || w.Header().Get("Content-Type") != "application/problem+json" {
				t.Errorf("%s: %d %v", name, w.Code, w.Header())
			}
		}
		for name, value := range map[string]string{"a bearer token": bearer, "a login": login, "the secret of another": "ccs_" + strings.TrimPrefix(owner, "cct_") + "." + secret} {
			b := &browser{rig: r, address: "127.0.0.1", cookie: value}
			if got := b.who(); got != "" {
				t.Errorf("%s in a cookie: %q", name, got)
			}
		}
		if w := (&browser{rig: r, address: "127.0.0.1"}).login(cookie); w.Code != http.StatusUnauthorized {
			t.Errorf("a login with a cookie: %d", w.Code)
		}
		if got := b.who("Authorization", "Bearer wrong"); got != "" {
			t.Errorf("a wrong token beside a cookie: %q", got)
		}
		if got := (&browser{rig: r, address: "127.0.0.1"}).login(login).Code; got != http.StatusNoContent {
			t.Errorf("the login was used up by those who could not use it: %d", got)
		}
	})
}

// Ten logins of an address may fail in a minute. Then it must wait to try others, but a
// token that works is accepted at any time.
func TestFailedLogins(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(t *testing.T, r *rig) {
		bearer := r.token("ada", api.RoleViewer)
		eve := &browser{rig: r, address: "127.0.0.1"}
		guess := func(n int) *httptest.ResponseRecorder { return eve.login(fmt.Sprintf("ccl_%016x.wrong", n)) }
		for n := range 10 {
			if w := guess(n); w.Code != http.StatusUnauthorized {
				t.Errorf("attempt %d: %d", n, w.Code)
			}
			<-time.After(time.Second)
		}
		if w := guess(10); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "60" || eve.cookie != "" {
			t.Errorf("after ten: %d %v", w.Code, w.Header())
		}
		if w := eve.login(bearer); w.Code != http.StatusNoContent {
			t.Errorf("with a token that works: %d", w.Code)
		}
		<-time.After(2 * time.Minute)
		if w := guess(11); w.Code != http.StatusUnauthorized {
			t.Errorf("after a minute: %d", w.Code)
		}
	})
}

// A token needs a name, a role and a user. If no user is named, it is the one who makes
// it.
func TestNewTokens(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(t *testing.T, r *rig) {
		b := &browser{rig: r, address: "127.0.0.1"}
		admin := []string{"Authorization", "Bearer " + r.token("root", api.RoleAdmin)}
		for body, want := range map[string]int{
			`{"role":"viewer"}`:            http.StatusBadRequest,
			`{"name":"","role":"viewer"}`:  http.StatusBadRequest,
			`{"name":"x","role":"root"}`:   http.StatusBadRequest,
			`{"name":"x"}`:                 http.StatusBadRequest,
			`{"name":"x","role":"viewer"}`: http.StatusCreated,
			`{"name":"` + strings.Repeat("x", 200) + `","role":"viewer"}`: http.StatusCreated,
			`{"name":"` + strings.Repeat("x", 201) + `","role":"viewer"}`: http.StatusBadRequest,
		} {
			if w := b.do("POST", "/v1/tokens", body, admin...); w.Code != want {
				t.Errorf("%.60s: %d %s", body, w.Code, w.Body)
			}
		}
		w := b.do("POST", "/v1/tokens", `{"name":"ci","user":"bot","role":"approver"}`, admin...)
		var made api.CreatedToken
		if err := json.Unmarshal(w.Body.Bytes(), &made); err != nil || made.User != "bot" || made.By != "root" || made.Role != api.RoleApprover || made.Name != "ci" {
			t.Fatalf("%s, %v", w.Body, err)
		}
		if cached := w.Header().Get("Cache-Control"); cached != "no-store" {
			t.Errorf("a secret may be cached: %q", cached)
		}
		if got := b.who("Authorization", "Bearer "+made.Secret); got != "bot approver" {
			t.Errorf("the token is of %q", got)
		}
		if w := b.do("POST", "/v1/tokens", `{"name":"ci","role":"viewer"}`, append(admin, "Idempotency-Key", "k")...); w.Code != http.StatusBadRequest {
			t.Errorf("with an Idempotency-Key: %d", w.Code)
		}
		w = b.do("GET", "/v1/tokens", "", admin...)
		var list api.List[api.TokenInfo]
		if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || len(list.Items) != 4 || strings.Contains(w.Body.String(), made.Secret) {
			t.Errorf("%d tokens: %s, %v", len(list.Items), w.Body, err)
		}
		for _, c := range list.Items {
			if c.Name == "x" && (c.User != "root" || c.By != "root") {
				t.Errorf("%+v", c)
			}
		}
		if w := b.do("DELETE", "/v1/tokens/none", "", admin...); w.Code != http.StatusNotFound {
			t.Errorf("a token that is not there: %d", w.Code)
		}
	})
}

// An Idempotency-Key belongs to a user and to one request, for a day. While the request
// runs, another with the key must wait; one that was abandoned runs again.
func TestIdempotencyKeys(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(t *testing.T, r *rig) {
		b := &browser{rig: r, address: "127.0.0.1"}
		create := func(user, key, title string) *httptest.ResponseRecorder {
			return b.do("POST", "/v1/conversations", `{"preset":"shop","title":"`+title+`"}`, "Authorization", "Bearer "+r.token(user, api.RoleOperator), "Idempotency-Key", key)
		}
		first := create("ada", "k", "one")
		if first.Code != http.StatusCreated || first.Header().Get("Idempotency-Replayed") != "" {
			t.Fatalf("%d %s", first.Code, first.Body)
		}
		again := create("ada", "k", "one")
		if again.Code != http.StatusCreated || again.Body.String() != first.Body.String() || again.Header().Get("Idempotency-Replayed") != "true" ||
			again.Header().Get("Location") != first.Header().Get("Location") || again.Header().Get("ETag") != first.Header().Get("ETag") || again.Header().Get("Content-Type") != first.Header().Get("Content-Type") {
			t.Errorf("repeated: %d %v %s", again.Code, again.Header(), again.Body)
		}
		if w := create("bob", "k", "two"); w.Code != http.StatusCreated || w.Header().Get("Idempotency-Replayed") != "" {
			t.Errorf("of another user: %d %s", w.Code, w.Body)
		}
		if w := create("ada", "k", "three"); w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), "/problems/key-reused") {
			t.Errorf("for another request: %d %s", w.Code, w.Body)
		}
		other := create("ada", "", "two")
		for i, w := range []*httptest.ResponseRecorder{first, other} { // the same route and the same body, but not the same conversation
			w := b.do("POST", w.Header().Get("Location")+"/prompts", `{"content":"hello"}`, "Authorization", "Bearer "+r.token("ada", api.RoleOperator), "Idempotency-Key", "said")
			if want := []int{http.StatusAccepted, http.StatusUnprocessableEntity}[i]; w.Code != want {
				t.Errorf("a key for conversation %d: %d %s, want %d", i, w.Code, w.Body, want)
			}
		}
		if w := create("ada", strings.Repeat("k", 255), "long"); w.Code != http.StatusCreated {
			t.Errorf("255 bytes: %d", w.Code)
		}
		if w := create("ada", strings.Repeat("k", 256), "longer"); w.Code != http.StatusBadRequest {
			t.Errorf("256 bytes: %d", w.Code)
		}
		if w := create("ada", "refused", strings.Repeat("x", 201)); w.Code != http.StatusBadRequest {
			t.Fatalf("%d", w.Code)
		}
		if w := create("ada", "refused", "mended"); w.Code != http.StatusCreated {
			t.Errorf("the key of a request that was refused: %d %s", w.Code, w.Body)
		}
		unanswered(t, r.db)
		if w := create("ada", "k", "one"); w.Code != http.StatusConflict || w.Header().Get("Retry-After") != "1" {
			t.Errorf("while it is worked on: %d %s", w.Code, w.Body)
		}
		r.age(time.Minute)
		late := create("ada", "k", "one")
		if late.Code != http.StatusCreated || late.Header().Get("Location") != first.Header().Get("Location") || late.Header().Get("Idempotency-Replayed") != "" {
			t.Errorf("given up: %d %v %s", late.Code, late.Header(), late.Body)
		}
		r.age(24*time.Hour - time.Second)
		if w := create("ada", "k", "three"); w.Code != http.StatusUnprocessableEntity {
			t.Errorf("within a day: %d", w.Code)
		}
		r.age(3 * time.Hour)
		if w := create("ada", "k", "three"); w.Code != http.StatusCreated {
			t.Errorf("after a day: %d %s", w.Code, w.Body)
		}
	})
}

// unanswered makes all kept answers look like requests that are still running.
func unanswered(t *testing.T, db store.Records) {
	t.Helper()
	synctest.Wait()
	for r, err := range db.Scan(t.Context(), store.Folder{Project: "p", Kind: "serve-once"}, "") {
		var value map[string]any
		if err == nil {
			err = json.Unmarshal(r.Value, &value)
		}
		delete(value, "status")
		delete(value, "body")
		data, err2 := json.Marshal(value)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		if _, err := store.Put(t.Context(), db, r.Key, data, r.Revision, store.Fence{}); err != nil {
			t.Fatal(err)
		}
	}
}

// faster is a store in which another request has just used a login: removing the login
// fails with err.
type faster struct {
	store.Fleet
	err error
}

func (f faster) Change(ctx context.Context, fence store.Fence, c ...store.RecordChange) ([]int64, error) {
	if c[0].Drop && c[0].Key.Kind == "serve-login" {
		return nil, f.err
	}
	return f.Fleet.Change(ctx, fence, c...)
}

// A one-time token that cannot be used up does not log in: of two concurrent uses, one
// succeeds.
func TestLoginUsedAtOnce(t *testing.T) {
	t.Parallel()
	for err, status := range map[error]int{
		store.ErrConflict: http.StatusUnauthorized, store.ErrNotFound: http.StatusUnauthorized,
		errors.New("the store does not answer"): http.StatusInternalServerError,
	} {
		r := newRig(t, faster{store.Memory(), err}, nil)
		token, failed := r.server.Service().IssueLogin(t.Context(), api.User{Name: "ada", Role: api.RoleAdmin})
		if failed != nil {
			t.Fatal(failed)
		}
		b := &browser{rig: r, address: "127.0.0.1"}
		if w := b.login(token); w.Code != status || b.cookie != "" || b.who() != "" {
			t.Errorf("%v: %d %s, cookie %q", err, w.Code, w.Body, b.cookie)
		}
	}
}
