package message_test

import (
	"testing"

	"github.com/claude-agent-go/claude/message"
)

// A compaction ends with a result, with an error, or, if a hook has blocked it, with a status
// that says nothing. Its progress, a request and a change of the mode do not end it.
func TestEndsCompaction(t *testing.T) {
	for members, want := range map[string]bool{
		`"status":null`: true,
		`"status":""`:   true,
		`"status":null,"compact_result":"success"`:                            true,
		`"status":null,"compact_result":"failed","compact_error":"too short"`: true,
		`"status":null,"permissionMode":"plan","compact_result":"success"`:    true,
		`"status":"compacting"`:                          false,
		`"status":"compacting","compact_output_chars":7`: false,
		`"status":null,"compact_output_chars":7`:         false,
		`"status":null,"permissionMode":"plan"`:          false,
		`"status":"requesting"`:                          false,
		`"status":"compacting","compact_error":"of the one before","compact_result":"failed"`: false,
		`"status":7,"permissionMode":{}`: true,
	} {
		m, _ := message.Decode([]byte(`{"type":"system","subtype":"status",` + members + `}`)) // what fits is enough
		if s, ok := m.(*message.Status); !ok || s.EndsCompaction() != want {
			t.Errorf("%s: %#v, want %t", members, m, want)
		}
	}
}
