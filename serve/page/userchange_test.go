package page_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/serve/api"
)

// Another user's login link does not change the user of a browser unless the
// person there agrees; until then it can still be used.
func TestOtherUserIsAskedFor(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.client(ada)
	bob := api.User{Name: "bob", Role: api.RoleOperator}
	token, err := r.server.Service().IssueLogin(t.Context(), bob)
	if err != nil {
		t.Fatal(err)
	}
	who := func() string {
		t.Helper()
		_, body := get(t, c, r.http.URL+"/new")
		_, rest, _ := strings.Cut(body, `data-user="`)
		name, _, _ := strings.Cut(rest, `"`)
		return name
	}
	status, body := post(t, c, r.http.URL+"/login", url.Values{"token": {token}, "to": {"/cost"}})
	if status != http.StatusOK || who() != "ada" || !strings.Contains(body, "logged in as <b>ada</b>") || !strings.Contains(body, "Log in as bob") {
		t.Fatalf("%d, the user is %s: %s", status, who(), body)
	}
	if status, _ := post(t, c, r.http.URL+"/login", url.Values{"token": {token}, "to": {"/cost"}, "sure": {"1"}}); status != http.StatusOK || who() != "bob" {
		t.Errorf("%d, the user is %s", status, who())
	}
	again, err := r.server.Service().IssueLogin(t.Context(), bob)
	if err != nil {
		t.Fatal(err)
	}
	if _, body := post(t, c, r.http.URL+"/login", url.Values{"token": {again}, "to": {"/cost"}}); who() != "bob" || strings.Contains(body, "Change the user") {
		t.Error("the same user is asked")
	}
	if status, _ := post(t, c, r.http.URL+"/login", url.Values{"token": {"wrong"}}); status != http.StatusUnauthorized || who() != "bob" {
		t.Errorf("a wrong token: %d, the user is %s", status, who())
	}
}

// Forms lead nowhere else, however the address is written.
func TestFormsStayHere(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, to := range []string{"//evil.example", "/%2fevil.example", "/%2Fevil.example/x", "/%5cevil.example", "/\\evil.example", "https://evil.example", "/%0d%0aSet-Cookie:x", "/%09/evil.example"} {
		token, err := r.server.Service().IssueLogin(t.Context(), ada)
		if err != nil {
			t.Fatal(err)
		}
		c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		reply, err := c.PostForm(r.http.URL+"/login", url.Values{"token": {token}, "to": {to}})
		if err != nil {
			t.Fatal(err)
		}
		reply.Body.Close()
		if got := reply.Header.Get("Location"); got != "/" {
			t.Errorf("%q leads to %q", to, got)
		}
	}
}
