package acp

import (
	"slices"

	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/serve/api"
)

// remoteChoices lists the choices of a conversation on a server, and the current ones.
type remoteChoices struct {
	preset      *api.PresetInfo
	mode, model string
}

// modes returns the modes of the preset, including the chosen one.
func (c remoteChoices) modes() []schema.SessionMode {
	known := choices{bypass: true}.availableModes()
	var out []schema.SessionMode
	for _, name := range c.names(c.preset.Modes, c.current(c.mode, c.preset.Mode), presetsOwn(c.preset.Mode)) {
		mode := schema.SessionMode{ID: schema.SessionModeID(name), Name: name}
		if i := slices.IndexFunc(known, func(m schema.SessionMode) bool { return string(m.ID) == name }); i >= 0 {
			mode = known[i]
		}
		out = append(out, mode)
	}
	return out
}

// presetsOwn names the mode or the model of a preset, as the editor sees it. A preset that
// sets none leaves it to the CLI, and editors see that as "default".
func presetsOwn(preset string) string { return orName(preset, "default") }

// current returns the choice, or that of the preset.
func (c remoteChoices) current(chosen, preset string) string {
	return orName(chosen, presetsOwn(preset))
}

// names returns a list with some that it may lack: the current choice, and the preset's own,
// to which one can always return.
func (c remoteChoices) names(list []string, more ...string) []string {
	for _, name := range more {
		if !slices.Contains(list, name) {
			list = append([]string{name}, list...)
		}
	}
	return list
}

func (c remoteChoices) state() *schema.SessionModeState {
	return &schema.SessionModeState{CurrentModeID: schema.SessionModeID(c.current(c.mode, c.preset.Mode)), AvailableModes: c.modes()}
}

// options returns the options that the editor shows.
func (c remoteChoices) options() []schema.SessionConfigOption {
	var modes, models []schema.SessionConfigSelectOption
	for _, m := range c.modes() {
		modes = append(modes, schema.SessionConfigSelectOption{Value: schema.SessionConfigValueID(m.ID), Name: m.Name, Description: m.Description})
	}
	model := c.current(c.model, c.preset.Model)
	for _, m := range c.names(c.preset.Models, model, presetsOwn(c.preset.Model)) {
		models = append(models, schema.SessionConfigSelectOption{Value: schema.SessionConfigValueID(m), Name: m})
	}
	return []schema.SessionConfigOption{
		selectOption(configMode, "Mode", schema.SessionConfigOptionCategoryMode, c.current(c.mode, c.preset.Mode), modes),
		selectOption(configModel, "Model", schema.SessionConfigOptionCategoryModel, model, models),
	}
}

// change returns the change that a choice is. The server checks the value; the preset's own
// has no name there.
func (c remoteChoices) change(id schema.SessionConfigID, value string) (api.Change, error) {
	switch id {
	case configMode:
		return api.Change{Mode: new(orNone(value, presetsOwn(c.preset.Mode)))}, nil
	case configModel:
		return api.Change{Model: new(orNone(value, presetsOwn(c.preset.Model)))}, nil
	}
	return api.Change{}, errorf(schema.ErrorCodeInvalidParams, "there is no option %q", id)
}

// orNone returns a choice, "" if it is the preset's own.
func orNone(value, own string) string {
	if value == own {
		return ""
	}
	return value
}
