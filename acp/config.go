package acp

import (
	"encoding/json"
	"slices"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/permission"
)

// The options of a session.
const (
	configMode     = "mode"
	configModel    = "model"
	configEffort   = "effort"
	configThinking = "thinking"
)

// choices holds the choices that a session offers, and those that the person
// has made. It is a plain value.
type choices struct {
	mode     permission.Mode
	model    string
	effort   claude.Effort
	thinking bool

	models  []control.ModelInfo
	bypass  bool // bypassPermissions may be chosen
	boolean bool // the editor shows switches
}

func newChoices(info *control.Info, o *claude.Options, e *editor) choices {
	c := choices{mode: info.PermissionMode, model: o.Model, effort: o.Effort, thinking: o.Thinking.Mode != claude.ThinkingDisabled, models: info.Models, bypass: o.AllowBypassPermissions}
	if c.mode == "" {
		c.mode = permission.ModeDefault
	}
	if o.PermissionMode != "" {
		c.mode = o.PermissionMode
	}
	if s := e.Capabilities().Session; s != nil && s.ConfigOptions != nil {
		c.boolean = s.ConfigOptions.Boolean != nil
	}
	if c.model == "" && len(c.models) > 0 {
		c.model = c.models[0].Value
	}
	return c
}

// availableModes are the permission modes, in the order in which they are shown.
func (c choices) availableModes() []schema.SessionMode {
	modes := []schema.SessionMode{
		{ID: "default", Name: "Manual", Description: new("Ask before making changes")},
		{ID: "acceptEdits", Name: "Accept edits", Description: new("Accept all edits of files")},
		{ID: "plan", Name: "Plan", Description: new("Make a plan before making changes")},
	}
	if slices.ContainsFunc(c.models, func(m control.ModelInfo) bool { return m.SupportsAutoMode }) {
		modes = append(modes, schema.SessionMode{ID: "auto", Name: "Auto", Description: new("Let Claude decide what to ask about")})
	}
	if c.bypass {
		modes = append(modes, schema.SessionMode{ID: "bypassPermissions", Name: "Bypass permissions", Description: new("Accept everything without asking")})
	}
	return modes
}

func (c choices) modes() *schema.SessionModeState {
	return &schema.SessionModeState{CurrentModeID: schema.SessionModeID(c.mode), AvailableModes: c.availableModes()}
}

// hasMode reports whether a mode can be chosen.
func (c choices) hasMode(mode permission.Mode) bool {
	return slices.ContainsFunc(c.availableModes(), func(m schema.SessionMode) bool { return m.ID == schema.SessionModeID(mode) })
}

// options returns the options that the editor shows.
func (c choices) options() []schema.SessionConfigOption {
	var modes []schema.SessionConfigSelectOption
	for _, m := range c.availableModes() {
		modes = append(modes, schema.SessionConfigSelectOption{Value: schema.SessionConfigValueID(m.ID), Name: m.Name, Description: m.Description})
	}
	all := []schema.SessionConfigOption{selectOption(configMode, "Mode", schema.SessionConfigOptionCategoryMode, string(c.mode), modes)}
	var models []schema.SessionConfigSelectOption
	for _, m := range c.models {
		models = append(models, schema.SessionConfigSelectOption{Value: schema.SessionConfigValueID(m.Value), Name: orName(m.DisplayName, m.Value), Description: &m.Description})
	}
	if models != nil {
		all = append(all, selectOption(configModel, "Model", schema.SessionConfigOptionCategoryModel, c.model, models))
	}
	if levels := c.levels(); levels != nil {
		efforts := []schema.SessionConfigSelectOption{{Value: "default", Name: "Default"}}
		for _, l := range levels {
			efforts = append(efforts, schema.SessionConfigSelectOption{Value: schema.SessionConfigValueID(l), Name: string(l)})
		}
		all = append(all, selectOption(configEffort, "Effort", schema.SessionConfigOptionCategoryThoughtLevel, orName(string(c.effort), "default"), efforts))
	}
	if c.boolean {
		all = append(all, schema.SessionConfigOption{ID: configThinking, Name: "Thinking", Type: "boolean", Category: schema.SessionConfigOptionCategoryModelConfig, CurrentValue: raw(c.thinking)})
	}
	return all
}

func orName(name, other string) string {
	if name == "" {
		return other
	}
	return name
}

func selectOption(id, name string, category schema.SessionConfigOptionCategory, value string, options []schema.SessionConfigSelectOption) schema.SessionConfigOption {
	return schema.SessionConfigOption{ID: schema.SessionConfigID(id), Name: name, Type: "select", Category: category, CurrentValue: raw(value), Options: raw(options)}
}

func raw(v any) json.RawMessage {
	data, err := jsonx.Marshal(v)
	if err != nil {
		return nil
	}
	return data
}

// levels are the levels of effort of the chosen model.
func (c choices) levels() []claude.Effort {
	for _, m := range c.models {
		if m.Value == c.model {
			return m.SupportedEffortLevels
		}
	}
	return nil
}

// without takes a change back: what differs between before and after, unless it
// has changed again since.
func (c choices) without(after, before choices) choices {
	undo(&c.mode, after.mode, before.mode)
	undo(&c.model, after.model, before.model)
	undo(&c.effort, after.effort, before.effort)
	undo(&c.thinking, after.thinking, before.thinking)
	return c
}

func undo[T comparable](now *T, after, before T) {
	if *now == after {
		*now = before
	}
}

// with returns the choices after one has changed.
func (c choices) with(id schema.SessionConfigID, value json.RawMessage) (choices, error) {
	text := jsonx.Text(value)
	switch id {
	case configMode:
		if !c.hasMode(permission.Mode(text)) {
			return c, errorf(schema.ErrorCodeInvalidParams, "the mode %q is not available in this session", text)
		}
		c.mode = permission.Mode(text)
	case configModel:
		if !slices.ContainsFunc(c.models, func(m control.ModelInfo) bool { return m.Value == text }) {
			return c, errorf(schema.ErrorCodeInvalidParams, "the model %q is not one of the list", text)
		}
		c.model = text
		if !slices.Contains(c.levels(), c.effort) {
			c.effort = ""
		}
	case configEffort:
		if text == "default" {
			text = ""
		} else if !slices.Contains(c.levels(), claude.Effort(text)) {
			return c, errorf(schema.ErrorCodeInvalidParams, "the model has no effort %q", text)
		}
		c.effort = claude.Effort(text)
	case configThinking:
		if jsonx.Unmarshal(value, &c.thinking) != nil || !c.boolean {
			return c, errorf(schema.ErrorCodeInvalidParams, "thinking is true or false")
		}
	default:
		return c, errorf(schema.ErrorCodeInvalidParams, "there is no option %q", id)
	}
	return c, nil
}
