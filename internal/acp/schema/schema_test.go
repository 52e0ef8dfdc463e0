package schema_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/claude-agent-go/claude/internal/acp/schema"
)

// TestRoundTrip decodes and encodes objects of every shape. Nothing may be lost,
// least of all what these types do not know.
func TestRoundTrip(t *testing.T) {
	for _, test := range []struct {
		name, text string
		into       any
	}{
		{"unknown members", `{"cwd":"/p","mcpServers":[],"later":{"a":[1]},"_meta":{"k":"v"}}`, new(schema.NewSessionRequest)},
		{"chunk", `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"","more":1},"messageId":"m"}`, new(schema.SessionUpdate)},
		{"tool call", `{"sessionUpdate":"tool_call","toolCallId":"t","title":"T","rawInput":{},"content":[{"type":"diff","path":"/a","newText":""},{"type":"terminal","terminalId":"t"}],"locations":[]}`, new(schema.SessionUpdate)},
		{"unknown update", `{"sessionUpdate":"dance","steps":[1,2]}`, new(schema.SessionUpdate)},
		{"unknown content", `{"type":"smell","of":"roses"}`, new(schema.ContentBlock)},
		{"cancelled", `{"outcome":{"outcome":"cancelled"}}`, new(schema.RequestPermissionResponse)},
		{"selected", `{"outcome":{"outcome":"selected","optionId":"a"}}`, new(schema.RequestPermissionResponse)},
		{"stdio server", `{"name":"n","command":"/c","args":["x"],"env":[{"name":"A","value":"b"}]}`, new(schema.MCPServer)},
		{"http server", `{"type":"http","name":"n","url":"http://h","headers":[]}`, new(schema.MCPServer)},
		{"server of a new kind", `{"type":"pigeon","name":"n"}`, new(schema.MCPServer)},
		{"select", `{"id":"mode","name":"Mode","type":"select","currentValue":"a","options":[{"value":"a","name":"A"}]}`, new(schema.SessionConfigOption)},
		{"boolean", `{"id":"fast","name":"Fast","type":"boolean","currentValue":false}`, new(schema.SessionConfigOption)},
		{"form", `{"mode":"form","sessionId":"s","toolCallId":"t","message":"?","requestedSchema":{"type":"object","properties":{"q":{"type":"string","oneOf":[{"const":"A","title":"A"}]}}}}`, new(schema.CreateElicitationRequest)},
		{"accept", `{"action":"accept","content":{"q":"A","n":1}}`, new(schema.CreateElicitationResponse)},
		{"resource", `{"type":"resource","resource":{"uri":"file:///a","text":"","mimeType":"text/plain"}}`, new(schema.ContentBlock)},
		{"request id", `{"requestId":"a"}`, new(schema.CancelRequestNotification)},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := json.Unmarshal([]byte(test.text), test.into); err != nil {
				t.Fatal(err)
			}
			out, err := json.Marshal(test.into)
			if err != nil {
				t.Fatal(err)
			}
			var want, got any
			if json.Unmarshal([]byte(test.text), &want) != nil || json.Unmarshal(out, &got) != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("became %s\nfrom   %s", out, test.text)
			}
		})
	}
}

// TestChoice decodes into the pointer that the object names, and leaves what
// distinguishes it out of Extra.
func TestChoice(t *testing.T) {
	var b schema.ContentBlock
	if err := json.Unmarshal([]byte(`{"type":"text","text":"hi"}`), &b); err != nil || b.Text == nil || b.Text.Text != "hi" || b.Text.Extra != nil {
		t.Errorf("%+v, %v, want a text", b, err)
	}
	if err := json.Unmarshal([]byte(`{"type":"smell"}`), &b); err != nil || b.Text != nil || string(b.Extra["type"]) != `"smell"` {
		t.Errorf("%+v, %v, want an unknown object", b, err)
	}
	if err := json.Unmarshal([]byte(`{"type":"text","text":5}`), &b); err == nil {
		t.Error("a number as text is accepted")
	}
	out, err := json.Marshal(schema.NewSessionRequest{Cwd: "/p"})
	if err != nil || string(out) != `{"cwd":"/p","mcpServers":[]}` {
		t.Errorf("%s, %v, want a required list to be written", out, err)
	}
}
