package wire_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/wire"
)

func TestParse(t *testing.T) {
	tests := []struct {
		name, line, typ, subtype, err string
	}{
		{"type first", `{"type":"system","subtype":"init"}`, "system", "init", ""},
		{"type last", `{"duration_ms":1,"a":{"type":"x"},"subtype":"success","type":"result"}`, "result", "success", ""},
		{"blanks", " { \"type\" : \"user\" , \"a\" : [ ] } ", "user", "", ""},
		{"escaped name", `{"\u0074ype":"user"}`, "user", "", ""},
		{"escaped value", `{"type":"us\u0065r"}`, "user", "", ""},
		{"quotes and brackets in strings", `{"a":"}]{\"","b":["\\"],"type":"x"}`, "x", "", ""},
		{"no type", `{"a":1}`, "", "", ""},
		{"type of another kind", `{"type":7}`, "", "", ""},
		{"empty", `{}`, "", "", ""},
		{"lone surrogate", `{"a":"\ud83d","type":"x"}`, "x", "", ""},
		{"text", `Starting up...`, "", "", "not a JSON object"},
		{"array", `[1]`, "", "", "not a JSON object"},
		{"null", `null`, "", "", "not a JSON object"},
		{"cut in a string", `{"type":"us`, "", "", "string without an end"},
		{"cut in a value", `{"type":"x","a":[1`, "x", "", "unexpected end"},
		{"text after", `{"type":"x"} log`, "x", "", "text after the object"},
		{"text before", `log {"type":"x"}`, "", "", "not a JSON object"},
		{"no colon", `{"type" "x"}`, "", "", "colon expected"},
		{"no comma", `{"type":"x" "a":1}`, "x", "", "comma expected"},
		{"trailing comma", `{"type":"x",}`, "x", "", "string expected"},
		{"no value", `{"type":}`, "", "", "value expected"},
		{"type twice", `{"type":"a","type":"b"}`, "a", "", `"type" occurs twice`},
		{"type twice, escaped", `{"type":"a","typ\u0065":"b"}`, "a", "", `"type" occurs twice`},
		{"case variant", `{"type":"a","Type":"b"}`, "a", "", `case variant of "type"`},
		{"case variant of the id", `{"Request_ID":"1","type":"control_request"}`, "", "", `case variant of "request_id"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, err := wire.Parse([]byte(tt.line))
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error = %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if f.Type != tt.typ || f.Subtype != tt.subtype {
				t.Errorf("got %q/%q, want %q/%q", f.Type, f.Subtype, tt.typ, tt.subtype)
			}
		})
	}
}

func TestPrompts(t *testing.T) {
	tests := []struct {
		line string
		want []string
	}{
		{`{"user_message_uuids":["a","b"],"user_message_uuid":"a"}`, []string{"a", "b"}},
		{`{"user_message_uuid":"a"}`, []string{"a"}},
		{`{"user_message_uuids":[],"user_message_uuid":"a"}`, []string{"a"}},
		{`{"user_message_uuids":null}`, nil},
		{`{"user_message_uuids":"odd"}`, nil},
		{`{}`, nil},
	}
	for _, tt := range tests {
		f, err := wire.Parse([]byte(tt.line))
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Prompts(); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.line, got, tt.want)
		}
	}
}

// FuzzParse compares the walk over members with a full decode: valid JSON must be
// read the same way, and nothing may panic.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"type":"control_request","request_id":"1","request":{"subtype":"x"}}`))
	f.Add([]byte(`{"a":"\"}","type":"result","subtype":"success"}`))
	f.Add([]byte(`{"type":"a","TYPE":"b"}`))
	f.Add([]byte(`{"type":"control_response","response":{"request_id":7,"subtype":"error","error":{}}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		frame, err := wire.Parse(line)
		checkControlFrame(t, frame)
		frame.CancelID()
		frame.Prompts()
		var all map[string]json.RawMessage
		if jsonx.Unmarshal(line, &all) != nil || all == nil || !utf8.Valid(line) {
			return // the decoder replaces what is not UTF-8, the walk keeps it
		}
		if err != nil {
			if strings.Contains(err.Error(), "case variant") {
				return
			}
			t.Fatalf("%q is an object, but: %v", line, err)
		}
		var want string
		jsonx.Unmarshal(all["type"], &want)
		if frame.Type != want {
			t.Errorf("%q: type %q, want %q", line, frame.Type, want)
		}
		for name, value := range all {
			if got := frame.Member(name); string(got) != string(value) {
				t.Errorf("%q: member %q = %q, want %q", line, name, got, value)
			}
		}
	})
}

// checkControlFrame compares the content of control frames with a full decode.
func checkControlFrame(t *testing.T, f wire.Frame) {
	var body struct {
		Subtype string          `json:"subtype"`
		ID      json.RawMessage `json:"request_id"`
		Payload json.RawMessage `json:"response"`
	}
	if r, err := f.Request(); err == nil && jsonx.Unmarshal(r.Body, &body) == nil && utf8.Valid(r.Body) && body.Subtype != r.Subtype {
		t.Errorf("%q: subtype %q, want %q", f.Line, r.Subtype, body.Subtype)
	}
	body.Payload, body.ID = nil, nil
	r, err := f.Response()
	if err != nil || jsonx.Unmarshal(r.Body, &body) != nil {
		return
	}
	if r.Err == nil && r.Payload != nil && string(r.Payload) != string(body.Payload) || jsonx.ID(body.ID) && string(r.ID) != string(body.ID) {
		t.Errorf("%q: %q %q, want %q %q", f.Line, r.ID, r.Payload, body.ID, body.Payload)
	}
}

func BenchmarkParse(b *testing.B) {
	line := []byte(`{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello there, this is text"}},"parent_tool_use_id":null,"session_id":"3f9845ee-3d15-49bc-9e60-a8210e7a1993","uuid":"5979d4cf-5d39-48a6-b225-510d7172692e"}`)
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := wire.Parse(line); err != nil {
			b.Fatal(err)
		}
	}
}
