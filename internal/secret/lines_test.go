package secret

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// deltas are the lines of a block that is streamed in pieces.
func deltas(kind, member string, pieces ...string) (lines []string) {
	for _, p := range pieces {
		text, _ := json.Marshal(p)
		lines = append(lines, fmt.Sprintf(`{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":%q,%q:%s}},"parent_tool_use_id":null}`, kind, member, text))
	}
	return append(lines, `{"type":"stream_event","event":{"type":"content_block_stop","index":0},"parent_tool_use_id":null}`)
}

// streamedThrough returns the lines that come out, and the text of their deltas.
func streamedThrough(s *Set, limit int, lines []string, end bool) (out []string, text string) {
	l := NewLines(s, func(_ int, line []byte) { out = append(out, string(line)) })
	if limit > 0 {
		l.limit = limit
	}
	for i, line := range lines {
		l.Next(i, []byte(line))
	}
	if end {
		l.End()
	}
	for _, line := range out {
		p, _ := pieceOf([]byte(line))
		_, piece := p.text()
		text += piece
	}
	return out, text
}

// cuts yields a text in pieces of n bytes.
func cuts(text string, n int) (pieces []string) {
	for part := range slices.Chunk([]rune(text), n) {
		pieces = append(pieces, string(part))
	}
	return pieces
}

// A secret that is spread over pieces is hidden, however it is spread.
func TestStreamedSecrets(t *testing.T) {
	var s Set
	s.AddValues("correct-horse-battery")
	for _, tt := range []struct{ kind, member, text, want string }{
		{"text_delta", "text", "the key is sk-ant-api03-abcdefghij, keep it", "the key is [redacted], keep it"},
		{"text_delta", "text", "it is correct-horse-battery, really", "it is [redacted], really"},
		{"text_delta", "text", "export MY_TOKEN=hunter2-hunter2 now", "export MY_TOKEN=[redacted] now"},
		{"text_delta", "text", `see {"password":{"value":"hunter2"}} there`, `see {"password":{"value":"[redacted]"}} there`},
		{"text_delta", "text", "-----BEGIN PRIVATE KEY-----\nabcdef\nghijkl\n-----END PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----[redacted]-----END PRIVATE KEY-----"},
		{"thinking_delta", "thinking", "ghp_abcdefghijklmnopqrstuvwxyz it is", "[redacted] it is"},
		{"input_json_delta", "partial_json", `{"command":"curl","password":"hunter2","n":[1,2]}`, `{"command":"curl","password":"[redacted]","n":[1,2]}`},
		{"input_json_delta", "partial_json", `{"env":{"MY_TOKEN":"hunter2"}}`, `{"env":{"MY_TOKEN":"[redacted]"}}`},
		{"text_delta", "text", "nothing to hide", "nothing to hide"},
	} {
		for n := 1; n <= len(tt.text); n++ {
			lines := deltas(tt.kind, tt.member, cuts(tt.text, n)...)
			out, got := streamedThrough(&s, 0, lines, false)
			if got != tt.want || len(out) != len(lines) {
				t.Fatalf("%q in pieces of %d:\n got %q in %d lines\nwant %q in %d", tt.text, n, got, len(out), tt.want, len(lines))
			}
			if tt.text == tt.want && !slices.Equal(out, lines) {
				t.Errorf("lines without a secret were changed: %q", out)
			}
		}
	}
}

// A stream that ends in the middle, or is longer than what can be held, shows no part
// of a secret of four bytes or more.
func TestStreamedSecretsCutOff(t *testing.T) {
	const key = "correct-horse-battery"
	var s Set
	s.AddValues(key)
	text := strings.Repeat("word ", 20) + key + strings.Repeat(" more", 20)
	whole := deltas("text_delta", "text", cuts(text, 3)...)
	for n := range whole {
		for name, limit := range map[string]int{"ends": 0, "is too long": len(whole[0]) * (n + 1)} {
			lines := whole
			if limit == 0 {
				lines = whole[:n]
			}
			out, got := streamedThrough(&s, limit, lines, true)
			if len(out) != len(lines) {
				t.Errorf("%s after %d: %d lines of %d", name, n, len(out), len(lines))
			}
			for part := 4; part <= len(key); part++ {
				if strings.Contains(got, key[:part]) || strings.Contains(got, key[len(key)-part:]) {
					t.Fatalf("%s after %d lines: %q", name, n, got)
				}
			}
		}
	}
}

