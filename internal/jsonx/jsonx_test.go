package jsonx_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

type sample struct {
	Type  string          `json:"type"`
	Turns int             `json:"num_turns,omitzero"`
	Bad   bool            `json:"is_error,omitzero"`
	IDs   []string        `json:"ids,omitzero"`
	Input json.RawMessage `json:"input,omitzero"`
}

func TestUnmarshalKeepsWhatFits(t *testing.T) {
	in := `{"num_turns":"three","type":"result","is_error":true,"ids":["u1"]}`
	var got sample
	err := jsonx.Unmarshal([]byte(in), &got)
	if !jsonx.Mismatch(err) || !strings.Contains(err.Error(), "num_turns") {
		t.Errorf("error = %v, want a mismatch that names num_turns", err)
	}
	if got.Type != "result" || !got.Bad || len(got.IDs) != 1 {
		t.Errorf("got %+v, want the fields after the mismatch too", got)
	}
}

func TestUnmarshal(t *testing.T) {
	tests := []struct {
		name, in string
		ok       bool
		mismatch bool
	}{
		{"lone surrogate", `{"type":"\ud83d"}`, true, false},
		{"invalid UTF-8", "{\"type\":\"a\xffb\"}", true, false},
		{"unknown fields", `{"type":"x","new":{"deep":[1]}}`, true, false},
		{"case variant is another field", `{"Type":"x"}`, true, false},
		{"repeated name", `{"type":"a","type":"b"}`, false, false},
		{"no JSON", `hello`, false, false},
		{"cut", `{"type":"a"`, false, false},
		{"other kind", `{"type":7}`, false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got sample
			err := jsonx.Unmarshal([]byte(tt.in), &got)
			if (err == nil) != tt.ok || jsonx.Mismatch(err) != tt.mismatch {
				t.Errorf("Unmarshal(%s) = %v, mismatch %v", tt.in, err, jsonx.Mismatch(err))
			}
		})
	}
}

func TestMarshalKeepsRawStrings(t *testing.T) {
	in := `{"a":"\ud83d \u003c \/","n":1e400}`
	got, err := jsonx.Marshal(sample{Type: "x", Input: json.RawMessage(in)})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"type":"x","input":` + in + `}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestLine(t *testing.T) {
	same := []byte(`{"a": 1}`)
	if got, err := jsonx.Line(same); err != nil || &got[0] != &same[0] {
		t.Errorf("Line(%s) = %s, %v, want the same bytes", same, got, err)
	}
	got, err := jsonx.Line([]byte("{\n  \"a\": \"\\u003c\"\r\n}"))
	if err != nil || string(got) != `{"a":"\u003c"}` {
		t.Errorf("Line = %s, %v", got, err)
	}
	if _, err := jsonx.Line([]byte("{\n")); err == nil {
		t.Error("Line of broken JSON: no error")
	}
}

func TestValid(t *testing.T) {
	for in, want := range map[string]bool{`{"a":"\ud83d"}`: true, `{"a":1,"a":2}`: false, `{`: false, ``: false} {
		if got := jsonx.Valid([]byte(in)); got != want {
			t.Errorf("Valid(%s) = %v", in, got)
		}
	}
}

// TestWalkLongString holds the walk to one look at each byte, however many
// escapes come before the end of a string.
func TestWalkLongString(t *testing.T) {
	line, err := json.Marshal(map[string]string{"a": strings.Repeat("no quotes here\n", 1<<19)})
	if err != nil {
		t.Fatal(err)
	}
	if got := jsonx.Member(line, "a"); len(got) != len(line)-6 {
		t.Errorf("%d bytes, want %d", len(got), len(line)-6)
	}
}

func TestID(t *testing.T) {
	for in, want := range map[string]bool{
		`"a"`: true, `""`: true, `0`: true, `-1.5e3`: true, `"` + strings.Repeat("x", 1000) + `"`: true,
		``: false, `null`: false, `true`: false, `{}`: false, `[1]`: false, `abc`: false, `"a`: false, `01`: false, `"\q"`: false,
		`"` + strings.Repeat("x", 1100) + `"`: false,
	} {
		if got := jsonx.ID([]byte(in)); got != want {
			t.Errorf("ID(%.20s) = %v", in, got)
		}
	}
}

func TestAppendText(t *testing.T) {
	for _, text := range []string{"", "plain", `quote " and \`, "line\n\x00\u2028", "é😀", "<&>"} {
		want, err := jsonx.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := jsonx.AppendText([]byte("x"), text); string(got) != "x"+string(want) {
			t.Errorf("%q: got %s, want x%s", text, got, want)
		}
	}
	if got := string(jsonx.AppendText(nil, "a\xffb")); got != `"a\ufffdb"` && got != "\"a\ufffdb\"" {
		t.Errorf("broken UTF-8 becomes %s", got)
	}
}

func TestElements(t *testing.T) {
	for text, want := range map[string]string{
		`[]`:                           "",
		`[ 1 , "a,]" , {"b":[2]} ,[]]`: `1|"a,]"|{"b":[2]}|[]`,
		`[1`:                           "1",
		`[1 2]`:                        "1",
		`{"a":1}`:                      "",
		`"[1]"`:                        "",
		``:                             "",
		`[,1]`:                         "",
	} {
		var got []string
		for e := range jsonx.Elements([]byte(text)) {
			got = append(got, string(e))
		}
		if s := strings.Join(got, "|"); s != want {
			t.Errorf("%s has the elements %s, want %s", text, s, want)
		}
	}
}
