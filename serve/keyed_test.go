package serve_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/claude-agent-go/claude/serve/api"
)

// keyedRoutes are the routes that take an Idempotency-Key, with two bodies of different
// requests and the status of the first answer, written by hand.
var keyedRoutes = map[string]struct {
	body, other string
	status      int
	// refused is set if the request does nothing here: an answer like that is not kept.
	refused bool
}{
	"POST /v1/conversations":                {`{"preset":"shop"}`, `{"preset":"shop","title":"other"}`, http.StatusCreated, false},
	"POST /v1/conversations/{id}/prompts":   {`{"content":"hi"}`, `{"content":"ho"}`, http.StatusAccepted, false},
	"POST /v1/conversations/{id}/retry":     {"", "", http.StatusAccepted, false},
	"POST /v1/conversations/{id}/interrupt": {"", "", http.StatusConflict, true},
	"POST /v1/conversations/{id}/release":   {"", "", http.StatusConflict, true},
	"POST /v1/conversations/{id}/rewind":    {`{"message":"00000000-0000-4000-8000-000000000000"}`, `{"message":"00000000-0000-4000-8000-000000000001"}`, http.StatusNotImplemented, true},
	"POST /v1/approvals/{id}/decision":      {`{"decision":"deny","digest":"DIGEST"}`, `{"decision":"allow","digest":"DIGEST"}`, http.StatusOK, false},
}

// On every route that takes an Idempotency-Key, the answer is repeated, even by a server
// that was started again; the key is refused for another body, and means nothing for
// another user. A refusal is not kept, and a request whose body does not arrive whole
// leaves its key free.
func TestKeyOfEveryRoute(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(t *testing.T, r *rig) {
		r.agent.hold = make(chan struct{})
		defer close(r.agent.hold)
		for path, methods := range openAPIOf(t, r).Paths {
			for method, op := range methods {
				keyed := slices.ContainsFunc(op.Parameters, func(p struct{ Name string }) bool { return p.Name == "Idempotency-Key" })
				if _, known := keyedRoutes[strings.ToUpper(method)+" "+path]; keyed != known {
					t.Errorf("%s %s takes a key: %v, and is in the table: %v", method, path, keyed, known)
				}
			}
		}
		ada, bob := r.as("ada", api.RoleOperator), r.as("bob", api.RoleOperator)
		for name, k := range keyedRoutes {
			method, path, _ := strings.Cut(name, " ")
			begin := api.NewConversation{Preset: "shop", Shared: true}
			if strings.HasSuffix(path, "/retry") {
				begin.Content = api.Text("hello")
			}
			c, err := r.server.Service().Create(t.Context(), operator, begin)
			if err != nil {
				t.Fatal(err)
			}
			id, digest := c.ID, ""
			if strings.Contains(path, "/approvals/") {
				if id, err = r.ask(c.ID); err != nil {
					t.Fatal(err)
				}
				a, err := r.server.Service().Approval(t.Context(), operator, id)
				if err != nil {
					t.Fatal(err)
				}
				digest = a.Digest
			}
			at, key := strings.Replace(path, "{id}", id, 1), "key of "+name
			send := func(c *client, body string) *httptest.ResponseRecorder {
				return c.directly(method, at, strings.Replace(body, "DIGEST", digest, 1), "Idempotency-Key", key)
			}
			if k.body != "" {
				cut := httptest.NewRequest(method, "http://localhost"+at, iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(k.body))))
				cut.Header.Set("Content-Type", "application/json")
				cut.Header.Set("Authorization", "Bearer "+ada.token)
				cut.Header.Set("Idempotency-Key", key)
				w := httptest.NewRecorder()
				if r.server.ServeHTTP(w, cut); w.Code != http.StatusBadRequest {
					t.Errorf("%s, cut off: %d %s", name, w.Code, w.Body)
				}
			}
			first := send(ada, k.body)
			if first.Code != k.status || first.Header().Get("Idempotency-Replayed") != "" {
				t.Errorf("%s: %d %s, want %d", name, first.Code, first.Body, k.status)
				continue
			}
			r.onto(r.fleet) // which starts the server again
			again := send(ada, k.body)
			if again.Code != k.status || again.Body.String() != first.Body.String() || (again.Header().Get("Idempotency-Replayed") == "true") == k.refused || again.Header().Get("Location") != first.Header().Get("Location") {
				t.Errorf("%s, again: %d %v %s\nwant %d %s", name, again.Code, again.Header(), again.Body, first.Code, first.Body)
			}
			if w := send(ada, k.other); k.other != "" && !k.refused && (w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), "/problems/key-reused")) {
				t.Errorf("%s with another body: %d %s", name, w.Code, w.Body)
			}
			if w := send(bob, k.body); w.Header().Get("Idempotency-Replayed") != "" || w.Code == http.StatusUnprocessableEntity {
				t.Errorf("%s of another user: %d %s", name, w.Code, w.Body)
			}
		}
	})
}