// Lines keep their order around a block, and those of others are hidden too.
func TestStreamedOrder(t *testing.T) {
	var s Set
	one, two := deltas("text_delta", "text", "sk-a", "nt-abcdef"), deltas("text_delta", "text", "b", "c")
	for i := range two {
		two[i] = strings.Replace(two[i], `"parent_tool_use_id":null`, `"parent_tool_use_id":"toolu_1"`, 1)
	}
	lines := []string{one[0], two[0], `{"type":"user","n":1,"password":"hunter2"}`, two[1], one[1], two[2], one[2], `{"type":"result"}`}
	out, text := streamedThrough(&s, 0, lines, false)
	if text != "[redacted]bc" || len(out) != len(lines) || out[2] != `{"type":"user","n":1,"password":"[redacted]"}` || out[7] != lines[7] {
		t.Errorf("%q, lines %q", text, out)
	}
}

// Only the end of a block, of its message or of the turn ends a block. Other events
// come in its middle, and one that never stops holds nothing back after the result.
func TestStreamedWithoutStop(t *testing.T) {
	const key = "correct-horse-battery"
	var s Set
	s.AddValues(key)
	event := func(kind string) string {
		return fmt.Sprintf(`{"type":"stream_event","event":{"type":%q,"index":0},"parent_tool_use_id":null}`, kind)
	}
	pieces := deltas("text_delta", "text", "a correct-ho", "rse-battery b")
	again := deltas("text_delta", "text", "c")
	result := `{"type":"result","subtype":"success"}`
	for _, kind := range []string{"ping", "message_delta", "error", "something_new"} {
		if _, got := streamedThrough(&s, 0, []string{pieces[0], event(kind), pieces[1], pieces[2]}, false); got != "a [redacted] b" {
			t.Errorf("%s inside of a block: %q", kind, got)
		}
	}
	for name, end := range map[string]string{"a turn": result, "a message": event("message_stop"), "the next message": event("message_start"), "the next block": event("content_block_start")} {
		lines := []string{pieces[0], end, event("message_start"), again[0], again[1]}
		out, got := streamedThrough(&s, 0, lines, false)
		if len(out) != len(lines) || strings.Contains(got, "correct") || !strings.HasSuffix(got, "c") {
			t.Errorf("%s ends the block: %q in %d lines of %d", name, got, len(out), len(lines))
		}
	}
	out, _ := streamedThrough(&s, 0, []string{pieces[0], `{"type":"user"}`, result, `{"type":"system"}`}, false)
	if len(out) != 4 {
		t.Errorf("%d lines of 4 after the result", len(out))
	}
}

func FuzzLines(f *testing.F) {
	f.Add("a text with ", "", byte(1))
	f.Add(`{"a":"`, `"}`, byte(3))
	f.Add("{\"x\": {\"", "\\", byte(7))
	f.Fuzz(func(t *testing.T, before, after string, n byte) {
		const key = "correct-horse-battery"
		if strings.ContainsAny(before+after, "�") || strings.ToValidUTF8(before+after, "") != before+after {
			t.Skip()
		}
		var s Set
		s.AddValues(key)
		for _, kind := range [][2]string{{"text_delta", "text"}, {"input_json_delta", "partial_json"}} {
			out, text := streamedThrough(&s, 0, deltas(kind[0], kind[1], cuts(before+key+after, int(n)+1)...), true)
			if strings.Contains(text, key) {
				t.Errorf("%s shows the key: %q", kind[0], text)
			}
			for _, line := range out {
				if !json.Valid([]byte(line)) {
					t.Errorf("not JSON: %s", line)
				}
			}
		}
	})
}
