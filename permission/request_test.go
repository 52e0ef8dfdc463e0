package permission_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/permission"
)

const bashRequest = `{"subtype":"can_use_tool","tool_name":"Bash","display_name":"Bash","input":{"command":"touch zz1"},` +
	`"description":"t","permission_suggestions":[` +
	`{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"touch zz1 *"}],"behavior":"allow","destination":"localSettings"},` +
	`{"type":"addDirectories","directories":["/repo"],"destination":"session"},` +
	`{"type":"setMode","mode":"acceptEdits","destination":"session"}],` +
	`"blocked_path":"/repo/zz1","decision_reason":"outside","decision_reason_type":"workingDir","tool_use_id":"toolu_1",` +
	`"agent_id":"a1","mcp_server":{"name":"x","source":"sdk"},"requires_user_interaction":true,"suppress_always_allow_rule":true,` +
	`"default_to_no":true,"classifier_approvable":true,"server_policy_ask_only":true,"title":"T",` +
	`"matched_ask_rule":{"source":"userSettings","tool_name":"Bash","rule_content":"touch *"},"new_field":[1]}`

func TestRequest(t *testing.T) {
	got := permission.Request{RequestID: "r1"}
	if err := jsonx.Unmarshal([]byte(bashRequest), &got); err != nil {
		t.Fatal(err)
	}
	if string(got.Raw) != bashRequest {
		t.Errorf("Raw = %s", got.Raw)
	}
	got.Raw = nil
	for i := range got.Suggestions {
		if len(got.Suggestions[i].Raw) == 0 {
			t.Errorf("suggestion %d has no Raw", i)
		}
		got.Suggestions[i].Raw = nil
	}
	want := permission.Request{
		RequestID:   "r1",
		ToolName:    "Bash",
		Input:       json.RawMessage(`{"command":"touch zz1"}`),
		ToolUseID:   "toolu_1",
		DisplayName: "Bash",
		Description: "t",
		Title:       "T",
		Suggestions: []permission.Update{
			permission.AllowRule("Bash", "touch zz1 *", permission.ToLocalSettings),
			permission.AddDirectories(permission.ToSession, "/repo"),
			permission.SetMode(permission.ModeAcceptEdits, permission.ToSession),
		},
		BlockedPath:             "/repo/zz1",
		Reason:                  "outside",
		ReasonType:              "workingDir",
		AgentID:                 "a1",
		MCPServer:               &permission.ToolServer{Name: "x", Source: "sdk"},
		RequiresUserInteraction: true,
		SuppressAlwaysAllow:     true,
		DefaultToNo:             true,
		ClassifierApprovable:    true,
		ServerPolicyAskOnly:     true,
		MatchedAskRule:          &permission.MatchedRule{Source: "userSettings", ToolName: "Bash", RuleContent: "touch *"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestRequestEncodes(t *testing.T) {
	got, err := jsonx.Marshal(&permission.Request{RequestID: "r", ToolName: "Read", Input: json.RawMessage(`{"a":"\ud83d"}`)})
	if want := `{"tool_name":"Read","input":{"a":"\ud83d"}}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func TestRequestTolerates(t *testing.T) {
	in := `{"tool_name":"Write","title":7,"mcp_server":"x","matched_ask_rule":[],"permission_suggestions":"deny","tool_use_id":"t","input":{"a":1}}`
	var got permission.Request
	if err := jsonx.Unmarshal([]byte(in), &got); err != nil {
		t.Fatal(err)
	}
	if got.ToolName != "Write" || got.ToolUseID != "t" || string(got.Input) != `{"a":1}` || got.Title != "" || got.MCPServer != nil || got.MatchedAskRule != nil {
		t.Errorf("got %+v, want the fields that fit", got)
	}
	if err := got.UnmarshalJSON([]byte(`null`)); err != nil {
		t.Errorf("null, which stands for nothing: %v", err)
	}
	if err := got.UnmarshalJSON([]byte(`{"tool_name":`)); err == nil {
		t.Error("broken JSON: no error")
	}
}

func TestDecodeInput(t *testing.T) {
	req := permission.Request{ToolName: "Bash", Input: json.RawMessage(`{"command":"ls"}`)}
	var in struct {
		Command string `json:"command"`
	}
	if err := req.DecodeInput(&in); err != nil || in.Command != "ls" {
		t.Errorf("DecodeInput = %+v, %v", in, err)
	}
	for _, input := range []string{`{"Command":"rm"}`, `{"command":"ls","COMMAND":"rm"}`, `{"command":"ls","command":"rm"}`} {
		odd := permission.Request{ToolName: "Bash", Input: json.RawMessage(input)}
		if err := odd.DecodeInput(&in); err == nil || !strings.Contains(err.Error(), "Bash") {
			t.Errorf("DecodeInput of %s: %+v, %v", input, in, err)
		}
	}
	if err := req.DecodeInput(new(int)); err == nil {
		t.Error("DecodeInput into an int: no error")
	}
	if err := new(permission.Request).DecodeInput(&in); err == nil {
		t.Error("DecodeInput without input: no error")
	}
}

func TestUpdateJSON(t *testing.T) {
	tests := []struct {
		name   string
		update permission.Update
		want   string
	}{
		{"allow rule", permission.AllowRule("Read", "", permission.ToSession),
			`{"type":"addRules","rules":[{"toolName":"Read"}],"behavior":"allow","destination":"session"}`},
		{"deny rule", permission.DenyRule("Bash", "rm *", permission.ToUserSettings),
			`{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"rm *"}],"behavior":"deny","destination":"userSettings"}`},
		{"mode", permission.SetMode(permission.ModePlan, permission.ToSession),
			`{"type":"setMode","mode":"plan","destination":"session"}`},
		{"directories", permission.AddDirectories(permission.ToCLIArg, "/a", "/b"),
			`{"type":"addDirectories","directories":["/a","/b"],"destination":"cliArg"}`},
		{"no rules", permission.Update{Type: permission.UpdateReplaceRules, Behavior: permission.BehaviorAsk, Destination: permission.ToProjectSettings},
			`{"type":"replaceRules","rules":[],"behavior":"ask","destination":"projectSettings"}`},
		{"no directories", permission.Update{Type: permission.UpdateRemoveDirectories, Destination: permission.ToSession},
			`{"type":"removeDirectories","directories":[],"destination":"session"}`},
		{"nothing", permission.Update{}, `{"type":""}`},
		{"moved", permission.AllowRule("Read", "", permission.ToLocalSettings).To(permission.ToSession),
			`{"type":"addRules","rules":[{"toolName":"Read"}],"behavior":"allow","destination":"session"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := jsonx.Marshal(tt.update)
			if err != nil || string(got) != tt.want {
				t.Errorf("got %s, %v, want %s", got, err, tt.want)
			}
		})
	}
}

