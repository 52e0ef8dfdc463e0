package claude

import (
	"context"
	"encoding/json"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/jsonx"
)

// SessionSettings are the settings of a session and what they load, see [Session.Settings].
type SessionSettings struct{ s *Session }

// Get returns the settings in force and where they come from.
func (c SessionSettings) Get(ctx context.Context) (*control.Settings, error) {
	settings := new(control.Settings)
	return settings, c.s.operate(ctx, "get_settings", nil, c.s.opts.Timeouts.Control, settings)
}

// Set changes settings for the rest of the session, in the layer of
// Options.Settings. Keys that are not named stay; a nil value removes a key.
func (c SessionSettings) Set(ctx context.Context, settings map[string]any) error {
	const op = "apply_flag_settings"
	encoded, err := c.encode(ctx, op, settings)
	if err != nil {
		return err
	}
	payload := struct {
		Settings json.RawMessage `json:"settings"`
	}{encoded}
	return c.s.operate(ctx, op, payload, c.s.opts.Timeouts.Control, nil)
}

// Save writes settings to one of the user's files: SettingSourceUser,
// or SettingSourceLocal, which is in the working directory. The CLI accepts
// only a few keys, such as "outputStyle", and refuses others.
func (c SessionSettings) Save(ctx context.Context, source SettingSource, settings map[string]any) error {
	const op = "update_settings"
	encoded, err := c.encode(ctx, op, settings)
	if err != nil {
		return err
	}
	payload := struct {
		Source   string          `json:"source"`
		Settings json.RawMessage `json:"settings"`
	}{string(source) + "Settings", encoded}
	return c.s.operate(ctx, op, payload, c.s.opts.Timeouts.Control, nil)
}

// encode encodes settings for an operation like Options.Settings: by
// the rules of encoding/json.
func (c SessionSettings) encode(ctx context.Context, op string, settings map[string]any) (json.RawMessage, error) {
	if settings == nil {
		return json.RawMessage("{}"), nil
	}
	encoded, err := jsonx.MarshalUser(settings)
	if err != nil {
		return nil, c.s.unsent(ctx, op, &ControlError{Op: op, Err: err})
	}
	return encoded, nil
}

// PermissionRules returns the permission rules in force.
func (c SessionSettings) PermissionRules(ctx context.Context) (*control.PermissionRules, error) {
	rules := new(control.PermissionRules)
	return rules, c.s.operate(ctx, "list_permission_rules", nil, c.s.opts.Timeouts.Control, rules)
}

// Hooks returns the hooks from settings and plugins, without those of this
// program.
func (c SessionSettings) Hooks(ctx context.Context) (*control.Hooks, error) {
	listing := new(control.Hooks)
	return listing, c.s.operate(ctx, "get_hooks_listing", nil, c.s.opts.Timeouts.Control, listing)
}

// ReloadPlugins reads the plugins again, and adds those given.
func (c SessionSettings) ReloadPlugins(ctx context.Context, add ...control.PluginConfig) (*control.PluginReload, error) {
	payload := struct {
		Add []control.PluginConfig `json:"add_plugins,omitzero"`
	}{}
	for _, p := range add {
		if p.Type == "" {
			p.Type = "local"
		}
		payload.Add = append(payload.Add, p)
	}
	result := new(control.PluginReload)
	return result, c.s.operate(ctx, "reload_plugins", payload, c.s.opts.Timeouts.MCP, result)
}

// ReloadSkills reads the skills again and returns them.
func (c SessionSettings) ReloadSkills(ctx context.Context) ([]control.Command, error) {
	var reply struct {
		Skills []control.Command `json:"skills"`
	}
	err := c.s.operate(ctx, "reload_skills", nil, c.s.opts.Timeouts.MCP, &reply)
	return reply.Skills, err
}

// ReloadOutputStyles reads the output styles again and returns their names.
func (c SessionSettings) ReloadOutputStyles(ctx context.Context) ([]string, error) {
	var reply struct {
		Styles []string `json:"available_output_styles"`
	}
	err := c.s.operate(ctx, "reload_output_styles", nil, c.s.opts.Timeouts.MCP, &reply)
	return reply.Styles, err
}
