package control

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/claude-agent-go/claude/permission"
)

// Info is the CLI's reply to initialize: it describes the CLI and its
// capabilities. Old CLIs send less of it, or nothing.
type Info struct {
	// Commands are the slash commands.
	Commands []Command `json:"commands,omitzero"`
	// Agents are the agents that can be started as subagents.
	Agents []AgentInfo `json:"agents,omitzero"`
	// Models are the models that can be chosen.
	Models []ModelInfo `json:"models,omitzero"`
	// Account is the account that pays for the session.
	Account Account `json:"account,omitzero"`
	// OutputStyle is the current output style.
	OutputStyle string `json:"output_style,omitzero"`
	// OutputStyles are the output styles that can be chosen.
	OutputStyles []string `json:"available_output_styles,omitzero"`
	// UserOutputStylesDir is where the user's own output styles are.
	UserOutputStylesDir string `json:"user_output_styles_dir,omitzero"`
	// PID is the process id of the CLI, as it sees itself.
	PID int `json:"pid,omitzero"`
	// CLIVersion is the version of the CLI.
	CLIVersion string `json:"claude_code_version,omitzero"`
	// CurrentModel is the model in use, if the CLI reports it.
	CurrentModel string `json:"current_model,omitzero"`
	// PermissionMode is the permission mode in use.
	PermissionMode permission.Mode `json:"current_permission_mode,omitzero"`
	// Activity is the CLI's state when it answered.
	Activity Activity `json:"session_state,omitzero"`
	// Capabilities names optional abilities of the protocol; see [Info.Has].
	Capabilities []string `json:"capabilities,omitzero"`
	// SupportedCommands are the control operations that an older peer lists.
	SupportedCommands []string `json:"supported_commands,omitzero"`
	// HooksApplied reports whether the hooks were registered; nil if the CLI
	// does not tell.
	HooksApplied *bool `json:"hooks_applied,omitzero"`
	// HookOnFailureSupported reports that the CLI can block when a hook fails.
	HookOnFailureSupported bool `json:"hook_on_failure_supported,omitzero"`
	// PluginsApplied reports whether the plugins of the request were loaded;
	// nil if the CLI does not tell.
	PluginsApplied *bool `json:"plugins_applied,omitzero"`
	// ManagedSettingsApplied reports whether the managed settings of the
	// request apply; nil if the CLI does not tell.
	ManagedSettingsApplied *bool `json:"managed_settings_applied,omitzero"`
	// SDKMCPManifestsParked reports what happened to the manifest sent ahead
	// for each in-process MCP server, for example "parked" or "malformed".
	SDKMCPManifestsParked map[string]string `json:"sdk_mcp_manifests_parked,omitzero"`
	// FastModeState is the state of fast mode, for example "off".
	FastModeState string `json:"fast_mode_state,omitzero"`
	// FastModeDisabledReason is why fast mode cannot be used.
	FastModeDisabledReason string `json:"fast_mode_disabled_reason,omitzero"`
	// OtherHookAskOutranksHost reports that a hook from the settings that wants
	// to ask a person prevails over a hook of the SDK that allows.
	OtherHookAskOutranksHost bool `json:"other_hook_ask_outranks_host,omitzero"`
	// FeedbackMode is where feedback from a person goes.
	FeedbackMode FeedbackMode `json:"feedback_mode,omitzero"`
	// AnalyticsDisabled reports that the CLI sends no usage statistics.
	AnalyticsDisabled bool `json:"analytics_disabled,omitzero"`
	// The next five report whether the session can be controlled from
	// elsewhere, and whether that is on automatically.
	RemoteControlAvailable          bool `json:"remote_control_available,omitzero"`
	RemoteControlAutoEnable         bool `json:"remote_control_auto_enable,omitzero"`
	RemoteControlAutoOnByDefault    bool `json:"remote_control_auto_on_by_default,omitzero"`
	RemoteControlAutoConnectDefault bool `json:"remote_control_auto_connect_default,omitzero"`
	IDERCAutoEnableGate             bool `json:"ide_rc_auto_enable_gate,omitzero"`
	// Raw is the whole reply as received.
	Raw json.RawMessage `json:"-"`
}

