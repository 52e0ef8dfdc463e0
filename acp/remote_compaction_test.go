package acp_test

import (
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude/acp"
	"github.com/claude-agent-go/claude/acp/acptest"
	"github.com/claude-agent-go/claude/acp/schema"
	"github.com/claude-agent-go/claude/serve/api"
)

// TestRemoteTold shows what a slash command has printed and that the context was compacted,
// live and when the conversation is loaded, as a call or, where the editor knows them, as a
// compaction.
func TestRemoteTold(t *testing.T) {
	told := func(line string) api.Event {
		return api.Event{Type: api.EventMessage, Message: json.RawMessage(line)}
	}
	lines := []api.Event{
		told(`{"type":"system","subtype":"local_command_output","content":"7k tokens","uuid":"1","session_id":"s"}`),
		told(`{"type":"system","subtype":"compact_boundary","compact_metadata":{"trigger":"manual","pre_tokens":103,"post_tokens":28},"uuid":"2","session_id":"s"}`),
	}
	for _, knows := range []bool{false, true} {
		want := []string{"7k tokens", "call in_progress Compact conversation", "update completed ", `update  {"durationMs":0,"postTokens":28,"preTokens":103,"trigger":"manual"}`}
		setup := acptest.Setup{}
		if knows {
			want = []string{"7k tokens", "compaction in_progress", "compaction completed"}
			setup.Capabilities.Session = &schema.ClientSessionCapabilities{Compaction: new(schema.CompactionCapabilities)}
		}
		for _, loaded := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				s := newScripted()
				if loaded {
					s.happens(nil, lines...)
				}
				d := acptest.Start(t, &acp.Remote{Server: s}, setup)
				if err := d.Call(t.Context(), schema.MethodAgentSessionLoad, schema.LoadSessionRequest{SessionID: "c", Cwd: "/"}, nil); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if !loaded {
					s.happens(nil, lines...)
				}
				synctest.Wait()
				var got []string
				for _, up := range d.Updates("c") {
					switch {
					case up.AgentMessageChunk != nil:
						got = append(got, up.AgentMessageChunk.Content.Text.Text)
					case up.ToolCall != nil:
						got = append(got, "call "+string(up.ToolCall.Status)+" "+up.ToolCall.Title)
					case up.ToolCallUpdate != nil:
						got = append(got, "update "+string(up.ToolCallUpdate.Status)+" "+string(up.ToolCallUpdate.RawOutput))
					case up.CompactionUpdate != nil:
						got = append(got, "compaction "+string(up.CompactionUpdate.Status))
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("loaded %t, knows compactions %t: shown %q, want %q", loaded, knows, got, want)
				}
			})
		}
	}
}
