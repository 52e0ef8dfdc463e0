package fleet

import (
	"testing"

	"github.com/claude-agent-go/claude/message"
)

// Of several tries, the structured answer is the one that was accepted.
func TestStructuredCalls(t *testing.T) {
	var calls structuredCalls
	got := ""
	for _, line := range []string{
		`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t0","name":"Read","input":{"name":"x"}}]}}`,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t0","content":"ok"}]}}`,
		`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t1","name":"StructuredOutput","input":{"nam":"Oslo"}}]}}`,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"no name"}]}}`,
		`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t2","name":"StructuredOutput","input":{"name":"Oslo"}}]}}`,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t2","content":"ok"}]}}`,
		`{"type":"assistant","message":{"content":[{"type":"text","text":"Done."}]}}`,
	} {
		m, err := message.Decode([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		switch m := m.(type) {
		case *message.Assistant:
			calls.note(m)
		case *message.User:
			if output := calls.accepted(m); output != nil {
				got += string(output)
			}
		}
	}
	if got != `{"name":"Oslo"}` {
		t.Errorf("found %s", got)
	}
}
