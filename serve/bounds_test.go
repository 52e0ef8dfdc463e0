package serve_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
)

// bodyBounds is how many bytes of a body each route reads, written by hand: prompts may
// have pictures.
var bodyBounds = map[string]int{
	"POST /v1/conversations": 20 << 20, "POST /v1/conversations/{id}/prompts": 20 << 20, "POST /ag-ui/{preset}": 20 << 20,
	"POST /v1/login": 1 << 20, "POST /v1/tokens": 1 << 20, "PATCH /v1/conversations/{id}": 1 << 20, "POST /v1/conversations/{id}/read": 1 << 20,
	"POST /v1/conversations/{id}/rewind": 1 << 20, "POST /v1/approvals/{id}/decision": 1 << 20,
}

// Every route reads a body up to its bound, and refuses one more byte.
func TestBoundsOfBodies(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(t *testing.T, r *rig) {
		admin := r.as("root", api.RoleAdmin)
		body := strings.Repeat(" ", 20<<20) + "[]" // of which each takes the end
		for path, methods := range openAPIOf(t, r).Paths {
			for method, op := range methods {
				name := strings.ToUpper(method) + " " + path
				bound, known := bodyBounds[name]
				if known != (op.RequestBody != nil) {
					t.Errorf("%s has a body: %v, and is in the table: %v", name, op.RequestBody != nil, known)
				}
				if !known {
					continue
				}
				verb, where := routeOf(name)
				if w := admin.directly(verb, where, body[len(body)-bound:]); w.Code != http.StatusBadRequest {
					t.Errorf("%s with %d bytes: %d %s", name, bound, w.Code, w.Body)
				}
				if w := admin.directly(verb, where, body[len(body)-bound-1:]); w.Code != http.StatusRequestEntityTooLarge {
					t.Errorf("%s with %d bytes: %d %s", name, bound+1, w.Code, w.Body)
				}
			}
		}
	})
}

// A user has as many streams as the options allow, over all that are streams: the feed,
// conversations, runs of AG-UI and editors. One that ends makes room, and other users
// have their own.
func TestBoundOfStreams(t *testing.T) {
	t.Parallel()
	inBubble(t, func(o *serve.Options) { o.StreamsPerUser = 2 }, func(t *testing.T, r *rig) {
		r.agent.hold = make(chan struct{})
		own, err := r.server.Service().Create(t.Context(), operator, api.NewConversation{Preset: "shop"})
		if err != nil {
			t.Fatal(err)
		}
		ada, bob := r.as("ada", api.RoleOperator), r.as("bob", api.RoleOperator)
		run := `{"threadId":"t","runId":"r","messages":[{"id":"1","role":"user","content":"hello"}],"tools":[],"context":[],"state":{},"forwardedProps":{}}`
		ended := make(chan struct{}, 2)
		for _, open := range []func(){
			func() { ada.directly("POST", "/ag-ui/shop", run) },
			func() { ada.directly("GET", "/v1/conversations/"+own.ID+"/events", "") },
		} {
			go func() { open(); ended <- struct{}{} }()
			synctest.Wait()
		}
		full := func(c *client) (all []bool) {
			for _, w := range []*httptest.ResponseRecorder{c.directly("POST", "/ag-ui/shop", strings.Replace(run, `"t"`, `"u"`, 1)), c.directly("GET", "/acp", "")} {
				all = append(all, w.Code == http.StatusTooManyRequests && strings.Contains(w.Body.String(), "/problems/limited"))
			}
			return all
		}
		if got := full(ada); !got[0] || !got[1] {
			t.Errorf("a third stream is refused: %v", got)
		}
		for _, path := range []string{"/v1/feed", "/v1/conversations/" + own.ID + "/events"} {
			if w := ada.directly("GET", path, ""); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "event: bye\n") || !strings.Contains(w.Body.String(), "retry: 15000\n") || strings.Contains(w.Body.String(), "event: synced") {
				t.Errorf("%s: %d %s", path, w.Code, w.Body)
			}
		}
		if w := bob.directly("GET", "/acp", ""); w.Code != http.StatusUpgradeRequired {
			t.Errorf("an editor of another user: %d %s", w.Code, w.Body)
		}
		close(r.agent.hold) // the run ends, and its stream with it
		<-ended
		if w := ada.directly("GET", "/acp", ""); w.Code != http.StatusUpgradeRequired {
			t.Errorf("an editor after a run has ended: %d %s", w.Code, w.Body)
		}
		_ = r.server.Close()
		<-ended
	})
}
