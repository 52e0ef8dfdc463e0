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
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/store"
)

// A prompt that steers is taken in by the turn that runs: it stands between the
// tool and the answer, and its turn ends with the other.
func TestSteer(t *testing.T) {
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
	ada := r.as("ada", serve.Operator)
	own := ada.begin("edit a")
	at := "/v1/conversations/" + own.ID
	asked := ada.pending(1)[0]
	steered := want[serve.Prompt](ada, ada.do("POST", at+"/prompts", `{"content":"and vet","delivery":"steer"}`), http.StatusAccepted)
	ada.do("POST", "/v1/approvals/"+asked.ID+"/decision", serve.Decision{Decision: "allow", Digest: asked.Digest})
	ended, over, said := untilTurns(2), false, false
	ada.follow(at+"/events?after=0", func(e sse) bool {
		over = ended(e) || over
		said = said || e.event == "message" && strings.Contains(e.data, "It says: edited")
		return over && said
	})
	if got := get[serve.Prompt](ada, at+"/prompts/"+steered.ID); got.State != "answered" {
		t.Errorf("%+v", got)
	}
	var order []string
	for _, m := range get[serve.List[serve.Message]](ada, at+"/messages").Items {
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
	for _, line := range a.Transcript().Entries() {
		if line.Dir == claudetest.DirIn && strings.Contains(string(line.Msg), prompt) {
			return true
		}
	}
	return false
}
