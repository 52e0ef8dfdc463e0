package page

import (
	"encoding/json"
	"testing"

	"github.com/claude-agent-go/claude/serve/api"
)

// The page shows what a slash command has printed, as Markdown, that the context was
// compacted, and why a hook has ended a turn.
func TestToldIsShown(t *testing.T) {
	t.Parallel()
	said := func(seq int64, line string) api.Event {
		return api.Event{Type: api.EventMessage, Seq: seq, Message: json.RawMessage(line)}
	}
	line := newTimeline("", []api.Event{
		said(1, `{"type":"system","subtype":"local_command_output","content":"## Context","uuid":"1","session_id":"s"}`),
		said(2, `{"type":"system","subtype":"compact_boundary","compact_metadata":{"pre_tokens":103,"post_tokens":28},"uuid":"2","session_id":"s"}`),
		said(3, `{"type":"system","subtype":"compact_boundary","uuid":"3","session_id":"s"}`),
		said(4, `{"type":"system","subtype":"informational","content":"blocked by *hook*","level":"warning","uuid":"4","session_id":"s"}`),
	})
	var got []string
	for _, it := range line.items {
		got = append(got, it.Kind+": "+it.markdown+it.Text)
	}
	want := []string{"text: ## Context## Context", "notice: the context was compacted: 103 tokens became 28", "notice: the context was compacted", "notice: blocked by *hook*"}
	if len(got) != len(want) {
		t.Fatalf("shown %q, want %q", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("shown %q, want %q", got[i], want[i])
		}
	}
}
