package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/permission/policy"
	"github.com/claude-agent-go/claude/serve"
)

// presetEntry is a preset in the file.
type presetEntry struct {
	Name            string            `json:"name"`
	Description     string            `json:"description"`
	Roots           []string          `json:"roots"`
	Model           string            `json:"model"`
	Models          []string          `json:"models"`
	Mode            permission.Mode   `json:"mode"`
	Modes           []permission.Mode `json:"modes"`
	AllowedTools    []string          `json:"allowed_tools"`
	DisallowedTools []string          `json:"disallowed_tools"`
	AddDirs         []string          `json:"add_dirs"`
	SystemPrompt    string            `json:"append_system_prompt"`
	MaxTurns        int               `json:"max_turns"`
	MaxBudgetUSD    float64           `json:"max_budget_usd"`
	MaxDailyUSD     float64           `json:"max_daily_usd"`
	Workspace       string            `json:"workspace"`
}

// presetNames are its members.
var presetNames = [...]string{
	"name", "description", "roots", "model", "models", "mode", "modes", "allowed_tools", "disallowed_tools", "add_dirs",
	"append_system_prompt", "max_turns", "max_budget_usd", "max_daily_usd", "workspace",
}

// needsFunc decides which calls need a person's approval.
type needsFunc = func(ctx context.Context, in *hook.PreToolUseInput) (reason string, needed bool)

// servePresets are the presets of a server.
type servePresets struct {
	all   []serve.Preset
	rules map[string]*policy.Rules // what a preset allows, by its name
	// of finds the preset of the conversation that a call is made in.
	of   func(ctx context.Context) (name string, err error)
	kind string // of the folders of presets that do not say
	// kinds holds the kinds of presets, by name; the others work in their
	// roots.
	kinds map[string]string
	// folder finds the folder of that conversation, if its preset gives it one.
	folder func(ctx context.Context) string
}

// newServePresets has no presets yet.
func newServePresets(kind string) *servePresets {
	return &servePresets{kind: kind, rules: make(map[string]*policy.Rules), kinds: make(map[string]string)}
}

// presets reads the file, or makes a preset for the current directory.
func (s *serveStart) presets(c *console) (*servePresets, error) {
	p := newServePresets(s.Workspace)
	if s.Presets == "" {
		dir, err := os.Getwd()
		if err != nil {
			return nil, &failure{exitInput, err}
		}
		e := presetEntry{Name: "here", Description: "The directory in which the server was started", Roots: []string{dir}, Modes: []permission.Mode{
			permission.ModePlan, permission.ModeAcceptEdits,
		}}
		return p, p.add(c, s.CLI, &e)
	}
	text, err := os.ReadFile(s.Presets)
	if err != nil {
		return nil, &failure{exitInput, err}
	}
	if err := p.parse(c, s.CLI, text); err != nil {
		return nil, &failure{exitFormat, fmt.Errorf("%s:%w", s.Presets, err)}
	}
	return p, nil
}

// lineError is an error in a line of the file.
type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return fmt.Sprintf("%d: %v", e.line, e.err) }
func (e *lineError) Unwrap() error { return e.err }

// parse reads the presets of a file. Its errors name the line.
func (p *servePresets) parse(c *console, cli string, text []byte) error {
	if err := checkSyntax(text); err != nil {
		return err
	}
	members, err := jsonx.Walk(bytes.TrimSpace(text))
	if err != nil {
		return &lineError{1, errors.New(`the file must be an object: {"presets": […]}`)}
	}
	for {
		name, value, err := members.Next()
		if err != nil || name == nil {
			break // the syntax was checked
		}
		if string(name) != "presets" {
			return &lineError{lineOf(text, value), fmt.Errorf("unknown member %q: the file has only \"presets\"", name)}
		}
		for entry := range jsonx.Elements(value) {
			if err := p.entry(c, cli, text, entry); err != nil {
				return err
			}
		}
	}
	if len(p.all) == 0 {
		return &lineError{1, errors.New("the file has no presets")}
	}
	return nil
}

