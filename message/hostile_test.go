package message_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/message"
)

// The cost of decoding a line grows only with its length, however it is built.
func TestHostileLines(t *testing.T) {
	const size = 64 << 10
	fill := func(part string) string { return strings.Repeat(part, size/len(part)) }
	list := func(part string) string { return strings.TrimSuffix(fill(part+","), ",") }
	for name, value := range map[string]string{
		"nested lists":   strings.Repeat("[", size/2) + strings.Repeat("]", size/2),
		"nested objects": strings.Repeat(`{"a":`, size/6) + "1" + strings.Repeat("}", size/6),
		"empty objects":  "[" + list("{}") + "]",
		"empty lists":    "[" + list("[]") + "]",
		"zeros":          "[" + list("0") + "]",
		"digits":         fill("9"),
		"escapes":        `"` + fill(`\u0000`) + `"`,
		"brackets":       `"` + fill("[{") + `"`,
	} {
		for kind, line := range map[string]string{
			"content":  `{"type":"assistant","message":{"role":"assistant","content":` + value + `}}`,
			"tool":     `{"type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"Bash","input":` + value + `}]}}`,
			"result":   `{"type":"result","subtype":"success","permission_denials":` + value + `,"modelUsage":` + value + `}`,
			"unknown":  `{"type":"new","x":` + value + `}`,
			"delta":    `{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":` + value + `}}}`,
			"envelope": `{"type":` + value + `}`,
		} {
			limit := 8.0
			if kind == "result" {
				limit = 200 // its lists are of types that are bigger than "0,"
			}
			limit += float64(4<<20) / size // what the decoder keeps for the next line
			if cost := cost(line); cost > limit {
				t.Errorf("%s in %s: %.1f times its size, want %v at most", name, kind, cost, limit)
			}
		}
	}
}

// cost returns how much decoding a line allocates, as a multiple of its length.
func cost(line string) float64 {
	raw := []byte(line)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _ = message.Decode(raw) // whatever the result
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc-before.TotalAlloc) / float64(len(line))
}

// Nested lists are not decoded again and again, whatever is wrong at each
// depth.
func TestHostileNesting(t *testing.T) {
	const depth = 200
	for name, block := range map[string]string{
		"unknown":   `{"type":"new","content":[@]}`,
		"result":    `{"type":"tool_result","tool_use_id":"t","content":[@]}`,
		"neighbour": `{"type":"tool_result","tool_use_id":"t","content":[@]},5`,
		"misfit":    `{"type":"tool_result","tool_use_id":5,"content":[@]}`,
		"late type": `{"content":[@,7],"tool_use_id":"t","type":"tool_result"}`,
	} {
		content := `{"type":"text","text":"x"}`
		for range depth {
			content = strings.Replace(block, "@", content, 1)
		}
		line := `{"type":"user","message":{"role":"user","content":[` + content + `]}}`
		if cost := cost(line); cost > 100 {
			t.Errorf("%s: %.1f times its size", name, cost)
		}
		m, err := message.Decode([]byte(line))
		if m == nil || string(m.Head().Raw) != line {
			t.Errorf("%s: got %v, %v", name, m, err)
		}
	}
}

// Both ways of decoding keep to the same bounds: a result that is one list
// deeper is kept raw.
func TestContentDepth(t *testing.T) {
	for depth, text := range map[int]string{1: "x", 2: "x", 3: "x", 4: "", 9: ""} {
		for _, more := range []string{"", `,"content":null`} { // with the second the general way is taken
			content := `{"type":"text","text":"x"}`
			for range depth {
				content = `{"type":"tool_result","tool_use_id":"t","is_error":false,"content":[` + content + `]}`
			}
			line := `{"type":"user","message":{"role":"user","content":[` + content + `],"extra":7}` + more + `}`
			m, err := message.Decode([]byte(line))
			if err != nil {
				t.Fatal(err)
			}
			at := m.(*message.User).Content
			for results := at.ToolResults(); len(results) > 0; results = at.ToolResults() {
				at = results[0].Content
			}
			if at.Text() != text {
				t.Errorf("%d lists%s: %q, want %q", depth, more, at.Text(), text)
			}
		}
	}
}

// A list within the bounds is decoded, one beyond is a field that does not fit.
func TestContentBounds(t *testing.T) {
	list := func(n int) string {
		return `{"type":"user","message":{"role":"user","content":[` + strings.TrimSuffix(strings.Repeat(`{"type":"text","text":",[{\"}]"},`, n), ",") + `]},"uuid":"u"}`
	}
	for n, want := range map[int]int{9_999: 9_999, 10_000: 10_000, 10_001: 0} {
		m, err := message.Decode([]byte(list(n)))
		user, ok := m.(*message.User)
		if !ok {
			t.Fatalf("%d blocks: %v", n, err)
		}
		if len(user.Content) != want || (err == nil) != (want > 0) || user.UUID != "u" {
			t.Errorf("%d blocks: %d decoded, %v", n, len(user.Content), err)
		}
	}
}
