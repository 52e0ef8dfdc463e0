package inspect_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/inspect"
)

// read reads a recording.
func read(t *testing.T, recording string) *inspect.Report {
	t.Helper()
	rep, err := inspect.Read(strings.NewReader(recording), &inspect.Options{Source: "session.ndjson"})
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// Each call of the model is listed with the tokens that it read, how full the window was,
// and what it cost. The frames of one answer are one call, however it was written.
func TestCalls(t *testing.T) {
	t.Parallel()
	answer := func(id, parent, text string, in, cached, out int) string {
		return fmt.Sprintf(`{"type":"assistant","session_id":"s","parent_tool_use_id":%s,"message":{"id":%q,"model":"claude-opus-5-5","role":"assistant","content":[{"type":"text","text":%q}],"usage":{"input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":%d}}}`, parent, id, text, in, cached, out)
	}
	lines := []string{
		`{"type":"system","subtype":"init","session_id":"s","model":"claude-opus-5-5"}`,
		answer("m1", "null", "one", 1000, 0, 1),
		answer("m1", "null", "two", 1000, 0, 90), // more of the same answer
		`{"type":"stream_event","session_id":"s","parent_tool_use_id":null,"event":{"type":"message_start","message":{"id":"m2","model":"claude-opus-5-5","usage":{"input_tokens":200,"cache_read_input_tokens":1000,"output_tokens":1}}}}`,
		`{"type":"stream_event","session_id":"s","parent_tool_use_id":null,"event":{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":70}}}`,
		answer("m2", "null", "three", 200, 1000, 1), // began with the stream
		answer("m3", `"toolu_1"`, "of a subagent", 50_000, 0, 5),
		`{"type":"assistant","session_id":"s","message":{"id":"e1","model":"<synthetic>","role":"assistant","content":[{"type":"text","text":"API error"}],"usage":{"input_tokens":0,"output_tokens":0}}}`,
		`{"type":"result","subtype":"success","session_id":"s","num_turns":2,"total_cost_usd":0.1,"usage":{},"modelUsage":{"claude-opus-5-5":{"inputTokens":51200,"outputTokens":165,"cacheReadInputTokens":1000,"costUSD":0.4,"contextWindow":200000}}}`,
		answer("m4", "null", "a turn without a price", 10, 0, 1),
	}
	lines[9] = strings.Replace(lines[9], "claude-opus-5-5", "another-model", 1)
	rep := read(t, strings.Join(lines, "\n")+"\n")
	type row struct {
		line, context, window, out int
		agent, known               bool
	}
	var got []row
	for _, turn := range rep.Turns {
		for _, c := range turn.Calls {
			got = append(got, row{c.Line, c.Context, c.Window, c.Tokens.Output, c.Agent != "", c.Tokens.CostUSD > 0})
		}
	}
	want := []row{{2, 1000, 200_000, 90, false, true}, {4, 1200, 200_000, 70, false, true}, {7, 50_000, 200_000, 5, true, true}, {10, 10, 0, 1, false, false}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the calls are\n%v, want\n%v", got, want)
	}
	// What the CLI reported for the model is what its calls cost together.
	sum := 0.0
	for _, c := range rep.Turns[0].Calls {
		sum += c.Tokens.CostUSD
	}
	if sum < 0.399 || sum > 0.401 {
		t.Errorf("the calls cost $%f, and the CLI says $0.40", sum)
	}

	var text, page bytes.Buffer
	if err := rep.WriteText(&text, false); err != nil {
		t.Fatal(err)
	}
	if err := rep.WriteHTML(&page, inspect.Limits{}); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"◦ claude-opus-5-5 · context 1200 of 200.0k, 1 % · 70 out · ≈ $", "◦ another-model · context 10 · 1 out\n"} {
		if !strings.Contains(text.String(), part) {
			t.Errorf("the text lacks %q:\n%s", part, &text)
		}
	}
	for _, part := range []string{`<tr id="c4"`, `<a href="#f4" title="line 4">`, "1200 of 200.0k, 1 %", "<dt>Context</dt><dd>1200<small>1 % of 200.0k</small>", "3 model calls"} {
		if !strings.Contains(page.String(), part) {
			t.Errorf("the page lacks %q", part)
		}
	}

	rep.Keep(inspect.Filter{Text: "three"})
	if len(rep.Turns) != 1 || len(rep.Turns[0].Calls) != 0 {
		t.Errorf("a filter keeps the calls %+v", rep.Turns)
	}
}
