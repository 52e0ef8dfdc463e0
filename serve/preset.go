package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/workspace"
)

// Preset is a kind of conversation that users may begin. Requests only name a preset;
// the server decides what it means.
type Preset struct {
	// Name is the name in requests.
	Name string
	// Description describes its purpose to users.
	Description string
	// Roots are the directories in which its conversations may work, as absolute paths.
	// The first is the default.
	Roots []string
	// Model is the model unless the user chooses another of Models. Empty
	// Models: no other may be chosen.
	Model  string
	Models []string
	// Mode is the permission mode unless the user chooses another of Modes.
	// Empty: the CLI's default.
	Mode  permission.Mode
	Modes []permission.Mode
	// DailyUSD is the most that all its conversations together may cost in a day in
	// UTC. Once that is spent, prompts are refused until the next day. Those accepted
	// earlier still run, so the total may exceed it by their cost. Deleting a
	// conversation does not give its cost back. 0: no limit.
	DailyUSD float64
	// Workspace gives each of its conversations a folder of its own to work in: a plain one,
	// a git worktree or one that is saved. Give the fleet what [Workspaces] makes of the
	// presets, or this has no effect. Nil: they work in the directory that the user chose.
	Workspace workspace.Provider
	// Options are the options of its sessions. Cwd, Model and PermissionMode
	// are set by the server. Nil means the CLI's own defaults.
	Options *claude.Options
	// Adjust fits the options to one conversation and its owner: the key or the folder
	// of a tenant, other tools, the schema of the answers. It changes o, a deep copy
	// of Options, before the server sets its own members. Only what works rather than
	// describes is shared: functions, stores, loggers, tool servers, a transport.
	// FileCheckpointing stays as Options has it, because users see it before they begin.
	// Adjust is called each time a CLI starts for the conversation, and when the
	// conversation is deleted, to find its files; from several goroutines at once. After an
	// error the CLI does not start, and users read the error as the reason why the
	// conversation is stuck. Nil: all conversations have the same options.
	Adjust func(ctx context.Context, c PresetUse, o *claude.Options) error
}

// PresetUse is a conversation for which the options of its preset are made.
type PresetUse struct {
	// Key is its key in the fleet, and ID its id in the API.
	Key, ID string
	// Owner is the user who began it. Others may prompt it too, if it is shared.
	Owner string
	// Preset is the name of the preset.
	Preset string
	// Dir is the working directory.
	Dir    string
	Labels []string
}

// options makes the options of a conversation, whose working directory is known to be
// allowed.
func (p *Preset) options(ctx context.Context, n *note, dir string) (*claude.Options, error) {
	own := new(claude.Options)
	if p.Options != nil {
		own = detached(p.Options)
	}
	if p.Adjust != nil {
		use := PresetUse{Key: n.Key, ID: idOf(n.Key), Owner: n.Owner, Preset: p.Name, Dir: dir, Labels: slices.Clone(n.Labels)}
		if err := p.Adjust(ctx, use, own); err != nil {
			return nil, fmt.Errorf("claude: serve: options of conversation %q: %w", n.Key, err)
		}
	}
	// The note is stored before the first prompt. Later choices are in the fleet's
	// record as well, which takes precedence.
	own.Cwd, own.Model, own.PermissionMode = dir, cmp.Or(n.Model, p.Model), cmp.Or(permission.Mode(n.Mode), p.Mode)
	own.FileCheckpointing = p.rewinds()
	return own, nil
}

// info describes the preset to users.
func (p *Preset) info() api.PresetInfo {
	return api.PresetInfo{
		Name: p.Name, Description: p.Description, Model: p.Model, Models: orEmpty(p.Models), Mode: string(p.Mode), Modes: modesOf(p.Modes),
		Roots: orEmpty(p.Roots), DailyUSD: p.DailyUSD, Rewind: p.rewinds(), Unguarded: p.Mode == permission.ModeBypassPermissions || slices.Contains(p.Modes, permission.ModeBypassPermissions),
	}
}

// orEmpty returns an empty list for nil, so that its JSON is [] and not null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// check refuses a preset that cannot work.
func (p *Preset) check() error {
	switch {
	case p.Name == "" || store.CheckProject(p.Name) != nil:
		return fmt.Errorf("claude: serve: preset %q: its name must consist of ASCII letters, digits and -_.@+=:,~", p.Name)
	case p.DailyUSD < 0:
		return fmt.Errorf("claude: serve: preset %q: its budget for a day is negative", p.Name)
	case len(p.Roots) == 0:
		return fmt.Errorf("claude: serve: preset %q has no roots: name a directory in which it may work", p.Name)
	}
	for _, root := range p.Roots {
		if !filepath.IsAbs(root) {
			return fmt.Errorf("claude: serve: preset %q: the root %q is not an absolute path", p.Name, root)
		}
	}
	return nil
}

