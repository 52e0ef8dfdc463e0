package oidclogin_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/oidclogin"
	"github.com/claude-agent-go/claude/serve/page"
	"github.com/claude-agent-go/claude/store"
)

// rig is a server with the page, and a provider with which people log in to it.
type rig struct {
	t      *testing.T
	server *serve.Server
	http   *httptest.Server
}

// newRig starts a server whose people have accounts at a provider, which may need to know
// the address of the server.
func newRig(t *testing.T, login func(base string) serve.LoginProvider, change ...func(*serve.Options)) *rig {
	t.Helper()
	r := &rig{t: t}
	r.http = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { r.server.ServeHTTP(w, q) }))
	db, quiet := store.Memory(), slog.New(slog.DiscardHandler)
	presets := []serve.Preset{{Name: "shop", Roots: []string{t.TempDir()}, Options: &claude.Options{Transport: claudetest.New(claudetest.Say("Hello!")), Logger: quiet}}}
	sessions, err := serve.Sessions(db, "p", presets, nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := fleet.Open(t.Context(), fleet.Options{Store: db, Project: "p", Journal: t.TempDir(), Logger: quiet, Session: sessions, Gate: &approval.Options{}})
	if err != nil {
		t.Fatal(err)
	}
	o := serve.Options{Records: db, Project: "p", Presets: presets, Page: page.New, Login: login(r.http.URL), Logger: quiet}
	for _, c := range change {
		c(&o)
	}
	if r.server, err = serve.New(f, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = r.server.Close()
		r.http.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = f.Close(ctx)
	})
	return r
}

// newLogin makes a login with a provider, for ada and bob.
func newLogin(t *testing.T, issuer string, change ...func(*oidclogin.Options)) *oidclogin.Login {
	t.Helper()
	o := oidclogin.Options{
		Issuer: issuer, ClientID: clientID, ClientSecret: clientSecret, Name: "Acme",
		User: oidclogin.Allow(oidclogin.Access{Who: "ada@example.com", Role: api.RoleOperator}, oidclogin.Access{Who: "sub:bob", Role: api.RoleViewer}),
	}
	for _, c := range change {
		c(&o)
	}
	login, err := oidclogin.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return login
}

// with is for a provider that need not know the server.
func with(l serve.LoginProvider) func(string) serve.LoginProvider {
	return func(string) serve.LoginProvider { return l }
}

// person is a browser without a script.
type person struct {
	*rig
	client *http.Client
}

func (r *rig) person() *person {
	r.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return &person{r, &http.Client{Jar: jar}}
}

// still returns the same browser, which shows where it is sent instead of going there.
func (p *person) still() *person {
	own := *p.client
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &person{p.rig, &own}
}

// seen is what a browser shows.
type seen struct {
	status   int
	at       string // the address, with everything
	location string
	body     string
}

// get loads a page; a path is one of the server.
func (p *person) get(address string) seen {
	p.t.Helper()
	if strings.HasPrefix(address, "/") {
		address = p.http.URL + address
	}
	reply, err := p.client.Get(address)
	if err != nil {
		p.t.Fatal(err)
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return seen{reply.StatusCode, reply.Request.URL.String(), reply.Header.Get("Location"), string(body)}
}

// who is the user whom the page greets, empty without a login.
func (p *person) who() string {
	p.t.Helper()
	_, rest, _ := strings.Cut(p.get("/new").body, `data-user="`)
	name, _, _ := strings.Cut(rest, `"`)
	return name
}

// toProvider begins a login, and returns the address at the server to which the provider
// sends the browser back, before it goes there.
func (p *person) toProvider(to string) string {
	p.t.Helper()
	began := p.still().get("/login/begin?to=" + to)
	if began.status != http.StatusSeeOther {
		p.t.Fatalf("the login begins with %d:\n%s", began.status, began.body)
	}
	return p.still().get(began.location).location
}
