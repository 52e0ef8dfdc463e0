package message_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/message"
)

// recorded returns lines of a real CLI, with the prose taken out.
func recorded(tb testing.TB) []string {
	tb.Helper()
	f, err := os.Open("testdata/recorded.ndjson")
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var lines []string
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		lines = append(lines, sc.Text())
	}
	if err := sc.Err(); err != nil || len(lines) == 0 {
		tb.Fatalf("read %d lines, %v", len(lines), err)
	}
	return lines
}

// allLines returns the recorded lines and those of the tables.
func allLines(tb testing.TB) []string {
	lines := recorded(tb)
	for _, v := range slices.Concat(turn, notices, details) {
		lines = append(lines, v.line)
	}
	return lines
}

// mustDecode decodes a line that has to fit its type.
func mustDecode(tb testing.TB, line string) message.Message {
	tb.Helper()
	m, err := message.Decode([]byte(line))
	if err != nil {
		tb.Fatalf("Decode(%s) = %v", line, err)
	}
	return m
}

func dump(v any) string {
	b, err := json.MarshalIndent(v, "", " ")
	return fmt.Sprintf("%T %s %v", v, b, err)
}

func TestDecodeVariants(t *testing.T) {
	for _, v := range slices.Concat(turn, notices, details) {
		t.Run(v.want.Head().Type+"/"+v.want.Head().Subtype, func(t *testing.T) {
			raw := []byte(v.line)
			got, err := message.Decode(raw)
			if err != nil {
				t.Fatal(err)
			}
			if h := got.Head(); &h.Raw[0] != &raw[0] || len(h.Raw) != len(raw) {
				t.Errorf("Raw = %s, want the line itself", h.Raw)
			}
			got.Head().Raw = nil
			if !reflect.DeepEqual(got, v.want) {
				t.Errorf("got  %s\nwant %s", dump(got), dump(v.want))
			}
		})
	}
}

