package serve_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// A conversation and its first prompt are accepted together or not at all: a
// refusal leaves nothing behind, neither here nor in the fleet.
func TestRefusedFirstPrompt(t *testing.T) {
	t.Parallel()
	for problem, usd := range map[string]float64{"full": 0, "budget": 1e-9} {
		t.Run(problem, func(t *testing.T) {
			r := newRigFleet(t, store.Memory(), t.TempDir(), func(o *fleet.Options) {
				o.Gate, o.QueueAll = &approval.Options{}, 1
			}, func(o *serve.Options) { o.Presets[0].DailyUSD = usd })
			ada, admin := r.as("ada", api.RoleOperator), r.as("root", api.RoleAdmin)
			hold := make(chan struct{})
			r.agent.mu.Lock()
			r.agent.hold = hold
			r.agent.mu.Unlock()
			first := ada.begin("keeps the only place")
			if problem == "budget" {
				close(hold)
				ada.turnsOf(first.ID, 1)
			} else {
				defer close(hold)
			}
			for name, c := range map[string]struct {
				path, body string
				headers    []string
			}{
				"over HTTP":  {"/v1/conversations", `{"preset":"shop","content":"hi"}`, nil},
				"with a key": {"/v1/conversations", `{"preset":"shop","content":"hi"}`, []string{"Idempotency-Key", "one"}},
				"over AG-UI": {"/ag-ui/shop", `{"threadId":"main","runId":"r","messages":[{"id":"1","role":"user","content":"hi"}]}`, nil},
			} {
				got := want[api.Problem](ada, ada.do("POST", c.path, c.body, c.headers...), http.StatusTooManyRequests)
				if got.Type != "/problems/"+problem {
					t.Errorf("%s: %+v", name, got)
				}
				if list := get[api.List[api.Conversation]](admin, "/v1/conversations"); len(list.Items) != 1 || list.Items[0].ID != first.ID {
					t.Fatalf("%s: there are %+v", name, list.Items)
				}
				n := 0
				for _, err := range r.fleet.List(t.Context()) {
					if n++; err != nil {
						t.Fatal(err)
					}
				}
				if n != 1 {
					t.Errorf("%s: the fleet has %d conversations", name, n)
				}
			}
		})
	}
}

// The first prompt takes the same content as later ones: a text, or blocks.
func TestFirstPromptOfBlocks(t *testing.T) {
	t.Parallel()
	ada := newRig(t, store.Memory(), nil).as("ada", api.RoleOperator)
	const blocks = `[{"type":"text","text":"look at"},{"type":"text","text":"this"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}]`
	c := want[api.Conversation](ada, ada.do("POST", "/v1/conversations", `{"preset":"shop","content":`+blocks+`}`), http.StatusCreated)
	ada.heard(c.ID, 2)
	first := get[api.List[api.Message]](ada, "/v1/conversations/"+c.ID+"/messages").Items[0].Message
	if !strings.Contains(c.Title, "look at") || !strings.Contains(string(first), `"media_type":"image/png"`) {
		t.Errorf("title %q, first message %s", c.Title, first)
	}
}