// entry reads one preset.
func (p *servePresets) entry(c *console, cli string, text, entry []byte) error {
	members, err := jsonx.Walk(entry)
	if err != nil {
		return &lineError{lineOf(text, entry), errors.New("a preset must be an object")}
	}
	for {
		name, value, err := members.Next()
		if err != nil || name == nil {
			break
		}
		if !slices.Contains(presetNames[:], string(name)) {
			return &lineError{lineOf(text, value), fmt.Errorf("a preset has no member %q; it has %s", name, strings.Join(presetNames[:], ", "))}
		}
		one := []byte("{" + string(jsonx.AppendText(nil, string(name))) + ":" + string(value) + "}")
		if err := jsonx.UnmarshalWhole(one, new(presetEntry)); err != nil {
			return &lineError{lineOf(text, value), fmt.Errorf("%s has the wrong form: %s", name, value)}
		}
	}
	var e presetEntry
	if err := jsonx.UnmarshalWhole(entry, &e); err != nil {
		return &lineError{lineOf(text, entry), err}
	}
	if err := p.add(c, cli, &e); err != nil {
		return &lineError{lineOf(text, entry), err}
	}
	return nil
}

// checkSyntax finds the line in which a text stops being JSON that has one meaning.
func checkSyntax(text []byte) error {
	at, err := jsonx.Fault(text)
	if err == nil {
		return nil
	}
	return &lineError{1 + bytes.Count(text[:min(at, len(text))], []byte("\n")), err}
}

// lineOf is the line in which a part of the text begins.
func lineOf(text, part []byte) int {
	at := cap(text) - cap(part) // a part shares the array of the whole
	return 1 + bytes.Count(text[:min(max(at, 0), len(text))], []byte("\n"))
}

// add checks a preset and adds it.
func (p *servePresets) add(c *console, cli string, e *presetEntry) error {
	if slices.ContainsFunc(p.all, func(o serve.Preset) bool { return o.Name == e.Name }) {
		return fmt.Errorf("there are two presets with the name %q", e.Name)
	}
	preset := serve.Preset{
		Name: e.Name, Description: e.Description, Model: e.Model, Models: e.Models, Mode: e.Mode, Modes: e.Modes, DailyUSD: e.MaxDailyUSD,
		Options: &claude.Options{
			CLIPath: cli, Env: c.agentEnv(), AllowedTools: e.AllowedTools, DisallowedTools: e.DisallowedTools, AddDirs: e.AddDirs,
			MaxTurns: e.MaxTurns, MaxBudgetUSD: e.MaxBudgetUSD, PartialMessages: true, FileCheckpointing: true,
			SystemPrompt: claude.SystemPrompt{Preset: true, Append: e.SystemPrompt},
		},
	}
	for _, mode := range append(slices.Clone(e.Modes), e.Mode) {
		if mode != "" && !slices.Contains(allModes[:], mode) {
			return fmt.Errorf("preset %q: unknown permission mode %q", e.Name, mode)
		}
	}
	for _, root := range e.Roots {
		if rest, ok := strings.CutPrefix(root, "~/"); ok || root == "~" {
			root = filepath.Join(c.variable("HOME"), rest)
		}
		info, err := os.Stat(root)
		switch {
		case !filepath.IsAbs(root):
			return fmt.Errorf("preset %q: the root %q is not an absolute path", e.Name, root)
		case err != nil:
			return fmt.Errorf("preset %q: %w", e.Name, err)
		case !info.IsDir():
			return fmt.Errorf("preset %q: the root %q is not a directory", e.Name, root)
		}
		preset.Roots = append(preset.Roots, root)
	}
	rules, err := policy.ParseRules(e.AllowedTools...)
	if err != nil {
		return fmt.Errorf("preset %q: allowed_tools: %w", e.Name, err)
	}
	if _, err := serve.Sessions(nil, "check", []serve.Preset{preset}, nil); err != nil {
		return err
	}
	switch kind := cmp.Or(e.Workspace, p.kind); kind {
	case plainFolders, gitWorktrees, savedFolders:
		p.kinds[e.Name] = kind
	case noFolders, "":
	default:
		return fmt.Errorf("preset %q: unknown workspace %q: it can be %s, %s, %s or %s", e.Name, kind, plainFolders, gitWorktrees, savedFolders, noFolders)
	}
	p.rules[e.Name] = rules
	p.all = append(p.all, preset)
	return nil
}