func TestUpdateKeepsRaw(t *testing.T) {
	tests := []struct {
		name, in string
		typ      permission.UpdateType
	}{
		{"known", `{"destination":"session","type":"setMode","mode":"acceptEdits"}`, permission.UpdateSetMode},
		{"with more members", `{"type":"addRules","rules":[{"toolName":"Bash","why":"x"}],"behavior":"allow","destination":"session","label":"\u003c"}`, permission.UpdateAddRules},
		{"newer type", `{"type":"addHosts","hosts":["a"]}`, "addHosts"},
		{"string", `"deny"`, ""},
		{"other object", `{"behavior":"allow","message":"m"}`, ""},
		{"other type member", `{"type":"allow_always","pattern":"Bash(rm:*)"}`, "allow_always"},
		{"number", `12345678901234567890`, ""},
		{"null", `null`, ""},
		{"rules of another kind", `{"type":"addRules","rules":["Bash"]}`, permission.UpdateAddRules},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var list []permission.Update
			if err := jsonx.Unmarshal([]byte("["+tt.in+"]"), &list); err != nil || len(list) != 1 {
				t.Fatalf("got %d updates, %v", len(list), err)
			}
			u := list[0]
			if u.Type != tt.typ || string(u.Raw) != tt.in {
				t.Errorf("got type %q, raw %s, want %q, %s", u.Type, u.Raw, tt.typ, tt.in)
			}
			if tt.typ == "" && (u.Behavior != "" || u.Mode != "") {
				t.Errorf("got %+v, want only Raw", u)
			}
			if got, err := jsonx.Marshal(u); err != nil || string(got) != tt.in {
				t.Errorf("encoded %s, %v, want %s", got, err, tt.in)
			}
		})
	}
}

// What could be read in two ways is not read at all.
func TestUpdateReadInTwoWays(t *testing.T) {
	var u permission.Update
	const in = `{"type":"addRules","behavior":"allow","behavior":"deny"}`
	if err := u.UnmarshalJSON([]byte(in)); err != nil || u.Type != "" || u.Behavior != "" || string(u.Raw) != in {
		t.Errorf("got %+v, %v, want only Raw", u, err)
	}
}

func TestUpdateChanged(t *testing.T) {
	var u permission.Update
	in := `{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"ls"}],"behavior":"allow","destination":"localSettings"}`
	if err := jsonx.Unmarshal([]byte(in), &u); err != nil {
		t.Fatal(err)
	}
	got, err := jsonx.Marshal(u.To(permission.ToSession))
	want := `{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"ls"}],"behavior":"allow","destination":"session"}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func TestMode(t *testing.T) {
	for m, want := range map[permission.Mode]bool{"default": true, "acceptEdits": true, "bypassPermissions": true,
		"plan": true, "dontAsk": true, "auto": true, "": false, "Plan": false, "later": false} {
		if got := m.Valid(); got != want {
			t.Errorf("%q.Valid() = %v, want %v", m, got, want)
		}
	}
}
