package message_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/message"
)

// Every member of every line, replaced by a value of another kind, may cost the
// fields that are read from it and nothing else.
func TestMutations(t *testing.T) {
	kinds := []string{`7`, `1e999`, `"x"`, `true`, `null`, `[7,"x",null,{}]`, `{"type":7,"content":{}}`}
	for i, line := range allLines(t) {
		if i%long.Pick(3, 1) != 0 {
			continue
		}
		whole := mustDecode(t, line)
		want := fieldsOf(whole)
		fields := members(t, line)
		for _, key := range slices.Sorted(maps.Keys(fields)) {
			kept := maps.Clone(want)
			for _, name := range fieldsFrom(whole, key) {
				delete(kept, name)
			}
			if key == "type" || key == "subtype" && whole.Head().Type == "system" {
				kept = nil // another kind of message, so another Go type
			}
			for _, kind := range kinds {
				mutated := maps.Clone(fields)
				mutated[key] = json.RawMessage(kind)
				raw, err := json.Marshal(mutated)
				if err != nil {
					t.Fatal(err)
				}
				checkMutation(t, raw, kept)
			}
		}
	}
}

func checkMutation(t *testing.T, raw []byte, kept map[string]any) {
	t.Helper()
	m, err := message.Decode(raw)
	if m == nil || err != nil && !jsonx.Mismatch(err) {
		t.Errorf("Decode(%s) = %v, %v, want a message", raw, m, err)
		return
	}
	if string(m.Head().Raw) != string(raw) {
		t.Errorf("Raw = %s, want %s", m.Head().Raw, raw)
	}
	v := reflect.ValueOf(m).Elem()
	for name, want := range kept {
		if got := v.FieldByName(name).Interface(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %T.%s = %v, want %v", raw, m, name, got, want)
		}
	}
}

// fieldsOf returns the values of m's fields, the header's among them.
func fieldsOf(m message.Message) map[string]any {
	out := map[string]any{}
	v := reflect.ValueOf(m).Elem()
	for _, f := range reflect.VisibleFields(v.Type()) {
		if !f.Anonymous && f.Name != "Raw" {
			out[f.Name] = v.FieldByIndex(f.Index).Interface()
		}
	}
	return out
}

// fieldsFrom returns the names of the fields that are read from a member.
func fieldsFrom(m message.Message, key string) []string {
	switch key {
	case "message", "content", "delta":
		switch m.(type) {
		case *message.Assistant:
			return []string{"ID", "Model", "Content", "StopReason", "StopSequence", "Usage", "Delta", "StopDetails", "Container", "ContextManagement", "Diagnostics"}
		case *message.User:
			return []string{"Content", "Plain"}
		}
	case "event":
		return []string{"Event", "EventType", "Index", "Delta", "ContentBlock", "Usage", "Model", "MessageID"}
	case "error":
		if _, ok := m.(*message.Error); ok {
			return []string{"ErrorType", "Message"}
		}
	case "api_message_id":
		return []string{"MessageID"}
	case "user_message_uuid", "user_message_uuids":
		return []string{"Prompts", "Prompt"}
	case "parent_tool_use_id":
		return []string{"ParentToolUseID"}
	case "result":
		return []string{"Text"}
	case "stop_reason":
		return []string{"StopReason"}
	case "timestamp":
		return []string{"Timestamp"}
	}
	for _, f := range reflect.VisibleFields(reflect.TypeOf(m).Elem()) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name == key {
			return []string{f.Name}
		}
	}
	return nil
}

func TestMismatchKeepsTheOutcome(t *testing.T) {
	m, err := message.Decode([]byte(`{"num_turns":"three","type":"result","usage":7,"errors":[{"a":1},"e"],"origin":3,"is_error":true,"user_message_uuids":["u1"]}`))
	if !jsonx.Mismatch(err) || !strings.Contains(err.Error(), "num_turns") {
		t.Errorf("error = %v, want a mismatch that names num_turns", err)
	}
	r, ok := m.(*message.Result)
	if !ok || !r.Failed() || len(r.Prompts) != 1 || !slices.Contains(r.Errors, "e") {
		t.Errorf("got %s, want the outcome and the ids", dump(m))
	}
}
