package control_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/jsonx"
)

// result is a pointer to a result type.
type result interface {
	json.Unmarshaler
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

func TestResults(t *testing.T) {
	tests := []struct {
		in   string
		want result
	}{
		{`{"still_queued":["a"],"cancelled":["b"],"turn":1}`, &control.Interrupted{StillQueued: []string{"a"}, Cancelled: []string{"b"}}},
		{`{"canRewind":true,"filesChanged":["/repo/a"],"insertions":1,"deletions":2}`,
			&control.Rewind{CanRewind: true, FilesChanged: []string{"/repo/a"}, Insertions: 1, Deletions: 2}},
		{`{"canRewind":false,"error":"e","skippedLinks":3}`, &control.Rewind{Error: "e", SkippedLinks: 3}},
		{`{"output":"o","total_bytes":9000000000,"truncated":true}`, &control.TaskOutput{Output: "o", TotalBytes: 9000000000, Truncated: true}},
		{`{"contents":"hi\n","absPath":"/repo/a.txt","lossy":true,"encoding":"base64","truncated":true,"requested_path":"a.txt"}`,
			&control.FileContents{Contents: "hi\n", Path: "/repo/a.txt", RequestedPath: "a.txt", Lossy: true, Encoding: "base64", Truncated: true}},
		{`{"suggestions":[{"path":"a.go","score":0.5}],"cwd":"/repo"}`,
			&control.FileSuggestions{Suggestions: []control.FileSuggestion{{Path: "a.go", Score: 0.5}}, Cwd: "/repo"}},
		{`{"response":"r","synthetic":true}`, &control.SideAnswer{Response: "r", Synthetic: true}},
		{`{"categories":[{"id":"messages","name":"Messages","tokens":589,"color":"c","kind":"used"},{"name":"D","tokens":1,"kind":"deferred","isDeferred":true}],"totalTokens":2753,"maxTokens":1000000,"rawMaxTokens":1000000,"percentage":0.5,"gridRows":[[{"x":1}]],"model":"m","memoryFiles":[{"path":"/repo/I.md","type":"Project","tokens":10}],"autoCompactThreshold":967000,"isAutoCompactEnabled":true}`,
			&control.ContextUsage{
				Categories: []control.ContextCategory{
					{ID: "messages", Name: "Messages", Tokens: 589, Color: "c", Kind: "used"},
					{Name: "D", Tokens: 1, Kind: "deferred", Deferred: true},
				},
				TotalTokens: 2753, MaxTokens: 1000000, RawMaxTokens: 1000000, Percentage: 0.5, Model: "m",
				MemoryFiles:          []control.MemoryFile{{Path: "/repo/I.md", Type: "Project", Tokens: 10}},
				AutoCompactThreshold: 967000, AutoCompact: true, GridRows: raw(`[[{"x":1}]]`),
			}},
		{`{"categories":[],"totalTokens":0,"maxTokens":0,"rawMaxTokens":0,"percentage":0,"model":"","memoryFiles":[],"isAutoCompactEnabled":false,"autocompactSource":"model-default","messageBreakdown":{"toolCallTokens":1,"toolResultTokens":2,"attachmentTokens":3,"assistantMessageTokens":4,"userMessageTokens":5,"redirectedContextTokens":6,"unattributedTokens":7,"toolCallsByType":[{"a":1}],"attachmentsByType":[{"name":"date","tokens":9}]},"skills":{"totalSkills":1,"includedSkills":2,"tokens":3,"skillFrontmatter":[{"name":"s","source":"built-in","tokens":4}]},"slashCommands":{"totalCommands":1,"includedCommands":2,"tokens":3},"apiUsage":null,"agents":[{"b":1}],"mcpTools":[{"c":1}],"mcpInstructions":[{"d":1}]}`,
			&control.ContextUsage{
				Categories: []control.ContextCategory{}, MemoryFiles: []control.MemoryFile{}, AutoCompactSource: "model-default",
				MessageBreakdown: control.MessageBreakdown{
					ToolCallTokens: 1, ToolResultTokens: 2, AttachmentTokens: 3, AssistantMessageTokens: 4, UserMessageTokens: 5, RedirectedContextTokens: 6, UnattributedTokens: 7,
					ToolCallsByType: []json.RawMessage{raw(`{"a":1}`)}, AttachmentsByType: []control.NamedTokens{{Name: "date", Tokens: 9}},
				},
				Skills:        control.ContextSkills{Total: 1, Included: 2, Tokens: 3, Skills: []control.NamedTokens{{Name: "s", Source: "built-in", Tokens: 4}}},
				SlashCommands: control.ContextCommands{Total: 1, Included: 2, Tokens: 3},
				Agents:        []json.RawMessage{raw(`{"b":1}`)}, MCPTools: []json.RawMessage{raw(`{"c":1}`)}, MCPInstructions: []json.RawMessage{raw(`{"d":1}`)},
			}},
		{`{"session":{"total_cost_usd":0.25,"total_api_duration_ms":26,"total_duration_ms":3477,"total_lines_added":1,"total_lines_removed":2,"model_usage":{"m":{"inputTokens":10}}},"subscription_type":null,"rate_limits_available":true,"rate_limits":{"five_hour":{"utilization":1}},"behaviors":{"day":1}}`,
			&control.UsageReport{
				Session: control.SessionUsage{
					TotalCostUSD: 0.25, TotalAPIDurationMS: 26, TotalDurationMS: 3477, TotalLinesAdded: 1, TotalLinesRemoved: 2,
					ModelUsage: map[string]json.RawMessage{"m": raw(`{"inputTokens":10}`)},
				},
				RateLimitsAvailable: true, RateLimits: map[string]json.RawMessage{"five_hour": raw(`{"utilization":1}`)}, Behaviors: raw(`{"day":1}`),
			}},
		{`{"text":"Total cost: $0"}`, &control.SessionCost{Text: "Total cost: $0"}},
		{`{"version":"2.1.325","buildTime":"2026-11-13T18:52:23Z"}`, &control.BinaryVersion{Version: "2.1.325", BuildTime: "2026-11-13T18:52:23Z"}},
		{`{"name":"x","status":"connected","serverInfo":{"name":"x","version":"1.0"},"config":{"type":"sdk"},"scope":"dynamic","source":"sdk","transport":"sdk","tools":[{"name":"add","description":"d","annotations":{"readOnly":true},"_meta":{"k":1}}]}`,
			&control.MCPServerStatus{
				Name: "x", Status: control.MCPConnected, ServerInfo: &control.MCPServerInfo{Name: "x", Version: "1.0"},
				Config: raw(`{"type":"sdk"}`), Scope: "dynamic", Source: "sdk", Transport: "sdk",
				Tools: []control.MCPTool{{Name: "add", Description: "d", Annotations: control.MCPToolAnnotations{ReadOnly: true}, Meta: raw(`{"k":1}`)}},
			}},
		{`{"added":["a"],"removed":["b"],"errors":{"c":"e"}}`,
			&control.MCPSetResult{Added: []string{"a"}, Removed: []string{"b"}, Errors: map[string]string{"c": "e"}}},
		{`{"effective":{"a":1},"sources":[{"source":"userSettings","settings":{"a":1}}],"applied":{"model":"m","effort":"medium","advisor":null,"ultracode":true,"ultracodeAvailable":true,"ultracodeRequested":true,"ultrathinkAvailable":true,"outsideFileToolReadsBlocked":true,"outsideFileToolWritesBlocked":true,"outsideBlocksCountLaunchFoldersOnly":true,"launchEnvLeftOwnFilesInPlace":true}}`,
			&control.Settings{
				Effective: raw(`{"a":1}`), Sources: []control.SettingsSource{{Source: "userSettings", Settings: raw(`{"a":1}`)}},
				Applied: control.AppliedSettings{
					Model: "m", Effort: "medium", Ultracode: true, UltracodeAvailable: true, UltracodeRequested: true, UltrathinkAvailable: true,
					OutsideFileToolReadsBlocked: true, OutsideFileToolWritesBlocked: true, OutsideBlocksCountLaunchFoldersOnly: true, LaunchEnvLeftOwnFilesInPlace: true,
				},
			}},
		{`{"state":{"rules":[{"x":1}],"workspaceDirectories":["/repo"],"originalCwd":"/repo","managedOnly":true}}`,
			&control.PermissionRules{Rules: []json.RawMessage{raw(`{"x":1}`)}, WorkspaceDirectories: []string{"/repo"}, OriginalCwd: "/repo", ManagedOnly: true}},
		{`{"state":{"rules":[],"workspaceDirectories":[{"path":"/repo/sub","source":"session"}],"originalCwd":"/repo","managedOnly":false}}`,
			&control.PermissionRules{Rules: []json.RawMessage{}, WorkspaceDirectories: []string{"/repo/sub"}, OriginalCwd: "/repo"}},
		{`{"events":[],"hooks":[{"a":1}],"eventCatalog":[{"name":"Stop","supportsMatcher":true}],"policy":{}}`,
			&control.Hooks{Events: []json.RawMessage{}, Hooks: []json.RawMessage{raw(`{"a":1}`)}, Catalog: []control.HookEventInfo{{Name: "Stop", SupportsMatcher: true}}, Policy: raw(`{}`)}},
		{`{"content":[{"type":"text","text":"x"}],"structuredContent":{"a":1}}`,
			&control.MCPCallResult{Content: []json.RawMessage{raw(`{"type":"text","text":"x"}`)}, StructuredContent: raw(`{"a":1}`)}},
		{`{"commands":[{"name":"c"}],"agents":[{"name":"a"}],"plugins":[{"name":"p","path":"builtin","source":"s"}],"mcpServers":[],"error_count":1,"held":true}`,
			&control.PluginReload{
				Commands: []control.Command{{Name: "c"}}, Agents: []control.AgentInfo{{Name: "a"}},
				Plugins: []control.Plugin{{Name: "p", Path: "builtin", Source: "s"}}, MCPServers: []control.MCPServerStatus{}, ErrorCount: 1, Held: true,
			}},
		{`{"subtype":"elicitation","mcp_server_name":"eli","message":"Your name?","mode":"form","requested_schema":{"type":"object"},"property_order":["name"]}`,
			&control.Elicitation{ServerName: "eli", Message: "Your name?", Mode: "form", RequestedSchema: raw(`{"type":"object"}`), PropertyOrder: []string{"name"}}},
		{`{"subtype":"request_user_dialog","dialog_kind":"k","payload":{"a":1},"tool_use_id":"t"}`,
			&control.Dialog{Kind: "k", Payload: raw(`{"a":1}`), ToolUseID: "t"}},
	}
	for _, tt := range tests {
		typ := reflect.TypeOf(tt.want).Elem()
		t.Run(typ.Name(), func(t *testing.T) {
			reflect.ValueOf(tt.want).Elem().FieldByName("Raw").SetBytes([]byte(tt.in))
			got := reflect.New(typ)
			if err := jsonx.Unmarshal([]byte(tt.in), got.Interface()); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got.Interface(), tt.want) {
				t.Errorf("got  %+v\nwant %+v", got.Interface(), tt.want)
			}

			// What is encoded decodes to the same fields.
			encoded, err := jsonx.Marshal(got.Interface())
			if err != nil {
				t.Fatal(err)
			}
			again := reflect.New(typ)
			if err := jsonx.Unmarshal(encoded, again.Interface()); err != nil {
				t.Fatal(err)
			}
			again.Elem().FieldByName("Raw").SetBytes([]byte(tt.in))
			if nested := again.Elem().FieldByName("MCPServers"); nested.IsValid() && nested.Len() > 0 {
				t.Fatal("nested results keep a Raw of their own; leave them out of this test")
			}
			if !reflect.DeepEqual(again.Interface(), got.Interface()) {
				t.Errorf("encoded as %s", encoded)
			}

			soften(t, typ)
		})
	}
}

