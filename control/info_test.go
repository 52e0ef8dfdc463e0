package control_test

import (
	"bytes"
	"os"
	"reflect"
	"slices"
	"testing"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/permission"
)

func TestInfo(t *testing.T) {
	data, err := os.ReadFile("testdata/initialize_reply.json")
	if err != nil {
		t.Fatal(err)
	}
	data = bytes.TrimSpace(data)
	var got control.Info
	if err := jsonx.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Raw, data) {
		t.Errorf("Raw = %s", got.Raw)
	}
	got.Raw = nil
	want := control.Info{
		Commands: []control.Command{
			{Name: "debug", Description: "d", ArgumentHint: "[issue]", Aliases: []string{"dbg"}, Builtin: true},
			{Name: "plan", Description: "p"},
		},
		Agents: []control.AgentInfo{{Name: "general", Description: "g"}, {Name: "search", Description: "s", Model: "inherit"}},
		Models: []control.ModelInfo{{
			Value: "default", ResolvedModel: "model-1", DisplayName: "Default", Description: "d", SupportsEffort: true,
			SupportedEffortLevels: []control.Effort{"low", "high"}, SupportsAdaptiveThinking: true, SupportsFastMode: true, SupportsAutoMode: true,
		}},
		Account:                control.Account{TokenSource: "none", APIKeySource: "ANTHROPIC_API_KEY", APIProvider: "firstParty"},
		OutputStyle:            "default",
		OutputStyles:           []string{"default", "brief"},
		UserOutputStylesDir:    "/home/user/.claude/output-styles",
		PID:                    17745,
		CLIVersion:             "2.1.325",
		PermissionMode:         permission.ModeDefault,
		Activity:               "idle",
		Capabilities:           []string{"interrupt_receipt_v1", "interrupt_cancel_queued_v1"},
		HooksApplied:           new(true),
		HookOnFailureSupported: true,
		SDKMCPManifestsParked:  map[string]string{"x": "parked"},
		FastModeState:          "off",
		FastModeDisabledReason: "sdk_opt_in_required",

		OtherHookAskOutranksHost: true,
		FeedbackMode:             control.FeedbackMode{Kind: "disabled"},
		AnalyticsDisabled:        true,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if !got.Has("interrupt_cancel_queued_v1") || got.Has("interrupt") {
		t.Errorf("Has is wrong about %v", got.Capabilities)
	}
}

func TestInfoOfOtherAges(t *testing.T) {
	tests := []struct {
		name, in     string
		capabilities []string
		supported    []string
		version      string
	}{
		{"empty", `{}`, nil, nil, ""},
		{"null", `null`, nil, nil, ""},
		{"no object", `"ok"`, nil, nil, ""},
		{"old shape", `{"supported_commands":["interrupt","set_model"],"capabilities":{"hooks":true,"permissions":true,"mcp":false,"level":2}}`,
			[]string{"hooks", "permissions"}, []string{"interrupt", "set_model"}, ""},
		{"fields of other kinds", `{"commands":"none","models":[7,{"value":"m"}],"pid":"x","capabilities":7,"hooks_applied":"yes","claude_code_version":"9.0.0"}`,
			nil, nil, "9.0.0"},
		{"capabilities of mixed kinds", `{"capabilities":["a",7],"claude_code_version":"9.0.0"}`, []string{"a"}, nil, "9.0.0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := control.Info{PID: 7}
			if err := got.UnmarshalJSON([]byte(tt.in)); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.Capabilities, tt.capabilities) || !slices.Equal(got.SupportedCommands, tt.supported) ||
				got.CLIVersion != tt.version || got.HooksApplied != nil || got.PID != 0 {
				t.Errorf("got %+v", got)
			}
			if string(got.Raw) != tt.in {
				t.Errorf("Raw = %s, want %s", got.Raw, tt.in)
			}
		})
	}
	if err := new(control.Info).UnmarshalJSON([]byte(`{"pid":`)); err == nil {
		t.Error("broken JSON: no error")
	}
}
