package serve_test

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// turnsOf reads the events of a conversation until so many prompts have ended,
// and returns how.
func (c *client) turnsOf(conversation string, n int) []api.Turn {
	c.t.Helper()
	var turns []api.Turn
	c.follow("/v1/conversations/"+conversation+"/events?after=0", func(e sse) bool {
		if e.event == "turn" {
			var event api.Event
			if err := json.Unmarshal([]byte(e.data), &event); err != nil {
				c.t.Fatal(err)
			}
			turns = append(turns, *event.Turn)
		}
		return len(turns) == n
	})
	return turns
}

// agrees checks that the sums of usage and of turns equal the cost of the conversation.
func (c *client) agrees(conversation string, turns []api.Turn, want int) {
	c.t.Helper()
	sum := 0.0
	for _, turn := range turns {
		sum += turn.CostUSD
	}
	whole := get[api.Conversation](c, "/v1/conversations/"+conversation).CostUSD
	for _, by := range []string{"day", "user", "preset", "model"} {
		usage := get[api.Usage](c, "/v1/usage?by="+by)
		if math.Abs(usage.Total.CostUSD-whole) > 1e-9 || math.Abs(sum-whole) > 1e-9 || whole == 0 || usage.Total.Turns != want || len(usage.Items) != 1 {
			c.t.Errorf("the conversation has cost $%v, its turns $%v; by %s: %+v", whole, sum, by, usage)
		}
	}
}

// Prompts that end without a reader have their own costs, even with a decision in
// between.
func TestCostOfEachTurn(t *testing.T) {
	t.Parallel()
	db := store.Memory()
	r := newRig(t, db, nil)
	hold := make(chan struct{})
	r.agent.mu.Lock()
	r.agent.hold = hold
	r.agent.mu.Unlock()
	ada := r.as("ada", api.RoleOperator)
	own := ada.begin("one")
	at := "/v1/conversations/" + own.ID
	ids := []string{get[api.List[api.Prompt]](ada, at+"/prompts").Items[0].ID}
	for _, text := range []string{"two", "three"} {
		ids = append(ids, want[api.Prompt](ada, ada.do("POST", at+"/prompts", `{"content":"`+text+`"}`), http.StatusAccepted).ID)
	}
	_ = r.server.Close()
	r.http.Close()
	close(hold)
	for _, id := range ids {
		r.awaitAnswered(own.ID, id)
	}
	ada.serveAgain()
	turns := ada.turnsOf(own.ID, len(ids))
	for i, turn := range turns {
		if turn.Prompt != ids[i] || turn.CostUSD <= 0 || len(turn.Models) != 1 || turn.PartOf != "" || turn.State != "answered" {
			t.Errorf("turn %d: %+v", i, turn)
		}
	}
	ada.agrees(own.ID, turns, len(ids))
}

// A prompt that a turn took in is part of it: it has no cost and is not counted as
// a turn.
func TestCostOfSteeredTurn(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), nil)
	r.agent.edit = func(ctx context.Context, _ json.RawMessage) (host.ToolOutput, error) {
		for !r.agent.was("and vet") { // the CLI has the prompt
			select {
			case <-time.After(5 * time.Millisecond):
			case <-ctx.Done():
				return host.ToolOutput{}, ctx.Err()
			}
		}
		return host.TextOutput("edited"), nil
	}
	ada := r.as("ada", api.RoleOperator)
	own := ada.begin("edit a")
	asked := ada.pending(1)[0]
	steered := want[api.Prompt](ada, ada.do("POST", "/v1/conversations/"+own.ID+"/prompts", `{"content":"and vet","delivery":"steer"}`), http.StatusAccepted)
	ada.do("POST", "/v1/approvals/"+asked.ID+"/decision", api.Decision{Decision: "allow", Digest: asked.Digest})
	turns := ada.turnsOf(own.ID, 2)
	first, second := turns[0], turns[1]
	if first.Prompt == steered.ID {
		first, second = second, first
	}
	if second.Prompt != steered.ID || second.PartOf != first.Prompt || second.CostUSD != 0 || len(second.Models) != 0 || second.State != "answered" {
		t.Errorf("the steered prompt: %+v", second)
	}
	if first.PartOf != "" || first.CostUSD <= 0 || len(first.Models) != 1 {
		t.Errorf("the turn: %+v", first)
	}
	ada.agrees(own.ID, turns, 1)
}

// awaitAnswered waits until the fleet has answered a prompt.
func (r *rig) awaitAnswered(conversation, prompt string) {
	r.t.Helper()
	key := strings.Replace(conversation, "~", "/", 1)
	for deadline := time.Now().Add(30 * time.Second); ; {
		o, err := r.fleet.Prompt(r.t.Context(), key, prompt)
		if err == nil && o.Status == fleet.PromptAnswered {
			return
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("%+v, %v", o, err)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// serveAgain starts another server on the same fleet.
func (r *rig) serveAgain() {
	r.t.Helper()
	var err error
	if r.server, err = serve.New(r.fleet, r.options); err != nil {
		r.t.Fatal(err)
	}
	r.http = httptest.NewServer(r.server)
}
