package claude

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/claude-agent-go/claude/internal/scratch"
)

// Sandbox confines the shell commands of a session by means of the operating
// system. Nil pointers and zero fields leave the choice to the CLI. Write
// new(false) to turn off a switch that is on by default.
type Sandbox struct {
	// Enabled turns the sandbox on.
	Enabled bool `json:"enabled"`
	// FailIfUnavailable refuses to start where no sandbox is available,
	// instead of running without one. Nil: true, if Enabled.
	FailIfUnavailable *bool `json:"failIfUnavailable,omitzero"`
	// AutoAllowBash runs commands inside the sandbox without asking.
	AutoAllowBash *bool `json:"autoAllowBashIfSandboxed,omitzero"`
	// AllowUnsandboxed lets Claude ask to run a command outside the sandbox.
	AllowUnsandboxed *bool `json:"allowUnsandboxedCommands,omitzero"`
	// ExcludedCommands always run outside the sandbox.
	ExcludedCommands []string `json:"excludedCommands,omitzero"`
	// Network and Filesystem limit the reach of commands inside.
	Network    SandboxNetwork    `json:"network,omitzero"`
	Filesystem SandboxFilesystem `json:"filesystem,omitzero"`
	// Nested weakens the sandbox so that it can run inside a container.
	Nested bool `json:"enableWeakerNestedSandbox,omitzero"`
	// Extra holds sandbox settings that have no field here, by their names in
	// a settings file. A field of the same name takes precedence.
	Extra map[string]any `json:"-"`
}

// SandboxNetwork limits what commands in a [Sandbox] can reach over the
// network.
type SandboxNetwork struct {
	AllowedDomains []string `json:"allowedDomains,omitzero"`
	DeniedDomains  []string `json:"deniedDomains,omitzero"`
	// StrictAllowlist denies other domains without asking.
	StrictAllowlist bool `json:"strictAllowlist,omitzero"`
	// AllowUnixSockets are paths of sockets; AllowAllUnixSockets allows any.
	AllowUnixSockets    []string `json:"allowUnixSockets,omitzero"`
	AllowAllUnixSockets bool     `json:"allowAllUnixSockets,omitzero"`
	// AllowLocalBinding lets commands listen on ports of this machine.
	AllowLocalBinding bool `json:"allowLocalBinding,omitzero"`
	// HTTPProxyPort and SOCKSProxyPort are the ports of proxies to use instead
	// of the sandbox's own.
	HTTPProxyPort  int `json:"httpProxyPort,omitzero"`
	SOCKSProxyPort int `json:"socksProxyPort,omitzero"`
}

// SandboxFilesystem limits the paths that commands in a [Sandbox] can read and
// write.
type SandboxFilesystem struct {
	AllowWrite []string `json:"allowWrite,omitzero"`
	DenyWrite  []string `json:"denyWrite,omitzero"`
	DenyRead   []string `json:"denyRead,omitzero"`
	AllowRead  []string `json:"allowRead,omitzero"`
}

// object returns the sandbox in the form of a settings file.
func (s *Sandbox) object() (map[string]any, error) {
	own, err := object(s)
	if err != nil {
		return nil, err
	}
	extra, err := object(s.Extra)
	if err != nil {
		return nil, err
	}
	merged := mergeSandbox(extra, own)
	if _, set := merged["failIfUnavailable"]; s.Enabled && !set {
		merged["failIfUnavailable"] = true
	}
	return merged, nil
}

// object returns the JSON form of a value as a map.
func object(v any) (map[string]any, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, err
	}
	return m, nil
}

// mergeSandbox lays one sandbox over another. The upper one takes precedence,
// but what either denies stays denied. Two settings of the lower one would undo
// what the upper asks for and are dropped: a switched-off file system where the
// upper has rules for it, and foreign proxies where it has rules for domains.
func mergeSandbox(lower, upper map[string]any) map[string]any {
	merged := merge(lower, upper, "sandbox")
	if _, rules := upper["filesystem"]; rules || deniesFiles(upper) {
		dropBelow(merged, lower, upper, "filesystem", "disabled")
	}
	if network, ok := upper["network"].(map[string]any); ok && (network["allowedDomains"] != nil || network["deniedDomains"] != nil) {
		dropBelow(merged, lower, upper, "network", "httpProxyPort")
		dropBelow(merged, lower, upper, "network", "socksProxyPort")
	}
	return merged
}

