package serve_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/acp"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// steer gives the running turn of an editor another message.
func (e *editor) steer(t *testing.T, id schema.SessionID, text string) {
	t.Helper()
	var resp struct {
		Outcome string `json:"outcome"`
	}
	params := map[string]any{"sessionId": id, "prompt": []any{map[string]any{"type": "text", "text": text}}}
	if err := e.Call(t.Context(), "_session/steering", params, &resp); err != nil || resp.Outcome != "injected" {
		t.Errorf("steering: %s, %v", resp.Outcome, err)
	}
}

// An editor steers its turn on a server: the turn takes the message in with the result of
// its tool, and ends with it. Another editor of the same conversation is shown the
// message, this one is not. A turn that is cancelled takes its messages with it.
func TestRemoteSteers(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	r := newRigIn(t, store.Memory(), root, nil)
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
	page := r.remote("ada", api.RoleOperator, nil)
	ada := newEditor(t, &acp.Remote{Server: page})
	two := newEditor(t, &acp.Remote{Server: r.remote("ada", api.RoleOperator, nil)})
	id := ada.New(t, root)
	two.load(t, id, root)
	ended := ada.begin(t, id, "edit a")
	<-ada.asked
	ada.steer(t, id, "and vet")
	ada.answers <- "allow-once"
	if got := <-ended; got != schema.StopReasonEndTurn {
		t.Errorf("ended %s", got)
	}
	if open := must[[]api.Prompt](t)(page.Prompts(t.Context(), string(id))); len(open) != 0 {
		t.Errorf("the prompt has ended, but not %+v", open)
	}
	two.until(t, "edited")
	steered := func(up schema.SessionUpdate) bool {
		return up.UserMessageChunk != nil && up.UserMessageChunk.Content.Text.Text == "and vet"
	}
	for !slices.ContainsFunc(two.Updates(id), steered) { // it may follow what the turn has said
		<-two.updates
	}
	for name, e := range map[string]struct {
		*editor
		want int
	}{"the one that steers": {ada, 0}, "another": {two, 1}} {
		shown := 0
		for _, up := range e.Updates(id) {
			if m := up.UserMessageChunk; m != nil && m.Content.Text.Text == "and vet" {
				shown++
			}
		}
		if shown != e.want {
			t.Errorf("%s: the message was shown %d times", name, shown)
		}
	}

	ended = ada.begin(t, id, "edit b")
	<-ada.asked
	ada.steer(t, id, "and lint")
	if err := ada.Cancel(t.Context(), id); err != nil {
		t.Error(err)
	}
	if got := <-ended; got != schema.StopReasonCancelled {
		t.Errorf("ended %s", got)
	}
	if open := must[[]api.Prompt](t)(page.Prompts(t.Context(), string(id))); len(open) != 0 {
		t.Errorf("the turn was cancelled, but not %+v", open)
	}
	if got := <-ada.begin(t, id, "hello"); got != schema.StopReasonEndTurn || strings.Contains(ada.Text(id), "lint") {
		t.Errorf("ended %s after %q", got, ada.Text(id))
	}
}