// FeedbackMode is where feedback from a person goes.
type FeedbackMode struct {
	// Kind is "post", "bundle", "share" or "disabled".
	Kind string `json:"kind"`
}

// Has reports whether the CLI named a capability, for example
// "interrupt_cancel_queued_v1".
func (i *Info) Has(capability string) bool {
	return slices.Contains(i.Capabilities, capability)
}

// Command is a slash command.
type Command struct {
	Name         string   `json:"name"`
	Description  string   `json:"description,omitzero"`
	ArgumentHint string   `json:"argumentHint,omitzero"`
	Aliases      []string `json:"aliases,omitzero"`
	Builtin      bool     `json:"builtin,omitzero"`
}

// AgentInfo is an agent that can be started as a subagent.
type AgentInfo struct {
	Name        string `json:"name"`
	Description string `json:"description,omitzero"`
	Model       string `json:"model,omitzero"`
}

// ModelInfo is a model you can choose. Value is the name to choose it by;
// ResolvedModel is the model behind that name.
type ModelInfo struct {
	Value                    string   `json:"value"`
	ResolvedModel            string   `json:"resolvedModel,omitzero"`
	DisplayName              string   `json:"displayName,omitzero"`
	Description              string   `json:"description,omitzero"`
	SupportsEffort           bool     `json:"supportsEffort,omitzero"`
	SupportedEffortLevels    []Effort `json:"supportedEffortLevels,omitzero"`
	SupportsAdaptiveThinking bool     `json:"supportsAdaptiveThinking,omitzero"`
	SupportsFastMode         bool     `json:"supportsFastMode,omitzero"`
	SupportsAutoMode         bool     `json:"supportsAutoMode,omitzero"`
	SupportsThinkingOff      bool     `json:"supportsThinkingOff,omitzero"`
}

// Account names the account and the kind of credential that a session uses. It
// holds no secret.
type Account struct {
	Email            string `json:"email,omitzero"`
	Organization     string `json:"organization,omitzero"`
	SubscriptionType string `json:"subscriptionType,omitzero"`
	TokenSource      string `json:"tokenSource,omitzero"`
	APIKeySource     string `json:"apiKeySource,omitzero"`
	APIProvider      string `json:"apiProvider,omitzero"`
}

// UnmarshalJSON decodes a reply to initialize from any version of the CLI.
func (i *Info) UnmarshalJSON(data []byte) error {
	type fields Info
	var f fields
	raw, err := soft(data, &f)
	if err != nil {
		return err
	}
	var loose struct {
		Capabilities           any `json:"capabilities"`
		HooksApplied           any `json:"hooks_applied"`
		PluginsApplied         any `json:"plugins_applied"`
		ManagedSettingsApplied any `json:"managed_settings_applied"`
	}
	if _, err := soft(data, &loose); err != nil {
		return err
	}
	f.Raw = raw
	f.Capabilities = capabilities(loose.Capabilities)
	// A value of another kind leaves a pointer to false behind, which would
	// read as a refusal.
	f.HooksApplied = told(loose.HooksApplied)
	f.PluginsApplied = told(loose.PluginsApplied)
	f.ManagedSettingsApplied = told(loose.ManagedSettingsApplied)
	*i = Info(f)
	return nil
}

// capabilities reads the list of names, or the older form
// {"hooks":true,"permissions":true}: the names whose value is true.
func capabilities(v any) (names []string) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if name, ok := e.(string); ok {
				names = append(names, name)
			}
		}
	case map[string]any:
		maps.DeleteFunc(v, func(_ string, on any) bool { return on != true })
		names = slices.Sorted(maps.Keys(v))
	}
	return names
}

func told(v any) *bool {
	if b, ok := v.(bool); ok {
		return &b
	}
	return nil
}
