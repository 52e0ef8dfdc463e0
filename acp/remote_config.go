package acp

import (
	"slices"

	"github.com/claude-agent-go/claude/acp/schema"
	"github.com/claude-agent-go/claude/serve/api"
)

// remoteChoices lists the choices of a conversation on a server, and the current ones.
type remoteChoices struct {
	preset      *api.PresetInfo
	mode, model string
}

// modes are those of the preset, the chosen one among them.
func (c remoteChoices) modes() []schema.SessionMode {
	known := choices{bypass: true}.availableModes()
	var out []schema.SessionMode
	for _, name := range c.names(c.preset.Modes, c.current(c.mode, c.preset.Mode, "default")) {
		mode := schema.SessionMode{ID: schema.SessionModeID(name), Name: name}
		if i := slices.IndexFunc(known, func(m schema.SessionMode) bool { return string(m.ID) == name }); i >= 0 {
			mode = known[i]
		}
		out = append(out, mode)
	}
	return out
}

// current returns the choice, or that of the preset.
func (c remoteChoices) current(chosen, preset, other string) string {
	return orName(chosen, orName(preset, other))
}

// names returns a list with one that it may lack.
func (c remoteChoices) names(list []string, chosen string) []string {
	if slices.Contains(list, chosen) {
		return list
	}
	return append([]string{chosen}, list...)
}

func (c remoteChoices) state() *schema.SessionModeState {
	return &schema.SessionModeState{CurrentModeID: schema.SessionModeID(c.current(c.mode, c.preset.Mode, "default")), AvailableModes: c.modes()}
}

// options returns what the editor shows.
func (c remoteChoices) options() []schema.SessionConfigOption {
	var modes, models []schema.SessionConfigSelectOption
	for _, m := range c.modes() {
		modes = append(modes, schema.SessionConfigSelectOption{Value: schema.SessionConfigValueID(m.ID), Name: m.Name, Description: m.Description})
	}
	model := c.current(c.model, c.preset.Model, "default")
	for _, m := range c.names(c.preset.Models, model) {
		models = append(models, schema.SessionConfigSelectOption{Value: schema.SessionConfigValueID(m), Name: m})
	}
	return []schema.SessionConfigOption{
		selectOption(configMode, "Mode", schema.SessionConfigOptionCategoryMode, c.current(c.mode, c.preset.Mode, "default"), modes),
		selectOption(configModel, "Model", schema.SessionConfigOptionCategoryModel, model, models),
	}
}

// change returns the change that a choice is. The server checks the value.
func (c remoteChoices) change(id schema.SessionConfigID, value string) (api.Change, error) {
	switch id {
	case configMode:
		return api.Change{Mode: &value}, nil
	case configModel:
		return api.Change{Model: &value}, nil
	}
	return api.Change{}, errorf(schema.ErrorCodeInvalidParams, "there is no option %q", id)
}