// soften checks that no shape of payload is an error, and that a second decode
// leaves nothing of the first.
func soften(t *testing.T, typ reflect.Type) {
	t.Helper()
	for _, in := range []string{`{}`, `null`, `[]`, `"x"`, `7`} {
		got := reflect.New(typ)
		if err := got.Interface().(result).UnmarshalJSON([]byte(in)); err != nil {
			t.Errorf("%s: %v", in, err)
		}
		if r := got.Elem().FieldByName("Raw").Bytes(); string(r) != in {
			t.Errorf("%s: Raw = %s", in, r)
		}
	}
	if err := reflect.New(typ).Interface().(result).UnmarshalJSON([]byte(`{`)); err == nil {
		t.Error("broken JSON: no error")
	}
}

func TestAnswerJSON(t *testing.T) {
	tests := []struct {
		name   string
		answer json.Marshaler
		want   string
	}{
		{"accept", control.Accept(map[string]string{"name": "n"}), `{"action":"accept","content":{"name":"n"}}`},
		{"accept raw", control.Accept(raw(`{"a":"\ud83d"}`)), `{"action":"accept","content":{"a":"\ud83d"}}`},
		{"accept an address", control.Accept(nil), `{"action":"accept"}`},
		{"decline", control.Decline(), `{"action":"decline"}`},
		{"cancel", control.Cancel(), `{"action":"cancel"}`},
		{"zero elicitation", control.ElicitationAnswer{}, `{"action":"decline"}`},
		{"declined content stays here", control.ElicitationAnswer{Content: 7}, `{"action":"decline"}`},
		{"dialog", control.CompleteDialog(7), `{"behavior":"completed","result":7}`},
		{"dialog without result", control.CompleteDialog(nil), `{"behavior":"completed","result":null}`},
		{"dialog cancelled", control.CancelDialog(), `{"behavior":"cancelled"}`},
		{"zero dialog", control.DialogAnswer{Result: 7}, `{"behavior":"cancelled"}`},
	}
	for _, tt := range tests {
		if got, err := jsonx.Marshal(tt.answer); err != nil || string(got) != tt.want {
			t.Errorf("%s: got %s, %v, want %s", tt.name, got, err, tt.want)
		}
	}
	for _, a := range []json.Marshaler{control.Accept(func() {}), control.Accept(raw(`{`)), control.CompleteDialog(func() {}), control.CompleteDialog(raw(``))} {
		if got, err := a.MarshalJSON(); err == nil {
			t.Errorf("got %s, want an error", got)
		}
	}
}

func TestAnswersDecode(t *testing.T) {
	var e control.ElicitationAnswer
	if err := jsonx.Unmarshal([]byte(`{"action":"accept","content":{"a":1}}`), &e); err != nil {
		t.Fatal(err)
	}
	if want := control.Accept(raw(`{"a":1}`)); !reflect.DeepEqual(e, want) {
		t.Errorf("got %+v, want %+v", e, want)
	}
	if err := jsonx.Unmarshal([]byte(`{"action":"decline"}`), &e); err != nil || e != control.Decline() {
		t.Errorf("got %+v, %v, want %+v", e, err, control.Decline())
	}
	var d control.DialogAnswer
	if err := jsonx.Unmarshal([]byte(`{"behavior":"completed","result":[1]}`), &d); err != nil {
		t.Fatal(err)
	}
	if want := control.CompleteDialog(raw(`[1]`)); !reflect.DeepEqual(d, want) {
		t.Errorf("got %+v, want %+v", d, want)
	}
	if err := jsonx.Unmarshal([]byte(`{"behavior":"later","result":1}`), &d); err != nil || d != control.CancelDialog() {
		t.Errorf("got %+v, %v, want %+v", d, err, control.CancelDialog())
	}
}