// checkPresets refuses presets that cannot work.
func checkPresets(presets []Preset) error {
	seen := make(map[string]bool)
	for i := range presets {
		if err := presets[i].check(); err != nil {
			return err
		}
		if seen[presets[i].Name] {
			return fmt.Errorf("claude: serve: there are two presets with the name %q", presets[i].Name)
		}
		seen[presets[i].Name] = true
	}
	return nil
}

// find returns a preset by its name, nil if there is none.
func find(presets []Preset, name string) *Preset {
	for i := range presets {
		if presets[i].Name == name {
			return &presets[i]
		}
	}
	return nil
}

// choose checks a user's choices.
func (p *Preset) choose(model, mode string) error {
	if model != "" && model != p.Model && !slices.Contains(p.Models, model) {
		return modelRefused.because("preset %q offers %s", p.Name, offered(append([]string{p.Model}, p.Models...)))
	}
	if mode != "" && mode != string(p.Mode) && !slices.Contains(p.Modes, permission.Mode(mode)) {
		return modeRefused.because("preset %q offers %s", p.Name, offered(append([]permission.Mode{p.Mode}, p.Modes...)))
	}
	return nil
}

// offered lists the choices for an error text.
func offered[T ~string](all []T) string {
	var names []string
	for _, one := range all {
		if one != "" && !slices.Contains(names, string(one)) {
			names = append(names, string(one))
		}
	}
	if len(names) == 0 {
		return "no choice: leave it out"
	}
	return strings.Join(names, ", ")
}

// dir returns the working directory that a user chose: a real directory below one of
// the roots, after all symbolic links are resolved.
func (p *Preset) dir(chosen string) (string, error) {
	if chosen == "" {
		chosen = p.Roots[0]
	}
	refused := outside.because("choose a directory below %s", strings.Join(p.Roots, " or "))
	if !filepath.IsAbs(chosen) {
		return "", refused
	}
	real, err := filepath.EvalSymlinks(chosen)
	if err != nil {
		refused.Cause = err
		return "", refused
	}
	for _, root := range p.Roots {
		base, err := filepath.EvalSymlinks(root)
		if err != nil {
			continue
		}
		if rel, err := filepath.Rel(base, real); err == nil && filepath.IsLocal(rel) {
			return real, nil
		}
	}
	return "", refused
}

// Contains reports whether conversations of the preset may work in a directory.
func (p *Preset) Contains(dir string) bool {
	_, err := p.dir(dir)
	return err == nil && dir != ""
}

// Sessions returns the function for [fleet.Options] that makes the options of a
// conversation from its preset. Pass the records and the project of the server's options.
// For a conversation that was not begun through a server it calls other, if that is not
// nil.
func Sessions(r store.Records, project string, presets []Preset, other func(ctx context.Context, key string) (*claude.Options, error)) (func(ctx context.Context, key string) (*claude.Options, error), error) {
	if err := checkPresets(presets); err != nil {
		return nil, err
	}
	presets = slices.Clone(presets)
	notes := noteStore{r, project}
	return func(ctx context.Context, key string) (*claude.Options, error) {
		n, p, dir, err := notes.begun(ctx, presets, key)
		if errors.Is(err, store.ErrNotFound) && other != nil {
			return other(ctx, key)
		}
		if errors.Is(err, fleet.ErrDeleted) && p != nil { // they name the folders from which its files are removed
			o, failed := p.options(ctx, &n, dir)
			return o, errors.Join(err, failed)
		}
		if err != nil {
			return nil, err
		}
		return p.options(ctx, &n, dir)
	}, nil
}

// begun returns the note of a conversation, its preset and the directory in which it was
// begun. The error is [store.ErrNotFound] if it was not begun through a server. If it is
// [fleet.ErrDeleted], the rest is there as well, unless the preset is gone.
func (b noteStore) begun(ctx context.Context, presets []Preset, key string) (n note, p *Preset, dir string, err error) {
	n, _, err = b.loadAny(ctx, key)
	if err != nil {
		return n, nil, "", err
	}
	if !n.Deleted.IsZero() {
		err = fmt.Errorf("claude: serve: conversation %q: %w", key, fleet.ErrDeleted)
		return n, find(presets, n.Preset), n.Dir, err
	}
	if p = find(presets, n.Preset); p == nil {
		return n, nil, "", fmt.Errorf("claude: serve: conversation %q: its preset %q is gone", key, n.Preset)
	}
	dir, err = p.dir(n.Dir)
	return n, p, dir, err
}

// PresetOf returns the name of the preset that a conversation was begun with, by its
// key in the fleet. Pass the records and the project of the server's options. The error is
// [store.ErrNotFound] if the conversation was not begun through a server. It may be
// called by several goroutines at once.
func PresetOf(ctx context.Context, r store.Records, project, key string) (string, error) {
	n, _, err := noteStore{r, project}.load(ctx, key)
	return n.Preset, err
}

// rewinds reports whether the files of its conversations can be restored.
func (p *Preset) rewinds() bool { return p.Options != nil && p.Options.FileCheckpointing }
