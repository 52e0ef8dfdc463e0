package acp_test

import (
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude/acp"
	"github.com/claude-agent-go/claude/internal/acp/drive"
	"github.com/claude-agent-go/claude/serve/api"
)

// An editor of a server is shown thoughts as they are written, then what is missing of
// them, and as thoughts.
func TestRemoteThoughts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted()
		d := drive.Start(t, &acp.Remote{Server: s}, drive.Setup{})
		id := d.New(t, "/")
		s.happens(nil, prompt("p", "ada", api.PromptRunning),
			api.Event{Type: api.EventDelta, Delta: &api.Delta{Message: "m", Kind: api.BlockThinking, Text: "h"}},
			api.Event{Type: api.EventMessage, Message: json.RawMessage(`{"type":"assistant","uuid":"1","session_id":"s","message":{"id":"m","model":"x","content":[{"type":"thinking","thinking":"hm","signature":"s"}]}}`)},
			api.Event{Type: api.EventMessage, Message: json.RawMessage(`{"type":"assistant","uuid":"2","session_id":"s","message":{"id":"m","model":"x","content":[{"type":"text","text":"hi"}]}}`)})
		synctest.Wait()
		var got []string
		for _, up := range d.Updates(id) {
			switch {
			case up.AgentThoughtChunk != nil:
				got = append(got, "thinks "+up.AgentThoughtChunk.Content.Text.Text)
			case up.AgentMessageChunk != nil:
				got = append(got, "says "+up.AgentMessageChunk.Content.Text.Text)
			}
		}
		if want := []string{"thinks h", "thinks m", "says hi"}; !slices.Equal(got, want) {
			t.Errorf("shown %q, want %q", got, want)
		}
	})
}
