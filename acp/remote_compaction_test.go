package acp_test

import (
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude/acp"
	"github.com/claude-agent-go/claude/internal/acp/drive"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/serve/api"
)

// TestRemoteTold shows what a slash command has printed and that the context was compacted,
// live and when the conversation is loaded, as a call or, where the editor knows them, as a
// compaction with its summary.
func TestRemoteTold(t *testing.T) {
	told := func(line string) api.Event {
		return api.Event{Type: api.EventMessage, Message: json.RawMessage(line)}
	}
	lines := []api.Event{
		told(`{"type":"system","subtype":"local_command_output","content":"7k tokens","uuid":"1","session_id":"s"}`),
		told(`{"type":"system","subtype":"compact_boundary","compact_metadata":{"trigger":"manual","pre_tokens":103,"post_tokens":28},"uuid":"2","session_id":"s"}`),
		told(`{"type":"user","isCompactSummary":true,"isVisibleInTranscriptOnly":true,"uuid":"3","session_id":"s","message":{"role":"user","content":"This session is being continued from a previous conversation that ran out of context.\n\nSummary:\nThey said hello."}}`),
	}
	for _, knows := range []bool{false, true} {
		want := []string{"7k tokens", "call in_progress Compact conversation", "update completed ", `update  {"durationMs":0,"postTokens":28,"preTokens":103,"trigger":"manual"}`}
		setup := drive.Setup{}
		if knows {
			want = []string{"7k tokens", "compaction in_progress", "compaction completed", "compaction completed: They said hello."}
			setup.Capabilities.Session = &schema.ClientSessionCapabilities{Compaction: new(schema.CompactionCapabilities)}
		}
		for _, loaded := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				s := newScripted()
				if loaded {
					s.happens(nil, lines...)
				}
				d := drive.Start(t, &acp.Remote{Server: s}, setup)
				if err := d.Call(t.Context(), schema.MethodAgentSessionLoad, schema.LoadSessionRequest{SessionID: "c", Cwd: "/"}, nil); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if !loaded {
					s.happens(nil, lines...)
				}
				synctest.Wait()
				got := toldOf(d.Updates("c"))
				if !slices.Equal(got, want) {
					t.Errorf("loaded %t, knows compactions %t: shown %q, want %q", loaded, knows, got, want)
				}
			})
		}
	}
}

// toldOf returns the texts of updates, and what they tell about calls and compactions.
func toldOf(updates []schema.SessionUpdate) (got []string) {
	for _, up := range updates {
		switch {
		case up.AgentMessageChunk != nil:
			got = append(got, up.AgentMessageChunk.Content.Text.Text)
		case up.ToolCall != nil:
			got = append(got, "call "+string(up.ToolCall.Status)+" "+up.ToolCall.Title)
		case up.ToolCallUpdate != nil:
			got = append(got, "update "+string(up.ToolCallUpdate.Status)+" "+string(up.ToolCallUpdate.RawOutput))
		case up.CompactionUpdate != nil:
			told := "compaction " + string(up.CompactionUpdate.Status)
			for _, block := range up.CompactionUpdate.Summary {
				told += ": " + block.Text.Text
			}
			got = append(got, told)
		}
	}
	return got
}

// TestRemoteCompacting shows a compaction while it runs, once, whichever comes first of
// what is told while it happens and of the line that it leaves, and whatever is missed. It
// shows one that failed as such.
func TestRemoteCompacting(t *testing.T) {
	state := func(s api.CompactionState) api.Event {
		c := &api.Compaction{ID: "1", State: s}
		if s == api.CompactionFailed {
			c.Error = "too short"
		}
		return api.Event{Type: api.EventCompaction, Compaction: c}
	}
	running, done, failed := state(api.CompactionRunning), state(api.CompactionDone), state(api.CompactionFailed)
	line := api.Event{Type: api.EventMessage, Message: json.RawMessage(`{"type":"system","subtype":"compact_boundary","uuid":"2","session_id":"s"}`)}
	begins, ends, fails := "compaction in_progress", "compaction completed", "compaction failed"
	for _, c := range []struct {
		name   string
		events []api.Event
		want   []string
	}{
		{"runs", []api.Event{running, running}, []string{begins}},
		{"done, then its line", []api.Event{running, done, line}, []string{begins, ends}},
		{"its line, then done", []api.Event{running, line, done}, []string{begins, ends}},
		{"its line alone", []api.Event{line, done}, []string{begins, ends}},
		{"the end missed", []api.Event{running, line}, []string{begins, ends}},
		{"told twice", []api.Event{running, done, done, line}, []string{begins, ends}},
		{"failed", []api.Event{running, failed, turn("p")}, []string{begins, fails}},
		{"failed at once", []api.Event{failed}, []string{begins, fails}},
		{"the failure missed", []api.Event{running, turn("p"), turn("q")}, []string{begins, fails}},
		{"another prompt ends", []api.Event{prompt("p", "ada", api.PromptRunning), prompt("q", "ada", api.PromptQueued), running, turn("q"), done, line}, []string{begins, ends}},
		{"its line never came", []api.Event{running, done, running, done, line}, []string{begins, ends, begins, ends}},
		{"two", []api.Event{running, failed, running, done, line}, []string{begins, fails, begins, ends}},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newScripted()
			setup := drive.Setup{}
			setup.Capabilities.Session = &schema.ClientSessionCapabilities{Compaction: new(schema.CompactionCapabilities)}
			d := drive.Start(t, &acp.Remote{Server: s}, setup)
			d.New(t, "/")
			synctest.Wait()
			s.happens(nil, c.events...)
			synctest.Wait()
			if got := toldOf(d.Updates("c")); !slices.Equal(got, c.want) {
				t.Errorf("%s: shown %q, want %q", c.name, got, c.want)
			}
			for _, up := range d.Updates("c") {
				if u := up.CompactionUpdate; u != nil && u.Status == schema.CompactionStatusFailed && *u.Error == "" {
					t.Errorf("%s: no reason", c.name)
				}
			}
		})
	}
}