// united are lists in which every entry counts, whichever side it is from.
var united = [...]string{
	"sandbox.filesystem.denyRead", "sandbox.filesystem.denyWrite", "sandbox.network.deniedDomains",
	"sandbox.credentials.files", "sandbox.credentials.envVars",
}

// whole are objects that make sense only as one side wrote them.
var whole = [...]string{"sandbox.ripgrep", "sandbox.network.tlsTerminate"}

func merge(lower, upper map[string]any, path string) map[string]any {
	merged := maps.Clone(lower)
	if merged == nil {
		merged = make(map[string]any)
	}
	for key, value := range upper {
		at := path + "." + key
		below, isMap := merged[key].(map[string]any)
		above, bothMaps := value.(map[string]any)
		list, isList := merged[key].([]any)
		more, bothLists := value.([]any)
		switch {
		case isMap && bothMaps && !slices.Contains(whole[:], at):
			merged[key] = merge(below, above, at)
		case isList && bothLists && slices.Contains(united[:], at):
			merged[key] = unite(list, more)
		default:
			merged[key] = value
		}
	}
	return merged
}

func unite(a, b []any) []any {
	all := slices.Clone(a)
	for _, v := range b {
		if !slices.ContainsFunc(all, func(w any) bool { return reflect.DeepEqual(v, w) }) {
			all = append(all, v)
		}
	}
	return all
}

// dropBelow removes a member that only the lower side has.
func dropBelow(merged, lower, upper map[string]any, section, key string) {
	if above, ok := upper[section].(map[string]any); ok && above[key] != nil {
		return
	}
	below, _ := lower[section].(map[string]any)
	own, ok := merged[section].(map[string]any)
	if ok && below[key] != nil {
		own = maps.Clone(own)
		delete(own, key)
		merged[section] = own
	}
}

func deniesFiles(sandbox map[string]any) bool {
	credentials, _ := sandbox["credentials"].(map[string]any)
	files, _ := credentials["files"].([]any)
	return len(files) > 0
}

// settingsOf returns the object for --settings, nil for none.
func settingsOf(o *Options) (json.RawMessage, error) {
	if o.Settings == nil && o.Sandbox == nil {
		return nil, nil
	}
	all, err := object(o.Settings)
	if err != nil {
		return nil, &OptionError{"Settings", err.Error()}
	}
	if o.Sandbox != nil {
		own, err := o.Sandbox.object()
		if err != nil {
			return nil, &OptionError{"Sandbox", err.Error()}
		}
		if all == nil {
			all = make(map[string]any)
		}
		below, _ := all["sandbox"].(map[string]any)
		all["sandbox"] = mergeSandbox(below, own)
	}
	return json.Marshal(all)
}

// checkSettings refuses settings that cannot be passed on.
func checkSettings(o *Options) *OptionError {
	if o.SettingsFile != "" && (o.Settings != nil || o.Sandbox != nil) {
		return &OptionError{"SettingsFile", "excludes Settings and Sandbox: the CLI takes one set"}
	}
	if o.hasExtra("--settings") && (o.Settings != nil || o.Sandbox != nil || o.SettingsFile != "") {
		return &OptionError{"ExtraArgs", "--settings would replace the settings of the options"}
	}
	for field, settings := range map[string]map[string]any{"Settings": o.Settings, "ManagedSettings": o.ManagedSettings} {
		if _, err := json.Marshal(settings); err != nil {
			return &OptionError{field, err.Error()}
		}
	}
	return nil
}

// writeSettings writes the settings to a file, because they can be long and
// hold secrets, and names it on the command line.
func (p *plan) writeSettings(files *scratch.Folder) error {
	if p.settings == nil {
		return nil
	}
	path, err := files.Write("settings.json", p.settings)
	if err != nil {
		return fmt.Errorf("write the settings: %w", err)
	}
	p.files = append(p.files, LaunchFile{Name: filepath.Base(path), Path: path})
	p.args = slices.Insert(p.args, 0, inTwoWords("--settings", path)...)
	return nil
}
