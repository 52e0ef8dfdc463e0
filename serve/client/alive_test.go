package client_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/client"
)

// A server is asked once, without a token, and only its own answer says that it lives.
func TestAlive(t *testing.T) {
	t.Parallel()
	for status, alive := range map[int]bool{http.StatusNoContent: true, http.StatusOK: false, http.StatusFound: false, http.StatusServiceUnavailable: false} {
		asked := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if asked++; r.Method+" "+r.URL.Path != "GET /healthz" || r.Header.Get("Authorization") != "" {
				t.Errorf("%s %s with %q", r.Method, r.URL, r.Header.Get("Authorization"))
			}
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
		}))
		err := client.Alive(t.Context(), client.Options{URL: server.URL, Token: secret})
		problem, refused := errors.AsType[*api.Problem](err)
		if (err == nil) != alive || refused == alive || refused && problem.Status != status || asked != 1 {
			t.Errorf("%d, asked %d times: %v", status, asked, err)
		}
		server.Close()
		if err := client.Alive(t.Context(), client.Options{URL: server.URL}); err == nil {
			t.Error("a server that is gone lives")
		}
	}
	if err := client.Alive(t.Context(), client.Options{URL: "agents.example"}); err == nil {
		t.Error("what is not an address lives")
	}
}
