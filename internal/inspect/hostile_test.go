package inspect_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// hostile is text that acts wherever it is not taken as text.
const hostile = `</script></style></pre><script>window.pwned=1</script><img src=x onerror="window.pwned=1"><svg/onload=window.pwned=1>{{.}}"'` + "` **<b onclick=window.pwned=1>** [a](javascript:window.pwned=1) ![b](data:text/html,x) `<script>` | <i>"

// large is a recording with many frames.
func large(n int) []byte {
	var out bytes.Buffer
	out.WriteString(`{"dir":"meta","t_ms":0,"msg":{"argv":["claude"]}}` + "\n")
	for i := range n {
		fmt.Fprintf(&out, `{"dir":"out","t_ms":%d,"msg":{"type":"system","subtype":"notification","text":"number %d of many"}}`+"\n", i, i)
	}
	return out.Bytes()
}

// hostileRecording contains hostile text in every place.
func hostileRecording(t *testing.T) []byte {
	t.Helper()
	quoted := strings.NewReplacer(`"`, `\"`, "\n", `\n`).Replace(hostile)
	lines := []string{
		`{"dir":"meta","t_ms":0,"msg":{"argv":["claude","X"]}}`,
		`{"dir":"in","t_ms":1,"msg":{"type":"user","message":{"role":"user","content":"X"}}}`,
		`{"dir":"out","t_ms":2,"msg":{"type":"system","subtype":"init","model":"X","cwd":"X","claude_code_version":"X","session_id":"X","X":"X"}}`,
		`{"dir":"out","t_ms":3,"msg":{"type":"X","subtype":"X"}}`,
		`{"dir":"out","t_ms":3,"msg":{"type":"system","subtype":"X"}}`,
		`{"dir":"out","t_ms":4,"msg":{"type":"assistant","message":{"content":[{"type":"text","text":"X"},{"type":"thinking","thinking":"X"},{"type":"X"},{"type":"tool_use","id":"X","name":"X","input":{"command":"X"}}]},"parent_tool_use_id":"X","subagent_type":"X"}}`,
		`{"dir":"out","t_ms":5,"msg":{"type":"control_request","request_id":"X","request":{"subtype":"can_use_tool","tool_name":"X","tool_use_id":"X","input":{"command":"X"}}}}`,
		`{"dir":"in","t_ms":6,"msg":{"type":"control_response","response":{"subtype":"success","request_id":"X","response":{"behavior":"deny","message":"X"}}}}`,
		`{"dir":"out","t_ms":7,"msg":{"type":"control_request","request_id":"Y","request":{"subtype":"X"}}}`,
		`{"dir":"out","t_ms":8,"msg":{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"X","content":"X","is_error":true}]}}}`,
		`{"dir":"out","t_ms":9,"msg":{"type":"result","subtype":"X","is_error":true,"terminal_reason":"X","result":"X"}}`,
		`{"dir":"meta","t_ms":10,"msg":{"stderr":"X"}}`,
		`X`,
	}
	return []byte(strings.ReplaceAll(strings.Join(lines, "\n"), "X", quoted))
}
