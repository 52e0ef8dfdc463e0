package wire_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/wire"
)

func parse(t *testing.T, line string) wire.Frame {
	t.Helper()
	f, err := wire.Parse([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestRequest(t *testing.T) {
	tests := []struct {
		name, line  string
		id          wire.ID
		subtype     string
		missing     string
		body        string
		idForPeople string
	}{
		{"as the CLI writes it", `{"type":"control_request","request_id":"u-1","request":{"subtype":"can_use_tool","input":{}}}`,
			`"u-1"`, "can_use_tool", "", `{"subtype":"can_use_tool","input":{}}`, "u-1"},
		{"wrapped in message", `{"type":"control_request","message":{"type":"control_request","request_id":"u-1","request":{"subtype":"x"}}}`,
			`"u-1"`, "x", "", `{"subtype":"x"}`, "u-1"},
		{"wrapped, id outside", `{"type":"control_request","request_id":"o","message":{"request":{"subtype":"x"}}}`,
			`"o"`, "x", "", `{"subtype":"x"}`, "o"},
		{"a body outside of a wrapper counts", `{"type":"control_request","request_id":"o","request":{"subtype":"x"},"message":{"request_id":"i","request":{"subtype":"y"}}}`,
			`"o"`, "x", "", `{"subtype":"x"}`, "o"},
		{"escaped id", `{"type":"control_request","request_id":"\u0061","request":{"subtype":"x"}}`, `"\u0061"`, "x", "", `{"subtype":"x"}`, "a"},
		{"id without text", `{"type":"control_request","request_id":"","request":{"subtype":"x"}}`, `""`, "x", "", `{"subtype":"x"}`, `""`},
		{"numeric id", `{"type":"control_request","request_id":7,"request":{"subtype":"x"}}`, "7", "x", "", `{"subtype":"x"}`, "7"},
		{"no id", `{"type":"control_request","request":{"subtype":"x"}}`, "", "", "request_id", "", ""},
		{"null id", `{"type":"control_request","request_id":null,"request":{"subtype":"x"}}`, "", "", "request_id", "", ""},
		{"id that is not JSON", `{"type":"control_request","request_id":abc,"request":{"subtype":"x"}}`, "", "", "request_id", "", ""},
		{"no request", `{"type":"control_request","request_id":"u-1"}`, `"u-1"`, "", "request", "", "u-1"},
		{"request that is not an object", `{"type":"control_request","request_id":"u-1","request":"x"}`, `"u-1"`, "", "request.subtype", `"x"`, "u-1"},
		{"no subtype", `{"type":"control_request","request_id":"u-1","request":{}}`, `"u-1"`, "", "request.subtype", "{}", "u-1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := parse(t, tt.line).Request()
			if e, ok := errors.AsType[*wire.MissingError](err); ok != (tt.missing != "") || ok && e.Field != tt.missing {
				t.Errorf("error = %v, want missing %q", err, tt.missing)
			}
			if r.ID != tt.id || r.Subtype != tt.subtype || string(r.Body) != tt.body || r.ID.String() != tt.idForPeople {
				t.Errorf("got %+v", r)
			}
		})
	}
}

// A request that could be read in two ways is refused, and still answered if
// its id is certain.
func TestRequestReadInTwoWays(t *testing.T) {
	for line, id := range map[string]wire.ID{
		`{"type":"control_request","request_id":"u","request":{"subtype":"x","subtype":"y"}}`:                `"u"`,
		`{"type":"control_request","request_id":"u","message":{"request":{"subtype":"x"},"request":{}}}`:     `"u"`,
		`{"type":"control_request","message":{"request_id":"u","request_id":"v","request":{"subtype":"x"}}}`: "",
		`{"type":"control_request","request_id":"u","message":{"request_id":"v","request":{"subtype":"x"}}}`: "",

		`{"type":"control_request","request_id":"u","message":{"request":{"subtype":"x"}},"message":{"request":{"subtype":"y"}}}`: `"u"`,
		`{"type":"control_request","request_id":"u","message":{"request":{"subtype":"x"}},"Message":{"request":{"subtype":"y"}}}`: `"u"`,
		`{"type":"control_request","request_id":"u","Message":{"request":{"subtype":"x"}}}`:                                       `"u"`,
	} {
		r, err := parse(t, line).Request()
		if _, missing := errors.AsType[*wire.MissingError](err); err == nil || missing || r.ID != id {
			t.Errorf("%s: id %s, error %v, want id %s and the name that could be read in two ways", line, r.ID, err, id)
		}
	}
}

// A reply that names two requests belongs to neither.
func TestResponseWithTwoIDs(t *testing.T) {
	for _, line := range []string{
		`{"type":"control_response","request_id":"a","response":{"subtype":"success","request_id":"b"}}`,
		`{"type":"control_response","request_id":"a","response":{"subtype":"error","request_id":"b","error":"no"}}`,
		`{"response":{"subtype":"success","request_id":"1"},"type":"control_response","request_id":1}`,
	} {
		if r, err := parse(t, line).Response(); err == nil || r.ID != "" {
			t.Errorf("%s: accepted for request %s, error %v", line, r.ID, err)
		}
	}
}

// A line without a type may be a request whose sender waits for an answer.
func TestUntypedID(t *testing.T) {
	for line, want := range map[string]wire.ID{
		`{"request_id":"u","request":{"subtype":"x"}}`:         `"u"`,
		`{"request_id":"u"}`:                                   `"u"`,
		`{"request_id":"u","response":null}`:                   `"u"`,
		`{"type":"control_request","request_id":"u"}`:          "",
		`{"request_id":"u","response":{"subtype":"success"}}`:  "",
		`{"request":{"subtype":"x"}}`:                          "",
		`{"type":"","request_id":7,"request":{"subtype":"x"}}`: "7",
	} {
		if got := parse(t, line).UntypedID(); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

func TestCancelNamesItsRequest(t *testing.T) {
	f := parse(t, string(wire.EncodeCancel(wire.NewID(12))))
	if f.Type != wire.TypeCancel || f.CancelID() != wire.NewID(12) {
		t.Errorf("%q %q", f.Type, f.CancelID())
	}
	if id := parse(t, `{"type":"control_cancel_request","request_id":null}`).CancelID(); id != "" {
		t.Errorf("a cancel without an id names %q", id)
	}
}

func TestMissingErrorNamesTheField(t *testing.T) {
	_, err := parse(t, `{"type":"control_request","request_id":"u"}`).Request()
	if err == nil || err.Error() != "Missing required field: request" {
		t.Errorf("%v", err)
	}
}

func TestResponse(t *testing.T) {
	tests := []struct {
		name, line    string
		id            wire.ID
		payload, fail string
		missing       string
	}{
		{"success", `{"type":"control_response","response":{"subtype":"success","request_id":"req_1","response":{"mode":"plan"}}}`, `"req_1"`, `{"mode":"plan"}`, "", ""},
		{"success without payload", `{"type":"control_response","response":{"subtype":"success","request_id":"req_1"}}`, `"req_1"`, "", "", ""},
		{"null payload", `{"type":"control_response","response":{"subtype":"success","request_id":"req_1","response":null}}`, `"req_1"`, "", "", ""},
		{"other subtype is success", `{"type":"control_response","response":{"subtype":"can_use_tool_response","request_id":"req_1","response":{}}}`, `"req_1"`, "{}", "", ""},
		{"id at the top level", `{"type":"control_response","request_id":"req_1","response":{"subtype":"success"}}`, `"req_1"`, "", "", ""},
		{"the same id twice", `{"type":"control_response","request_id":"a","response":{"subtype":"success","request_id":"a"}}`, `"a"`, "", "", ""},
		{"error", `{"type":"control_response","response":{"subtype":"error","request_id":"req_1","error":"no","error_code":"unsupported_request"}}`, `"req_1"`, "", "no (unsupported_request)", ""},
		{"error that is an object", `{"type":"control_response","response":{"subtype":"error","request_id":"req_1","error":{"a":1}}}`, `"req_1"`, "", `{"a":1}`, ""},
		{"error without text", `{"type":"control_response","response":{"subtype":"error","request_id":"req_1"}}`, `"req_1"`, "", "error without a message", ""},
		{"no response", `{"type":"control_response"}`, "", "", "", "response"},
		{"no id", `{"type":"control_response","response":{"subtype":"success"}}`, "", "", "", "response.request_id"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := parse(t, tt.line).Response()
			if e, ok := errors.AsType[*wire.MissingError](err); ok != (tt.missing != "") || ok && e.Field != tt.missing {
				t.Errorf("error = %v, want missing %q", err, tt.missing)
			}
			if r.ID != tt.id || string(r.Payload) != tt.payload {
				t.Errorf("got %+v", r)
			}
			if fail := ""; r.Err != nil {
				fail = r.Err.Error()
				if fail != tt.fail {
					t.Errorf("fail = %q, want %q", fail, tt.fail)
				}
			} else if tt.fail != "" {
				t.Errorf("no failure, want %q", tt.fail)
			}
		})
	}
}

func TestEncode(t *testing.T) {
	id := wire.NewID(3)
	request := func(payload any) string {
		line, err := wire.EncodeRequest(id, "set_model", payload)
		if err != nil {
			t.Fatal(err)
		}
		return string(line)
	}
	success := func(payload string) string {
		line, err := wire.EncodeSuccess(id, json.RawMessage(payload))
		if err != nil {
			t.Fatal(err)
		}
		return string(line)
	}
	for got, want := range map[string]string{
		request(nil):                          `{"type":"control_request","request_id":"req_3","request":{"subtype":"set_model"}}`,
		request(map[string]any{"model": nil}): `{"type":"control_request","request_id":"req_3","request":{"subtype":"set_model","model":null}}`,
		request(json.RawMessage("{\n\"model\":\"\\u003c\"}")): `{"type":"control_request","request_id":"req_3","request":{"subtype":"set_model","model":"\u003c"}}`,
		success(""):                `{"type":"control_response","response":{"subtype":"success","request_id":"req_3"}}`,
		success(`{"a": "\ud83d"}`): `{"type":"control_response","response":{"subtype":"success","request_id":"req_3","response":{"a": "\ud83d"}}}`,
		success("{\n}"):            `{"type":"control_response","response":{"subtype":"success","request_id":"req_3","response":{}}}`,
		string(wire.EncodeError("7", &wire.ReplyError{Message: "no\nway"})):     `{"type":"control_response","response":{"subtype":"error","request_id":7,"error":"no\nway"}}`,
		string(wire.EncodeError(id, &wire.ReplyError{Message: "n", Code: "c"})): `{"type":"control_response","response":{"subtype":"error","request_id":"req_3","error":"n","error_code":"c"}}`,
		string(wire.EncodeCancel(id)):                                           `{"type":"control_cancel_request","request_id":"req_3"}`,
	} {
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if !jsonx.Valid([]byte(got)) {
			t.Errorf("%s is not JSON", got)
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	for _, payload := range []any{[]int{1}, "text", json.RawMessage("{"), func() {}} {
		line, err := wire.EncodeRequest(wire.NewID(1), "x", payload)
		if err == nil {
			t.Errorf("%v: encoded as %s", payload, line)
		}
		if _, ok := payload.(func()); ok && errors.Is(err, jsonx.ErrNotObject) {
			t.Errorf("a function does not encode, and the error says: %v", err)
		}
	}
	if line, err := wire.EncodeSuccess(wire.NewID(1), json.RawMessage("{\n")); err == nil {
		t.Errorf("encoded as %s", line)
	}
}

func TestOwn(t *testing.T) {
	for id, want := range map[wire.ID]bool{wire.NewID(0): true, wire.NewID(1 << 60): true, `"req_01"`: false, `"req_x"`: false, `"u"`: false, `7`: false, "": false} {
		if _, ok := id.Own(); ok != want {
			t.Errorf("%s: own = %v", id, ok)
		}
	}
	if n, _ := wire.NewID(42).Own(); n != 42 {
		t.Errorf("the 42nd id has the number %d", n)
	}
}
