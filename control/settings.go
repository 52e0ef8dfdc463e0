package control

import (
	"encoding/json"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// Settings are the settings in force and where they come from. The set of
// settings is open and growing, so the objects themselves stay raw.
type Settings struct {
	// Effective is the merged settings object.
	Effective json.RawMessage `json:"effective"`
	// Sources are the settings of each source, before merging.
	Sources []SettingsSource `json:"sources"`
	// Applied is how the session applies them.
	Applied AppliedSettings `json:"applied,omitzero"`
	// Errors describes settings that were refused.
	Errors json.RawMessage `json:"errors,omitzero"`
	Raw    json.RawMessage `json:"-"`
}

// SettingsSource is the settings object of one source, for example
// "userSettings".
type SettingsSource struct {
	Source   string          `json:"source"`
	Settings json.RawMessage `json:"settings"`
}

// AppliedSettings are the values in use, decided by settings, flags and
// requests together.
type AppliedSettings struct {
	Model  string `json:"model,omitzero"`
	Effort Effort `json:"effort,omitzero"`
	// Advisor is the second model that is asked for advice, nil for none.
	Advisor json.RawMessage `json:"advisor,omitzero"`

	Ultracode           bool `json:"ultracode,omitzero"`
	UltracodeAvailable  bool `json:"ultracodeAvailable,omitzero"`
	UltracodeRequested  bool `json:"ultracodeRequested,omitzero"`
	UltrathinkAvailable bool `json:"ultrathinkAvailable,omitzero"`

	// OutsideFileToolReadsBlocked and OutsideFileToolWritesBlocked report that
	// the file tools stay inside the session's folders.
	// OutsideBlocksCountLaunchFoldersOnly reports that only the folders the
	// session was started with count.
	OutsideFileToolReadsBlocked         bool `json:"outsideFileToolReadsBlocked,omitzero"`
	OutsideFileToolWritesBlocked        bool `json:"outsideFileToolWritesBlocked,omitzero"`
	OutsideBlocksCountLaunchFoldersOnly bool `json:"outsideBlocksCountLaunchFoldersOnly,omitzero"`
	// LaunchEnvLeftOwnFilesInPlace reports that the environment at the start
	// did not move the CLI's own files elsewhere.
	LaunchEnvLeftOwnFilesInPlace bool `json:"launchEnvLeftOwnFilesInPlace,omitzero"`
}

// UnmarshalJSON decodes leniently: fields that do not fit stay zero.
func (v *Settings) UnmarshalJSON(data []byte) (err error) {
	type fields Settings
	*v = Settings{}
	v.Raw, err = soft(data, (*fields)(v))
	v.Applied.Advisor = notNull(v.Applied.Advisor)
	return err
}

// PermissionRules are the permission rules in force.
type PermissionRules struct {
	// Rules are the rules, each with its source.
	Rules []json.RawMessage
	// WorkspaceDirectories are the directories that tools may work in, in
	// addition to OriginalCwd, where the session started.
	WorkspaceDirectories []string
	OriginalCwd          string
	// ManagedOnly reports that only the administrator's rules count.
	ManagedOnly bool
	Raw         json.RawMessage
}

// permissionState is the wire form of PermissionRules, which the CLI wraps in
// a member "state".
type permissionState struct {
	State struct {
		Rules                []json.RawMessage    `json:"rules"`
		WorkspaceDirectories []workspaceDirectory `json:"workspaceDirectories"`
		OriginalCwd          string               `json:"originalCwd"`
		ManagedOnly          bool                 `json:"managedOnly"`
	} `json:"state"`
}

// UnmarshalJSON decodes leniently: fields that do not fit stay zero.
func (v *PermissionRules) UnmarshalJSON(data []byte) error {
	var f permissionState
	raw, err := soft(data, &f)
	if err != nil {
		return err
	}
	s := f.State
	*v = PermissionRules{s.Rules, nil, s.OriginalCwd, s.ManagedOnly, raw}
	for _, dir := range s.WorkspaceDirectories {
		v.WorkspaceDirectories = append(v.WorkspaceDirectories, dir.Path)
	}
	return nil
}

// workspaceDirectory is an object with a path, or the path alone.
type workspaceDirectory struct {
	Path string `json:"path"`
}

func (d *workspaceDirectory) UnmarshalJSON(data []byte) error {
	if jsonx.Unmarshal(data, &d.Path) == nil {
		return nil
	}
	type fields workspaceDirectory
	_, err := soft(data, (*fields)(d))
	return err
}

// MarshalJSON encodes the rules in the CLI's form.
func (v PermissionRules) MarshalJSON() ([]byte, error) {
	var f permissionState
	f.State.Rules = v.Rules
	f.State.WorkspaceDirectories = make([]workspaceDirectory, len(v.WorkspaceDirectories))
	for i, dir := range v.WorkspaceDirectories {
		f.State.WorkspaceDirectories[i].Path = dir
	}
	f.State.OriginalCwd = v.OriginalCwd
	f.State.ManagedOnly = v.ManagedOnly
	return jsonx.Marshal(f)
}

// PluginReload is the state of the session after its plugins were read again.
type PluginReload struct {
	Commands   []Command         `json:"commands"`
	Agents     []AgentInfo       `json:"agents"`
	Plugins    []Plugin          `json:"plugins"`
	MCPServers []MCPServerStatus `json:"mcpServers"`
	// ErrorCount counts the plugins that could not be loaded.
	ErrorCount int `json:"error_count"`
	// Held reports that the reload is waiting, because it would empty the
	// prompt cache and the request asked to hold it in that case.
	Held bool            `json:"held,omitzero"`
	Raw  json.RawMessage `json:"-"`
}

// Plugin is a loaded plugin.
type Plugin struct {
	Name    string `json:"name"`
	Path    string `json:"path"`
	Source  string `json:"source,omitzero"`
	Version string `json:"version,omitzero"`
}

// UnmarshalJSON decodes leniently: fields that do not fit stay zero.
func (v *PluginReload) UnmarshalJSON(data []byte) (err error) {
	type fields PluginReload
	*v = PluginReload{}
	v.Raw, err = soft(data, (*fields)(v))
	return err
}

// Hooks are the hooks from settings and plugins.
type Hooks struct {
	// Events are the events that have hooks.
	Events []json.RawMessage `json:"events"`
	// Hooks are the hooks, each with its source.
	Hooks []json.RawMessage `json:"hooks"`
	// Catalog lists all events that exist.
	Catalog []HookEventInfo `json:"eventCatalog,omitzero"`
	// Policy holds an administrator's decisions about hooks.
	Policy json.RawMessage `json:"policy,omitzero"`
	Raw    json.RawMessage `json:"-"`
}

// HookEventInfo describes an event in a [Hooks].
type HookEventInfo struct {
	Name            string `json:"name"`
	Summary         string `json:"summary,omitzero"`
	SupportsMatcher bool   `json:"supportsMatcher,omitzero"`
}

// UnmarshalJSON decodes leniently: fields that do not fit stay zero.
func (v *Hooks) UnmarshalJSON(data []byte) (err error) {
	type fields Hooks
	*v = Hooks{}
	v.Raw, err = soft(data, (*fields)(v))
	return err
}
