package serve_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

type tracedKey struct{}

// routedPage is a page that knows its routes.
type routedPage struct{ serve.Page }

func (routedPage) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusTeapot)
}
func (routedPage) Route(*http.Request) string { return "GET /c/{id}" }

// A request is followed from its beginning to its end, whatever its end is, and
// is served with the context of the trace.
func TestTrace(t *testing.T) {
	t.Parallel()
	ended := make(chan string, 100)
	r := newRig(t, store.Memory(), func(o *serve.Options) {
		o.Trace = func(r *http.Request, route string) (context.Context, func(int)) {
			return context.WithValue(r.Context(), tracedKey{}, route), func(status int) { ended <- fmt.Sprintf("%s: %d", route, status) }
		}
		o.Authenticate = func(r *http.Request) (api.User, bool) {
			route, _ := r.Context().Value(tracedKey{}).(string)
			if r.Header.Get("X-Panic") != "" {
				panic(http.ErrAbortHandler)
			}
			return api.User{Name: "ada", Role: api.RoleOperator}, route != ""
		}
		o.Page = func(*serve.Service) (serve.Page, error) { return routedPage{}, nil }
	})
	nobody := &client{rig: r}
	next := func(want string) {
		t.Helper()
		select {
		case got := <-ended:
			if got != want {
				t.Errorf("%s, want %s", got, want)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s has no end", want)
		}
	}
	c := nobody.begin("hello")
	next("POST /v1/conversations: 201")
	nobody.do("POST", "/v1/conversations/"+c.ID+"/prompts", map[string]string{"content": ""})
	next("POST /v1/conversations/{id}/prompts: 400")
	nobody.do("DELETE", "/v1/tokens/x", nil)
	next("DELETE /v1/tokens/{id}: 403")
	nobody.do("GET", "/v1/nothing", nil)
	next("/v1/: 404")
	nobody.do("GET", "/c/"+c.ID, nil)
	next("GET /c/{id}: 418")
	nobody.do("GET", "/healthz", nil)
	next("GET /healthz: 204")
	nobody.do("GET", "/v1/server", nil, "Host", "elsewhere.example")
	next("GET /v1/server: 421")
	nobody.follow("/v1/conversations/"+c.ID+"/events", func(sse) bool { return true })
	next("GET /v1/conversations/{id}/events: 200")
	once := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // on a new connection, so that it is not repeated
	if res, err := once.Do(nobody.request("GET", "/v1/server", nil, "X-Panic", "1")); err == nil {
		res.Body.Close()
		t.Error("a panic has an answer")
	}
	next("GET /v1/server: 0")
}
