package claude

import (
	"context"
	"encoding/json"

	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/permission"
)

// SetThinking changes how the model thinks from the next turn on: within a
// Budget of tokens, not at all with ThinkingDisabled, and otherwise as the CLI
// decides. An empty Display leaves the display unchanged.
func (s *Session) SetThinking(ctx context.Context, t Thinking) error {
	payload := struct {
		Tokens  *int            `json:"max_thinking_tokens"`
		Display ThinkingDisplay `json:"thinking_display,omitzero"`
	}{Display: t.Display}
	switch {
	case t.Mode == ThinkingDisabled:
		payload.Tokens = new(0)
	case t.Budget > 0:
		payload.Tokens = &t.Budget
	}
	return s.operate(ctx, "set_max_thinking_tokens", payload, s.opts.Timeouts.Control, nil)
}

// Settings returns the settings in force and where they come from.
func (s *Session) Settings(ctx context.Context) (*control.Settings, error) {
	settings := new(control.Settings)
	return settings, s.operate(ctx, "get_settings", nil, s.opts.Timeouts.Control, settings)
}

// SetSettings changes settings for the rest of the session, in the layer of
// Options.Settings. Keys that are not named stay; a nil value removes a key.
func (s *Session) SetSettings(ctx context.Context, settings map[string]any) error {
	const op = "apply_flag_settings"
	encoded, err := s.encodeSettings(ctx, op, settings)
	if err != nil {
		return err
	}
	payload := struct {
		Settings json.RawMessage `json:"settings"`
	}{encoded}
	return s.operate(ctx, op, payload, s.opts.Timeouts.Control, nil)
}

// SaveSettings writes settings to one of the user's files: SettingSourceUser,
// or SettingSourceLocal, which is in the working directory. The CLI accepts
// only a few keys, such as "outputStyle", and refuses others.
func (s *Session) SaveSettings(ctx context.Context, source SettingSource, settings map[string]any) error {
	const op = "update_settings"
	encoded, err := s.encodeSettings(ctx, op, settings)
	if err != nil {
		return err
	}
	payload := struct {
		Source   string          `json:"source"`
		Settings json.RawMessage `json:"settings"`
	}{string(source) + "Settings", encoded}
	return s.operate(ctx, op, payload, s.opts.Timeouts.Control, nil)
}

// encodeSettings encodes settings for an operation as Options.Settings are: by
// the rules of encoding/json.
func (s *Session) encodeSettings(ctx context.Context, op string, settings map[string]any) (json.RawMessage, error) {
	if settings == nil {
		return json.RawMessage("{}"), nil
	}
	encoded, err := jsonx.MarshalUser(settings)
	if err != nil {
		return nil, s.unsent(ctx, op, &ControlError{Op: op, Err: err})
	}
	return encoded, nil
}

// PermissionRules returns the permission rules in force.
func (s *Session) PermissionRules(ctx context.Context) (*control.PermissionRules, error) {
	rules := new(control.PermissionRules)
	return rules, s.operate(ctx, "list_permission_rules", nil, s.opts.Timeouts.Control, rules)
}

// Hooks returns the hooks from settings and plugins, without those of this
// program.
func (s *Session) Hooks(ctx context.Context) (*control.Hooks, error) {
	listing := new(control.Hooks)
	return listing, s.operate(ctx, "get_hooks_listing", nil, s.opts.Timeouts.Control, listing)
}

// ReloadPlugins reads the plugins again, and adds those given.
func (s *Session) ReloadPlugins(ctx context.Context, add ...control.PluginConfig) (*control.PluginReload, error) {
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
	return result, s.operate(ctx, "reload_plugins", payload, s.opts.Timeouts.MCP, result)
}

// ReloadSkills reads the skills again and returns them.
func (s *Session) ReloadSkills(ctx context.Context) ([]control.Command, error) {
	var reply struct {
		Skills []control.Command `json:"skills"`
	}
	err := s.operate(ctx, "reload_skills", nil, s.opts.Timeouts.MCP, &reply)
	return reply.Skills, err
}

// ReloadOutputStyles reads the output styles again and returns their names.
func (s *Session) ReloadOutputStyles(ctx context.Context) ([]string, error) {
	var reply struct {
		Styles []string `json:"available_output_styles"`
	}
	err := s.operate(ctx, "reload_output_styles", nil, s.opts.Timeouts.MCP, &reply)
	return reply.Styles, err
}

// Commands returns the slash commands from the handshake, or as the CLI has
// changed them since.
func (s *Session) Commands() []control.Command {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.commands != nil:
		return s.commands
	case s.start.info != nil:
		return s.start.info.Commands
	}
	return nil
}

// SetModel changes the model from the next turn on. An empty name resets it.
// The CLI does not check the name.
func (s *Session) SetModel(ctx context.Context, model string) error {
	var name *string
	if model != "" {
		name = &model
	}
	payload := struct {
		Model *string `json:"model"`
	}{name}
	return s.operate(ctx, "set_model", payload, s.opts.Timeouts.Control, nil)
}

// SetPermissionMode changes the permission mode. It does not answer a
// permission question that was already asked.
func (s *Session) SetPermissionMode(ctx context.Context, mode permission.Mode) error {
	payload := struct {
		Mode permission.Mode `json:"mode"`
	}{mode}
	return s.operate(ctx, "set_permission_mode", payload, s.opts.Timeouts.Control, nil)
}
