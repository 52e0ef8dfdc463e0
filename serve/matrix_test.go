package serve_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
)

// maySee is who may see a conversation, by whose it is, written by hand as mayCall is.
var maySee = map[string]string{"own": "vaoA", "other": "A", "shared": "vaoA"}

// matrixBodies are the bodies of the routes that need one.
var matrixBodies = map[string]string{
	"PATCH /v1/conversations/{id}":        `{"title":"x"}`,
	"POST /v1/conversations/{id}/read":    `{}`,
	"POST /v1/conversations/{id}/prompts": `{"content":"hi"}`,
	"POST /v1/conversations/{id}/rewind":  `{"message":"00000000-0000-4000-8000-000000000000"}`,
}

// Every role calls every route of a conversation, or of a question in it, that is the
// user's own, another's, or shared by another. A role that is too low is refused before
// the server looks for the conversation; one that another user has not shared does not
// exist.
func TestRolesOnConversations(t *testing.T) {
	t.Parallel()
	roles := map[string]api.Role{"v": api.RoleViewer, "a": api.RoleApprover, "o": api.RoleOperator, "A": api.RoleAdmin}
	patches := func(o *serve.Options) {
		o.FolderPatch = func(context.Context, string) ([]byte, error) { return []byte("diff --git a/a b/a\n"), nil }
	}
	inBubble(t, patches, func(t *testing.T, r *rig) {
		r.agent.hold = make(chan struct{})
		defer close(r.agent.hold)
		for name, who := range mayCall {
			method, path, _ := strings.Cut(name, " ")
			if !strings.Contains(path, "/conversations/{id}") && !strings.Contains(path, "/approvals/{id}") {
				continue
			}
			for whose, seers := range maySee {
				for caller, role := range roles {
					want := "allowed"
					switch {
					case !strings.Contains(who, caller):
						want = "forbidden"
					case !strings.Contains(seers, caller):
						want = "not found"
					case name == "DELETE /v1/conversations/{id}" && whose == "shared" && caller == "o":
						want = "forbidden" // only its owner deletes it, or an admin
					}
					w := r.callAs(method, path, whose, role)
					got := "allowed"
					switch {
					case w.Code == http.StatusForbidden:
						got = "forbidden"
					case w.Code == http.StatusNotFound:
						got = "not found"
					case w.Code == http.StatusUnauthorized || w.Code == http.StatusBadRequest || w.Code >= 500 && w.Code != http.StatusNotImplemented:
						got = "odd"
					}
					if got != want {
						t.Errorf("%s of %s as %s: %s, want %s: %d %.200s", name, whose, role, got, want, w.Code, w.Body)
					}
				}
			}
		}
	})
}

// callAs calls a route as ada in a role, for a conversation that is new.
func (r *rig) callAs(method, path, whose string, role api.Role) *httptest.ResponseRecorder {
	r.t.Helper()
	owner := operator
	if whose != "own" {
		owner.Name = "bob"
	}
	begin := api.NewConversation{Preset: "shop", Shared: whose == "shared"}
	if strings.Contains(path, "{prompt}") || strings.HasSuffix(path, "/retry") {
		begin.Content = api.Text("hello")
	}
	c, err := r.server.Service().Create(r.t.Context(), owner, begin)
	if err != nil {
		r.t.Fatal(err)
	}
	body, id, prompt := matrixBodies[method+" "+path], c.ID, uuid.New()
	if begin.Content != nil {
		all, err := r.server.Service().Prompts(r.t.Context(), owner, id)
		if err != nil || len(all) != 1 {
			r.t.Fatal(len(all), err)
		}
		prompt = all[0].ID
	}
	if strings.Contains(path, "/approvals/") {
		if id, err = r.ask(c.ID); err != nil {
			r.t.Fatal(err)
		}
		if strings.HasSuffix(path, "/decision") {
			a, err := r.server.Service().Approval(r.t.Context(), owner, id)
			if err != nil {
				r.t.Fatal(err)
			}
			body = `{"decision":"deny","digest":"` + a.Digest + `"}`
		}
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), 15*time.Second) // for streams
	defer cancel()
	req := httptest.NewRequestWithContext(ctx, method, "http://localhost"+strings.NewReplacer("{id}", id, "{prompt}", prompt).Replace(path), strings.NewReader(body))
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Authorization", "Bearer "+r.token("ada", role))
	w := httptest.NewRecorder()
	r.server.ServeHTTP(w, req)
	return w
}

// AG-UI and editors ask for the same roles. A thread with the name of another's
// conversation is a new one of the user's own.
func TestRolesOfAgentsAndEditors(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(t *testing.T, r *rig) {
		callers := map[string]*client{
			"-": {rig: r}, "v": r.as("ada", api.RoleViewer), "a": r.as("ada", api.RoleApprover), "o": r.as("ada", api.RoleOperator), "A": r.as("ada", api.RoleAdmin),
		}
		for caller, c := range callers {
			for whose, seers := range maySee {
				owner := operator
				if whose != "own" {
					owner.Name = "bob"
				}
				theirs, err := r.server.Service().Create(t.Context(), owner, api.NewConversation{Preset: "shop", Shared: whose == "shared"})
				if err != nil {
					t.Fatal(err)
				}
				w := c.directly("POST", "/ag-ui/shop", `{"threadId":"`+theirs.ID+`","runId":"r","messages":[{"id":"1","role":"user","content":"hello"}],"tools":[],"context":[],"state":{},"forwardedProps":{}}`)
				want := map[string]int{"-": http.StatusUnauthorized, "v": http.StatusForbidden, "a": http.StatusForbidden, "o": http.StatusOK, "A": http.StatusOK}[caller]
				there := strings.Contains(w.Body.String(), `"id":"`+theirs.ID+`"`)
				if w.Code != want || there != (want == http.StatusOK && strings.Contains(seers, caller)) {
					t.Errorf("a thread of %s as %s: %d, want %d; in that conversation: %v\n%.300s", whose, caller, w.Code, want, there, w.Body)
				}
			}
			// A request that does not become a WebSocket has come past the roles.
			want := http.StatusUpgradeRequired
			if caller == "-" {
				want = http.StatusUnauthorized
			}
			if w := c.directly("GET", "/acp", ""); w.Code != want {
				t.Errorf("an editor as %s: %d, want %d: %s", caller, w.Code, want, w.Body)
			}
		}
	})
}
