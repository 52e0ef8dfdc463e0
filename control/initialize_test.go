package control_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/permission"
)

func TestInitialize(t *testing.T) {
	tests := []struct {
		name string
		in   control.Initialize
		want string
	}{
		{"zero", control.Initialize{}, `{}`},
		{"hooks", control.Initialize{Hooks: map[string][]control.HookMatcher{
			"PreToolUse": {
				{CallbackIDs: []string{"hook_0"}},
				{Matcher: new("Write|Edit"), CallbackIDs: []string{"hook_1"}, Timeout: 2.5, OnFailure: "block"},
			},
			"Stop": {{}},
		}}, `{"hooks":{"PreToolUse":[{"matcher":null,"hookCallbackIds":["hook_0"]},{"matcher":"Write|Edit","hookCallbackIds":["hook_1"],"timeout":2.5,"onFailure":"block"}],"Stop":[{"matcher":null,"hookCallbackIds":[]}]}}`},
		{"empty prompt", control.Initialize{SystemPrompt: []string{""}, Skills: []string{}}, `{"skills":[],"systemPrompt":""}`},
		{"servers", control.Initialize{
			SDKMCPServers:               []string{"x"},
			SDKMCPServerConfigs:         map[string]control.SDKMCPServerConfig{"x": {Timeout: 5000, Tools: []control.MCPToolPolicy{{Name: "add", PermissionPolicy: "always_ask"}}}},
			SDKMCPServerManifests:       map[string]control.SDKMCPServerManifest{"x": {InitializeResult: raw(`{"a":1}`)}},
			SDKMCPServerManifestsOrigin: "host_per_send",
		}, `{"sdkMcpServers":["x"],"sdkMcpServerConfigs":{"x":{"timeout":5000,"tools":[{"name":"add","permission_policy":"always_ask"}]}},"sdkMcpServerManifests":{"x":{"initializeResult":{"a":1}}},"sdkMcpServerManifestsOrigin":"host_per_send"}`},
		{"agents", control.Initialize{Agents: map[string]control.AgentDefinition{"a": {
			Description: "d", Prompt: "p", Tools: []string{}, DisallowedTools: []string{"Bash"}, Model: "inherit", MCPServers: []any{"x"}, Skills: []string{"s"},
			InitialPrompt: "i", MaxTurns: 3, AutoCompactWindow: 4, Background: true, OmitClaudeMD: true, Memory: "user", Effort: "high",
			PermissionMode: permission.ModePlan, CriticalSystemReminder: "c",
		}}}, `{"agents":{"a":{"description":"d","prompt":"p","tools":[],"disallowedTools":["Bash"],"model":"inherit","mcpServers":["x"],"skills":["s"],"initialPrompt":"i","maxTurns":3,"autoCompactWindow":4,"background":true,"omitClaudeMd":true,"memory":"user","effort":"high","permissionMode":"plan","criticalSystemReminder_EXPERIMENTAL":"c"}}}`},
		{"effort in digits", control.Initialize{Agents: map[string]control.AgentDefinition{"a": {Effort: "40"}, "b": {Effort: "040"}}},
			`{"agents":{"a":{"description":"","prompt":"","effort":40},"b":{"description":"","prompt":"","effort":"040"}}}`},
		{"the rest", control.Initialize{
			JSONSchema: raw(`{"type":"object"}`), AppendSystemPrompt: "a", AppendSubagentSystemPrompt: "b", SystemPromptSnapshot: raw(`true`),
			ExcludeDynamicSections: true, PlanModeInstructions: "p", ToolAliases: map[string]string{"A": "B"}, Title: "t",
			Plugins: []control.PluginConfig{{Type: "local", Path: "/repo/p", SkipMCPDiscovery: true}}, PromptSuggestions: true, AgentProgressSummaries: true,
			ForwardSubagentText: true, SupportedDialogKinds: []string{"k"}, PerTaskStopAffordance: true, ManagedSettings: raw(`{}`),
		}, `{"jsonSchema":{"type":"object"},"appendSystemPrompt":"a","appendSubagentSystemPrompt":"b","systemPromptSnapshot":true,"excludeDynamicSections":true,"planModeInstructions":"p","toolAliases":{"A":"B"},"title":"t","plugins":[{"type":"local","path":"/repo/p","skipMcpDiscovery":true}],"promptSuggestions":true,"agentProgressSummaries":true,"forwardSubagentText":true,"supportedDialogKinds":["k"],"perTaskStopAffordance":true,"managedSettings":{}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := jsonx.Marshal(tt.in)
			if err != nil || string(got) != tt.want {
				t.Fatalf("got  %s, %v\nwant %s", got, err, tt.want)
			}
			var back control.Initialize
			if err := jsonx.Unmarshal(got, &back); err != nil {
				t.Fatal(err)
			}
			if string(back.Raw) != tt.want {
				t.Errorf("Raw = %s", back.Raw)
			}
			again, err := jsonx.Marshal(back)
			if err != nil || string(again) != tt.want {
				t.Errorf("again: got %s, %v, want %s", again, err, tt.want)
			}
		})
	}
}

func TestInitializeOlderForms(t *testing.T) {
	tests := []struct {
		name, in string
		prompt   []string
		servers  []string
	}{
		{"prompt as a string", `{"systemPrompt":"p"}`, []string{"p"}, nil},
		{"prompt as a list", `{"systemPrompt":["p","q"]}`, []string{"p", "q"}, nil},
		{"an empty prompt is one too", `{"systemPrompt":""}`, []string{""}, nil},
		{"no prompt", `{"systemPrompt":null,"hooks":null}`, nil, nil},
		{"older servers", `{"mcp_servers":["x"],"enable_file_checkpointing":true}`, nil, []string{"x"}},
		{"both", `{"mcp_servers":["x"],"sdkMcpServers":["y"]}`, nil, []string{"y"}},
		{"servers of another kind", `{"mcp_servers":{"x":{}},"systemPrompt":["p"]}`, []string{"p"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got control.Initialize
			if err := jsonx.Unmarshal([]byte(tt.in), &got); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got.SystemPrompt, tt.prompt) || !slices.Equal(got.SDKMCPServers, tt.servers) {
				t.Errorf("got prompt %q, servers %q, want %q, %q", got.SystemPrompt, got.SDKMCPServers, tt.prompt, tt.servers)
			}
		})
	}
	if err := new(control.Initialize).UnmarshalJSON([]byte(`{`)); err == nil {
		t.Error("broken JSON: no error")
	}
}
