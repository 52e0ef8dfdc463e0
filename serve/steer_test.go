package serve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// A prompt that steers is taken in by the turn that runs: it stands between the
// tool and the answer, and its turn ends with the other.
func TestSteer(t *testing.T) {
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
	at := "/v1/conversations/" + own.ID
	asked := ada.pending(1)[0]
	steered := want[api.Prompt](ada, ada.do("POST", at+"/prompts", `{"content":"and vet","delivery":"steer"}`), http.StatusAccepted)
	ada.do("POST", "/v1/approvals/"+asked.ID+"/decision", api.Decision{Decision: "allow", Digest: asked.Digest})
	ended, over, said := untilTurns(2), false, false
	ada.follow(at+"/events?after=0", func(e sse) bool {
		over = ended(e) || over
		said = said || e.event == "message" && strings.Contains(e.data, "It says: edited")
		return over && said
	})
	if got := get[api.Prompt](ada, at+"/prompts/"+steered.ID); got.State != "answered" {
		t.Errorf("%+v", got)
	}
	var order []string
	for _, m := range get[api.List[api.Message]](ada, at+"/messages").Items {
		for _, part := range []string{"edit a", "tool_result", "and vet", "It says: edited"} {
			if strings.Contains(string(m.Message), part) {
				order = append(order, part)
			}
		}
	}
	if got := fmt.Sprint(order); got != "[edit a tool_result and vet It says: edited]" {
		t.Errorf("the conversation is %s", got)
	}
}

// was reports whether the CLI has read a prompt.
func (a *agent) was(prompt string) bool {
	for _, line := range a.Recording().Entries() {
		if line.Dir == claudetest.DirIn && strings.Contains(string(line.Msg), prompt) {
			return true
		}
	}
	return false
}

// unhurried is a fleet that reports the states of prompts only once goOn is closed.
type unhurried struct {
	*fleet.Fleet
	goOn chan struct{}
}

func (l unhurried) Prompt(ctx context.Context, key, id string) (fleet.Ticket, error) {
	select {
	case <-l.goOn:
		return l.Fleet.Prompt(ctx, key, id)
	case <-ctx.Done():
		return fleet.Ticket{}, context.Cause(ctx)
	}
}

// Turns are in the log in the order in which they ended, although the log learns of
// all of them at once, and although the last to be sent was the second to end.
func TestTurnsInOrder(t *testing.T) {
	t.Parallel()
	goOn := make(chan struct{})
	r := newRigOver(t, func(f *fleet.Fleet) fleet.Conversations { return unhurried{f, goOn} })
	ada := r.as("ada", api.RoleOperator)
	own := ada.begin("tool 1")
	at, key := "/v1/conversations/"+own.ID, strings.Replace(own.ID, "~", "/", 1)
	asked := ada.pending(1)[0]
	waits := want[api.Prompt](ada, ada.do("POST", at+"/prompts", `{"content":"waits"}`), http.StatusAccepted)
	steers := want[api.Prompt](ada, ada.do("POST", at+"/prompts", `{"content":"steers","delivery":"steer"}`), http.StatusAccepted)
	ada.do("POST", "/v1/approvals/"+asked.ID+"/decision", api.Decision{Decision: "allow", Digest: asked.Digest})
	for _, err := range r.fleet.RunPrompt(t.Context(), key, fleet.Prompt{ID: waits.ID, Text: "waits"}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	close(goOn)
	var order []string
	ada.follow(at+"/events?after=0", func(e sse) bool {
		var event api.Event
		if err := json.Unmarshal([]byte(e.data), &event); err == nil && event.Turn != nil {
			order = append(order, event.Turn.Prompt)
		}
		return len(order) == 3
	})
	if order[1] != steers.ID || order[2] != waits.ID {
		t.Errorf("the turns ended as %q, the one that waits is %s", order, waits.ID)
	}
}
