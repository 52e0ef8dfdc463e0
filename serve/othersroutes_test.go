package serve_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// everything describes all that a store holds of conversations, so that a change shows.
func everything(t *testing.T, db store.Fleet) string {
	t.Helper()
	var all strings.Builder
	for _, kind := range []string{
		"conversation", "prompt", "outcome", "deletion", "copying", "calls", "commands", approval.Kind, "rules",
		"serve-conversation", "serve-fork", "serve-folder-left", "serve-pulse", "serve-spent",
	} {
		for rec, err := range db.Scan(t.Context(), store.Folder{Project: "p", Kind: kind}, "") {
			fmt.Fprintln(&all, rec.Key, rec.Revision, string(rec.Value), err)
		}
	}
	for s, err := range db.List(t.Context(), "p") {
		fmt.Fprintln(&all, s.Session, s.Modified, err)
	}
	return all.String()
}

// Every route of the OpenAPI document that takes an id answers the id of another user's
// conversation or question exactly as one that does not exist, and leaves everything as
// it is.
func TestWhatIsAnothersDoesNotExist(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(t *testing.T, r *rig) {
		r.agent.hold = make(chan struct{})
		defer close(r.agent.hold)
		bob := api.User{Name: "bob", Role: api.RoleOperator}
		theirs, err := r.server.Service().Create(t.Context(), bob, api.NewConversation{Preset: "shop", Content: api.Text("hello")})
		if err != nil {
			t.Fatal(err)
		}
		waits, err := r.server.Service().Send(t.Context(), bob, theirs.ID, api.NewPrompt{Content: api.Text("then")}) // it can be cancelled
		if err != nil {
			t.Fatal(err)
		}
		question, err := r.ask(theirs.ID)
		if err != nil {
			t.Fatal(err)
		}
		asked, err := r.server.Service().Approval(t.Context(), bob, question)
		if err != nil {
			t.Fatal(err)
		}
		const none = "00000000-0000-4000-8000-000000000000"
		bodies := maps.Clone(matrixBodies)
		bodies["PATCH /v1/conversations/{id}"] = `{"title":"x","shared":true}`
		bodies["POST /v1/approvals/{id}/decision"] = `{"decision":"allow","digest":"` + asked.Digest + `"}`
		ada := r.as("ada", api.RoleOperator)
		synctest.Wait()
		before, tried := everything(t, r.db), 0
		for path, methods := range openAPIOf(t, r).Paths {
			for method := range methods {
				name := strings.ToUpper(method) + " " + path
				if !strings.Contains(path, "{id}") || !strings.Contains(mayCall[name], "o") {
					continue
				}
				tried++
				id, other := theirs.ID, "bob~"+none
				if strings.Contains(path, "/approvals/") {
					id, other = question, none
				}
				call := func(id, prompt string) string {
					w := ada.directly(strings.ToUpper(method), strings.NewReplacer("{id}", id, "{prompt}", prompt).Replace(path), bodies[name])
					if w.Code != http.StatusNotFound {
						t.Errorf("%s of another: %d %s", name, w.Code, w.Body)
					}
					return strings.NewReplacer(id, "ID", prompt, "PROMPT").Replace(fmt.Sprint(w.Code, " ", w.Body))
				}
				if got, want := call(id, waits.ID), call(other, none); got != want {
					t.Errorf("%s: %s\nfor what does not exist: %s", name, got, want)
				}
				synctest.Wait()
				if after := everything(t, r.db); after != before {
					t.Errorf("%s of another: there is\n%s\nbefore it was\n%s", name, after, before)
					before = after
				}
			}
		}
		if tried < 20 {
			t.Errorf("%d routes take an id", tried)
		}
	})
}
