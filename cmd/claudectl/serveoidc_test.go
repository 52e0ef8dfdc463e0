package main

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/serve"
)

// The flags make a login whose secret comes from a file or the environment, and those that
// lack something are refused. A provider that is away does not keep the server from
// starting.
func TestServeOIDC(t *testing.T) {
	t.Parallel()
	sent := make(chan string, 1)
	var issuer *httptest.Server
	issuer = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/token" {
			_, _ = w.Write([]byte(strings.ReplaceAll(`{"issuer":"AT","authorization_endpoint":"AT/authorize","token_endpoint":"AT/token","jwks_uri":"AT/keys"}`, "AT", issuer.URL)))
			return
		}
		id, secret, _ := r.BasicAuth()
		sent <- id + " " + secret
		w.WriteHeader(http.StatusBadRequest)
	}))
	defer issuer.Close()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("of-the-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	allow := []string{"ada@example.com=admin", "@example.com=viewer"}
	for want, s := range map[string]serveOIDC{
		"agents of-the-file": {Issuer: issuer.URL, ClientID: "agents", Secret: file, Allow: allow},
		"agents of-the-env":  {Issuer: issuer.URL, ClientID: "agents", Allow: allow},
	} {
		log := new(lockedText)
		login, err := s.open(t.Context(), &console{env: []string{"CLAUDECTL_OIDC_SECRET=of-the-env"}}, slog.New(slog.NewTextHandler(log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := login.Finish(t.Context(), serve.LoginAttempt{State: "s"}, url.Values{"code": {"1"}}); err == nil {
			t.Error("a refused code logs in")
		}
		if got := <-sent; got != want || log.String() != "" {
			t.Errorf("the provider reads %q, want %q; the log is %q", got, want, log)
		}
	}

	log := new(lockedText)
	away := serveOIDC{Issuer: "http://127.0.0.1:1", ClientID: "agents", Allow: allow}
	if login, err := away.open(t.Context(), &console{}, slog.New(slog.NewTextHandler(log, nil))); err != nil || login == nil || !strings.Contains(log.String(), "does not answer") {
		t.Errorf("a provider that is away: %v, %v\n%s", login, err, log)
	}
	if login, err := new(serveOIDC).open(t.Context(), &console{}, slog.Default()); err != nil || login != nil {
		t.Errorf("without flags: %v, %v", login, err)
	}
	for want, s := range map[string]serveOIDC{
		"need --oidc-issuer":  {ClientID: "agents"},
		"needs --oidc-allow":  {Issuer: issuer.URL, ClientID: "agents"},
		"names no role":       {Issuer: issuer.URL, ClientID: "agents", Allow: []string{"*=root"}},
		"--oidc-secret":       {Issuer: issuer.URL, ClientID: "agents", Allow: allow, Secret: file + "x"},
		"must use https":      {Issuer: "http://idp.example", ClientID: "agents", Allow: allow},
		"ClientID is missing": {Issuer: issuer.URL, Allow: allow},
	} {
		if _, err := s.open(t.Context(), &console{}, slog.Default()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", s, err, want)
		}
	}
}