func TestDecodeRecorded(t *testing.T) {
	want := map[string]string{
		"assistant/":                      "*message.Assistant",
		"user/":                           "*message.User",
		"stream_event/":                   "*message.StreamEvent",
		"tool_progress/":                  "*message.ToolProgress",
		"command_lifecycle/":              "*message.CommandLifecycle",
		"conversation_reset/":             "*message.ConversationReset",
		"result/success":                  "*message.Result",
		"result/error_during_execution":   "*message.Result",
		"result/error_max_turns":          "*message.Result",
		"result/error_max_budget_usd":     "*message.Result",
		"system/init":                     "*message.Init",
		"system/api_retry":                "*message.APIRetry",
		"system/background_tasks_changed": "*message.BackgroundTasks",
		"system/compact_boundary":         "*message.CompactBoundary",
		"system/control_request_progress": "*message.ControlProgress",
		"system/informational":            "*message.Informational",
		"system/permission_denied":        "*message.PermissionDenied",
		"system/session_state_changed":    "*message.SessionState",
		"system/session_title_changed":    "*message.SessionTitle",
		"system/status":                   "*message.Status",
		"system/task_notification":        "*message.TaskNotification",
		"system/task_progress":            "*message.TaskProgress",
		"system/task_started":             "*message.TaskStarted",
		"system/task_updated":             "*message.TaskUpdated",
		"system/thinking_tokens":          "*message.ThinkingTokens",
		"system/ui_invalidate":            "*message.UIInvalidate",
	}
	seen := map[string]bool{}
	for _, line := range recorded(t) {
		m := mustDecode(t, line)
		var head struct {
			Type, Subtype, UUID string
			Session             string `json:"session_id"`
		}
		if err := json.Unmarshal([]byte(line), &head); err != nil {
			t.Fatal(err)
		}
		h := m.Head()
		if h.Type != head.Type || h.Subtype != head.Subtype || h.UUID != head.UUID || h.SessionID != head.Session {
			t.Errorf("header %+v, want %+v", h, head)
		}
		key := h.Type + "/" + h.Subtype
		seen[key] = true
		if got := fmt.Sprintf("%T", m); got != want[key] {
			t.Errorf("%s decoded to %s, want %s", key, got, want[key])
		}
	}
	for key := range want {
		if !seen[key] {
			t.Errorf("no recorded line for %s", key)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, in := range []string{
		"", " ", "hello", "{", `{"type":"user"`, `{"type":"user"} x`, `{"type":"user","type":"result"}`,
		`{"type":"result","num_turns":"x","is_error":`, `{"type":"stream_event","event":{"type":7,"type":8}}`,
		`{"type":"x","deep":{"a":1,"a":2}}`, `{"type":"assistant","message":{"content":[{"type":"text","text":7},]}}`,
	} {
		if m, err := message.Decode([]byte(in)); m != nil || err == nil || jsonx.Mismatch(err) {
			t.Errorf("Decode(%q) = %v, %v, want no message and an error that is not a mismatch", in, m, err)
		}
	}
}

func TestDecodeAs(t *testing.T) {
	raw := []byte(`{"state":"idle","subtype":"session_state_changed","type":"system"}`)
	m, err := message.DecodeAs("system", "session_state_changed", raw)
	if s, ok := m.(*message.SessionState); err != nil || !ok || s.State != message.ActivityIdle || s.Type != "system" {
		t.Errorf("DecodeAs = %s, %v", dump(m), err)
	}
	if m, err := message.DecodeAs("result", "success", []byte(`{"type":`)); m != nil || err == nil {
		t.Errorf("DecodeAs of a cut line = %v, %v", m, err)
	}
}

func TestDecodeOddJSON(t *testing.T) {
	tests := []struct {
		in, want string
		mismatch bool
	}{
		{`[1]`, "*message.Unknown", true},
		{`7`, "*message.Unknown", true},
		{`"assistant"`, "*message.Unknown", true},
		{`null`, "*message.Unknown", false},
		{`{}`, "*message.Unknown", false},
		{`{"type":7}`, "*message.Unknown", true},
		{`{"type":"Assistant"}`, "*message.Unknown", false},
		{`{"type":"system"}`, "*message.System", false},
		{`{"type":"system","subtype":["init"]}`, "*message.System", true},
		{`{"a":{"type":"user"},"type":"result"}`, "*message.Result", false},
		{`{"type":"assistant","message":null}`, "*message.Assistant", false},
		{`{"type":"assistant","message":[]}`, "*message.Assistant", true},
		{`{"type":"stream_event"}`, "*message.StreamEvent", false},
		{`{"type":"stream_event","event":"x"}`, "*message.StreamEvent", true},
		{`{"type":"user","message":{"content":7}}`, "*message.User", true},
		{`{"type":"error","error":[]}`, "*message.Error", true},
		{` {"type":"user"} `, "*message.User", false},
	}
	for _, tt := range tests {
		m, err := message.Decode([]byte(tt.in))
		if got := fmt.Sprintf("%T", m); got != tt.want || jsonx.Mismatch(err) != tt.mismatch || (err != nil) != tt.mismatch {
			t.Errorf("Decode(%s) = %s, %v, want %s, mismatch %v", tt.in, got, err, tt.want, tt.mismatch)
			continue
		}
		if string(m.Head().Raw) != tt.in {
			t.Errorf("Decode(%s): Raw = %s", tt.in, m.Head().Raw)
		}
	}
}

// A reader may recognise frequent messages by how they begin: what could be read
// in two ways is refused here.
func TestDecodeAsIsStrict(t *testing.T) {
	for typ, line := range map[string]string{
		"stream_event": `{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}},"uuid":"u"`,
		"assistant":    `{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"x"}]},"uuid":"u"`,
		"user":         `{"type":"user","message":{"role":"user","content":"x"},"uuid":"u"`,
		"result":       `{"type":"result","is_error":false,"result":"x","uuid":"u"`,
		"system":       `{"type":"system","uuid":"u"`,
		"new":          `{"type":"new","uuid":"u"`,
	} {
		for _, more := range []string{"", `,"new":{"Type":"y"}`, `,"kind":7`} {
			if m, err := message.DecodeAs(typ, "", []byte(line+more+"}")); m == nil || err != nil {
				t.Errorf("%s%s} = %v, %v", line, more, m, err)
			}
		}
		for _, more := range []string{
			`,"type":"control_request"`, `,"Type":"control_request"`, `,"TYPE":null`, `,"\u0074ype":"x"`,
			`,"request_\u0069d":"a","request_id":"b"`, `,"Request_id":"a"`, `,"Request":{}`, `,"\u017fubtype":"x"`, `,"Subtype":"x"`,
			`,"uuid":"v"`, `,"new":`, `}{`, `,`,
		} {
			if m, err := message.DecodeAs(typ, "", []byte(line+more+"}")); m != nil || err == nil {
				t.Errorf("%s%s} = %v, %v, want it refused", line, more, m, err)
			}
		}
	}
	if m, err := message.Decode([]byte(`{"Type":"assistant"}`)); m != nil || err == nil {
		t.Errorf("another case of type = %v, %v, want it refused", m, err)
	}
}

// encodeAs encodes by encoding/json as a user would, without its HTML escapes.
func encodeAs(tb testing.TB, v any) string {
	tb.Helper()
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		tb.Fatalf("encode %T: %v", v, err)
	}
	return strings.TrimSuffix(buf.String(), "\n")
}

func TestEncodeIsRaw(t *testing.T) {
	for _, line := range allLines(t) {
		m := mustDecode(t, line)
		if got := encodeAs(t, m); got != line {
			t.Errorf("encoded %s\nwant    %s", got, line)
		}
		// A copy of the struct must not lose the method.
		if got := encodeAs(t, reflect.ValueOf(m).Elem().Interface()); got != line {
			t.Errorf("encoded by value %s\nwant %s", got, line)
		}
	}
}

// Without Raw the fields are encoded. They must decode to the same message
// again, and must not add anything to the line.
func TestEncodeFields(t *testing.T) {
	for _, line := range allLines(t) {
		m := mustDecode(t, line)
		m.Head().Raw = nil
		out := encodeAs(t, m)
		again := mustDecode(t, out)
		if fmt.Sprintf("%T", again) != fmt.Sprintf("%T", m) {
			t.Errorf("%s became %T, want %T", out, again, m)
		}
		again.Head().Raw = nil
		if got := encodeAs(t, again); got != out {
			t.Errorf("second encoding %s\nfirst           %s", got, out)
		}
		switch m.(type) {
		case *message.System, *message.Unknown: // only Raw has all of it
		default:
			compareMembers(t, line, out)
		}
	}
}

// compareMembers wants every meaningful value of the line again, and nothing
// else but empty values and those that follow from the rest.
func compareMembers(t *testing.T, line, out string) {
	t.Helper()
	var was, is map[string]any
	if err := json.Unmarshal([]byte(line), &was); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(out), &is); err != nil {
		t.Fatal(err)
	}
	compareValues(t, "", was, is)
	for key, v := range is {
		if _, ok := was[key]; !ok && !saysNothing(v) && !derived(key) {
			t.Errorf("%s: member %s = %v is not in the line", out, key, v)
		}
	}
}

