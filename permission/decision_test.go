package permission_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/permission"
)

// odd holds what a decoder that decodes and encodes would change: a lone
// surrogate, escapes, a number beyond float64, blanks and member order.
const odd = `{"z": "\ud83d \u003c \/", "n":123456789012345678901234567890, "f":1.0e400 ,"a":[ ]}`

func TestReply(t *testing.T) {
	type edit struct {
		Path string `json:"path"`
	}
	suggestion := permission.AllowRule("Bash", "ls *", permission.ToLocalSettings)
	tests := []struct {
		name     string
		decision permission.Decision
		input    string
		toolUse  string
		want     string
	}{
		{"allow echoes the bytes", permission.Allow(), odd, "toolu_1",
			`{"behavior":"allow","updatedInput":` + odd + `,"toolUseID":"toolu_1"}`},
		{"allow without a tool use", permission.Allow(), `{}`, "",
			`{"behavior":"allow","updatedInput":{}}`},
		{"allow without input", permission.Allow(), ``, "t",
			`{"behavior":"allow","updatedInput":{},"toolUseID":"t"}`},
		{"allow with null input", permission.Allow(), ` null `, "t",
			`{"behavior":"allow","updatedInput":{},"toolUseID":"t"}`},
		{"allow over several lines", permission.Allow(), "{\n \"a\": 1\n}", "",
			`{"behavior":"allow","updatedInput":{"a":1}}`},
		{"allow and remember", permission.Allow(suggestion), `{"a":1}`, "t",
			`{"behavior":"allow","updatedInput":{"a":1},"updatedPermissions":[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"ls *"}],"behavior":"allow","destination":"localSettings"}],"toolUseID":"t"}`},
		{"changed by struct", permission.AllowWith(edit{"/repo/a"}), `{"path":"/etc"}`, "t",
			`{"behavior":"allow","updatedInput":{"path":"/repo/a"},"toolUseID":"t"}`},
		{"changed by raw JSON", permission.AllowWith(json.RawMessage(odd)), `{"a":1}`, "",
			`{"behavior":"allow","updatedInput":` + odd + `}`},
		{"changed to empty where it was empty", permission.AllowWith(struct{}{}), `{ }`, "",
			`{"behavior":"allow","updatedInput":{}}`},
		{"deny", permission.Deny("not \"here\""), `{}`, "t",
			`{"behavior":"deny","message":"not \"here\"","toolUseID":"t"}`},
		{"deny without message", permission.Deny(""), `{}`, "",
			`{"behavior":"deny","message":"The tool call was denied."}`},
		{"deny and stop", permission.DenyAndStop("stop"), `{}`, "t",
			`{"behavior":"deny","message":"stop","interrupt":true,"toolUseID":"t"}`},
		{"pass", permission.Pass(), `{"a":1}`, "t",
			`{"behavior":"deny","message":"The tool call was denied because nothing decided on it.","toolUseID":"t"}`},
		{"zero", permission.Decision{}, `{"a":1}`, "",
			`{"behavior":"deny","message":"The tool call was denied because nothing decided on it."}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req := &permission.Request{ToolName: "X", ToolUseID: tt.toolUse}
			if tt.input != "" {
				req.Input = json.RawMessage(tt.input)
			}
			got, err := tt.decision.Reply(req)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if strings.ContainsRune(string(got), '\n') {
				t.Errorf("reply has a line break: %q", got)
			}
		})
	}
}

func TestReplyRefuses(t *testing.T) {
	tests := []struct {
		name     string
		decision permission.Decision
		input    string
	}{
		{"nil", permission.AllowWith(nil), `{}`},
		{"nil map", permission.AllowWith(map[string]any(nil)), `{}`},
		{"array", permission.AllowWith([]int{1}), `{}`},
		{"raw null", permission.AllowWith(json.RawMessage("null")), `{}`},
		{"raw nothing", permission.AllowWith(json.RawMessage(nil)), `{}`},
		{"raw broken", permission.AllowWith(json.RawMessage(`{"a":`)), `{}`},
		{"raw with trailing text", permission.AllowWith(json.RawMessage(`{} {}`)), `{}`},
		{"raw with a repeated name", permission.AllowWith(json.RawMessage(`{"a":1,"a":2}`)), `{}`},
		{"cannot be encoded", permission.AllowWith(func() {}), `{}`},
		{"emptied", permission.AllowWith(struct{}{}), `{"command":"rm"}`},
		{"original is not JSON", permission.Allow(), `{"a":`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.decision.Reply(&permission.Request{Input: json.RawMessage(tt.input)})
			if err == nil {
				t.Errorf("got %s, want an error", got)
			}
		})
	}
}

func TestDecisionAccessors(t *testing.T) {
	if d := permission.Pass(); d.Behavior() != "" || d.Interrupts() || d.Message() != "" {
		t.Errorf("Pass = %+v, want nothing set", d)
	}
	d := permission.DenyAndStop("no")
	if d.Behavior() != permission.BehaviorDeny || !d.Interrupts() || d.Message() != "no" {
		t.Errorf("DenyAndStop = %q %v %q", d.Behavior(), d.Interrupts(), d.Message())
	}
	updates := []permission.Update{permission.SetMode(permission.ModePlan, permission.ToSession)}
	d = permission.AllowWith(7, updates...)
	updates[0].Mode = permission.ModeAuto
	if in, changed := d.Input(); in != 7 || !changed {
		t.Errorf("Input = %v, %v, want 7, true", in, changed)
	}
	if got := d.Updates()[0].Mode; got != permission.ModePlan {
		t.Errorf("Updates kept the caller's slice: mode %q", got)
	}
	if _, changed := permission.Allow().Input(); changed {
		t.Error("Allow says that the input was changed")
	}
}

func TestDecisionJSON(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"allow", `{"behavior":"allow"}`, `{"behavior":"allow"}`},
		{"allow with the tool use", `{"behavior":"allow","updatedInput":{"a":1},"toolUseID":"t"}`, `{"behavior":"allow","updatedInput":{"a":1}}`},
		{"empty input means unchanged", `{"behavior":"allow","updatedInput":{}}`, `{"behavior":"allow"}`},
		{"updates", `{"behavior":"allow","updatedPermissions":[{"type":"setMode","mode":"plan","destination":"session","x":1}]}`,
			`{"behavior":"allow","updatedPermissions":[{"type":"setMode","mode":"plan","destination":"session","x":1}]}`},
		{"deny", `{"behavior":"deny","message":"no","interrupt":true}`, `{"behavior":"deny","message":"no","interrupt":true}`},
		{"deny without message", `{"behavior":"deny"}`, `{"behavior":"deny","message":"The tool call was denied."}`},
		{"null is pass", `null`, `null`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var d permission.Decision
			if err := d.UnmarshalJSON([]byte(tt.in)); err != nil {
				t.Fatal(err)
			}
			got, err := d.MarshalJSON()
			if err != nil || string(got) != tt.want {
				t.Errorf("got %s, %v, want %s", got, err, tt.want)
			}
		})
	}
	for _, in := range []string{`{}`, `{"behavior":"ask"}`, `{"behavior":"prompt"}`, `{"behavior":7}`, `"allow"`,
		`{"behavior":"allow","updatedInput":null}`, `{"behavior":"allow","updatedInput":[]}`, `{"behavior":`} {
		d := permission.Deny("before")
		if err := d.UnmarshalJSON([]byte(in)); err == nil {
			t.Errorf("Unmarshal(%s): no error", in)
		}
		if d.Behavior() == permission.BehaviorAllow {
			t.Errorf("Unmarshal(%s) allows", in)
		}
	}
	if got, err := permission.AllowWith(nil).MarshalJSON(); err == nil {
		t.Errorf("Marshal of a nil input = %s, want an error", got)
	}
}
