package serve_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// wantContext checks how full the context of a conversation is said to be, by itself
// and in the list. 0 means that nothing is said about it.
func (c *client) wantContext(id string, percent int) {
	c.t.Helper()
	for _, path := range []string{"/v1/conversations/" + id, "/v1/conversations"} {
		body := string(c.do("GET", path, nil).body)
		if said := strings.Contains(body, `"context"`); said != (percent > 0) {
			c.t.Errorf("%s: %s, want %d%%", path, body, percent)
		}
	}
	for _, got := range append(get[api.List[api.Conversation]](c, "/v1/conversations").Items, get[api.Conversation](c, "/v1/conversations/"+id)) {
		if percent == 0 || got.Context == nil {
			continue
		}
		if want := (api.ContextUse{Model: got.Context.Model, Tokens: int64(percent) * 2000, Window: 200_000, Percent: percent}); *got.Context != want || want.Model == "" {
			c.t.Errorf("%+v, want %+v", *got.Context, want)
		}
	}
}

// How full the context is follows the main agent's answers, not those of its
// sub-agents. It is not said before it is known, and outlives the server.
func TestContextOverHTTP(t *testing.T) {
	t.Parallel()
	r := newRigGated(t, store.Memory(), t.TempDir(), &approval.Options{Needs: unasked}, nil)
	hold := make(chan struct{})
	r.agent.mu.Lock()
	r.agent.hold = hold
	r.agent.mu.Unlock()
	ada := r.as("ada", api.RoleOperator)
	own := ada.begin("fill 82000")
	ada.wantContext(own.ID, 0)
	close(hold)
	at := "/v1/conversations/" + own.ID
	for i, step := range []struct {
		prompt  string
		percent int
	}{{"", 41}, {"fill 100000", 50}, {"fill another", 20}, {"fill 2000", 1}} {
		if step.prompt != "" {
			want[api.Prompt](ada, ada.do("POST", at+"/prompts", `{"content":"`+step.prompt+`"}`), http.StatusAccepted)
		}
		ada.turnsOf(own.ID, i+1)
		ada.wantContext(own.ID, step.percent)
	}
	_ = r.server.Close()
	r.http.Close()
	ada.serveAgain()
	ada.wantContext(own.ID, 1)
}

// While a turn runs, each answer in it moves the number.
func TestContextDuringTurn(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), nil)
	ada := r.as("ada", api.RoleOperator)
	own := ada.begin("fill 82000")
	ada.turnsOf(own.ID, 1)
	want[api.Prompt](ada, ada.do("POST", "/v1/conversations/"+own.ID+"/prompts", `{"content":"tool fuller"}`), http.StatusAccepted)
	ada.pending(1)
	ada.follow("/v1/conversations/"+own.ID+"/events?after=0", func(e sse) bool {
		return e.event == "message" && strings.Contains(e.data, "toolu_fuller")
	})
	ada.wantContext(own.ID, 60)
}