func compareValues(t *testing.T, path string, was, is any) {
	t.Helper()
	switch was := was.(type) {
	case map[string]any:
		object, _ := is.(map[string]any)
		for key, v := range was {
			if again, ok := object[key]; ok || !saysNothing(v) && !derived(key) {
				compareValues(t, path+"."+key, v, again)
			}
		}
		return
	case []any:
		if list, ok := is.([]any); ok && len(list) == len(was) {
			for i := range was {
				compareValues(t, fmt.Sprintf("%s[%d]", path, i), was[i], list[i])
			}
			return
		}
	}
	if !reflect.DeepEqual(was, is) && !slices.Contains(older, fmt.Sprintf("%s %v", path, was)) {
		t.Errorf("%s became %v, want %v", path, is, was)
	}
}

// older are values in a form of other peers, which is read and not written.
var older = []string{".message.content plain", ".delta.text part", ".delta.type text_delta", ".error m"}

func saysNothing(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, inner := range v {
			if !saysNothing(inner) {
				return false
			}
		}
		return true
	case []any:
		return len(v) == 0
	}
	return v == nil || reflect.ValueOf(v).IsZero()
}

// derived lists the members that are written although a line had only their
// older form, or in that place.
func derived(key string) bool {
	return slices.Contains([]string{"user_message_uuids", "user_message_uuid", "api_message_id", "message", "type", "role", "content", "delta"}, key)
}

func members(tb testing.TB, line string) map[string]json.RawMessage {
	tb.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		tb.Fatal(err)
	}
	return m
}

func TestUnmarshalJSON(t *testing.T) {
	for _, v := range turn {
		got := reflect.New(reflect.TypeOf(v.want).Elem()).Interface().(message.Message)
		data := []byte(v.line)
		if err := json.Unmarshal(data, got); err != nil {
			t.Errorf("Unmarshal(%s) = %v", v.line, err)
			continue
		}
		clear(data) // what is kept must be a copy
		if raw := got.Head().Raw; raw != nil && string(raw) != v.line {
			t.Errorf("Raw = %s, want %s", raw, v.line)
		}
		got.Head().Raw = nil
		if !reflect.DeepEqual(got, v.want) {
			t.Errorf("got  %s\nwant %s", dump(got), dump(v.want))
		}
	}
}

func TestSystemDecode(t *testing.T) {
	m := mustDecode(t, `{"type":"system","subtype":"new","title":"x"}`).(*message.System)
	var v struct{ Title string }
	if err := m.Decode(&v); err != nil || v.Title != "x" {
		t.Errorf("Decode = %+v, %v", v, err)
	}
	u := mustDecode(t, `{"type":"new","title":"y"}`).(*message.Unknown)
	if err := u.Decode(&v); err != nil || v.Title != "y" {
		t.Errorf("Decode = %+v, %v", v, err)
	}
	if err := new(message.System).Decode(&v); err == nil {
		t.Error("Decode without a raw line: no error")
	}
}

func TestLoneSurrogates(t *testing.T) {
	lines := []string{
		`{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\ud83d"}}}`,
		`{"type":"assistant","message":{"content":[{"type":"text","text":"\ud83d"},{"type":"tool_use","id":"c","name":"n","input":{"a":"\ud83d"}}]}}`,
		`{"type":"assistant","message":{"content":"\ud83d"}}`,
		`{"type":"result","subtype":"success","result":"\ud83d","is_error":false}`,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c","content":"\udc00"}]}}`,
		`{"type":"new\ud83d"}`,
	}
	for _, line := range lines {
		m := mustDecode(t, line)
		if got, err := jsonx.Marshal(m); err != nil || string(got) != line {
			t.Errorf("encoded %s, %v\nwant    %s", got, err, line)
		}
	}
	use := mustDecode(t, lines[1]).(*message.Assistant).ToolUses()[0]
	if got, want := string(use.Input), `{"a":"\ud83d"}`; got != want {
		t.Errorf("Input = %s, want %s", got, want)
	}
	if got, want := mustDecode(t, lines[3]).(*message.Result).Text, "\ufffd"; got != want {
		t.Errorf("Text = %q, want %q", got, want)
	}
}