// looking are the tools that only look, and change nothing. They are left to the
// rules of the CLI.
var looking = [...]string{
	"Read", "Glob", "Grep", "LS", "NotebookRead", "TodoWrite", "TodoRead", "TaskCreate", "TaskUpdate", "TaskGet", "TaskList",
	"Agent", "Task", "Skill", "ToolSearch", "BashOutput", "TaskOutput",
}

// editing are the tools that the mode acceptEdits allows.
var editing = [...]string{"Edit", "MultiEdit", "Write", "NotebookEdit"}

// needs decides which calls need a person's approval: all that change something,
// unless the preset or the permission mode allows them.
func (p *servePresets) needs(ctx context.Context, in *hook.PreToolUseInput) (string, bool) {
	switch {
	case slices.Contains(looking[:], in.ToolName):
		return "", false
	case in.PermissionMode == permission.ModeBypassPermissions && in.ToolName != "AskUserQuestion":
		return "", false
	case in.PermissionMode == permission.ModeAcceptEdits && slices.Contains(editing[:], in.ToolName):
		return "", false
	}
	// Several presets may share a directory, so it does not say which one counts.
	name, err := p.of(ctx)
	rules := p.rules[name]
	if err != nil || rules == nil {
		return "its preset is not known", true
	}
	root := p.rootOf(ctx, name, in.Cwd)
	if root == "" {
		return fmt.Sprintf("it is outside of the directories of the preset %q", name), true
	}
	d, err := rules.At(root).Allow()(ctx, in.Request())
	if err != nil || d.Behavior() != permission.BehaviorAllow {
		return p.why(name, in.ToolName), true
	}
	return "", false
}

// why explains to people that the rules of a preset do not allow a call of a tool, and
// which they are.
func (p *servePresets) why(name, tool string) string {
	var rules []string
	for i := range p.all {
		if p.all[i].Name != name {
			continue
		}
		for _, rule := range p.all[i].Options.AllowedTools {
			if of, _, _ := strings.Cut(rule, "("); strings.TrimSpace(of) == tool {
				rules = append(rules, rule)
			}
		}
	}
	if len(rules) == 0 {
		return fmt.Sprintf("no rule of the preset %q allows %s", name, tool)
	}
	more := ""
	if n := len(rules) - maxRules; n > 0 {
		rules, more = rules[:maxRules], fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("the preset %q allows %s only by %s%s", name, tool, strings.Join(rules, ", "), more)
}

// maxRules is how many rules of a preset the reason of a question names.
const maxRules = 5

// rootOf returns the directory of a preset in which the CLI works, or the conversation's
// own folder, empty if the CLI is in none of them. Rules are about files there, wherever
// the server was started.
func (p *servePresets) rootOf(ctx context.Context, name, cwd string) string {
	if p.kinds[name] != "" {
		dir := p.folder(ctx)
		own := serve.Preset{Roots: []string{dir}}
		if real, err := filepath.EvalSymlinks(dir); dir != "" && err == nil && own.Contains(cwd) {
			return real
		}
		return ""
	}
	for i := range p.all {
		for _, root := range p.all[i].Roots {
			one := serve.Preset{Roots: []string{root}}
			if real, err := filepath.EvalSymlinks(root); p.all[i].Name == name && err == nil && one.Contains(cwd) {
				return real
			}
		}
	}
	return ""
}
