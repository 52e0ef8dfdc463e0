package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// probe is one feature and how to see it.
type probe struct {
	name    string
	session bool // needs the handshake
	replies []claudetest.Reply
	run     func(context.Context, *probeRun) (bool, error)
}

// connectProbe is the one without which no session can be measured.
const connectProbe = "`Connect` and turns"

func probes() []probe {
	touch := claudetest.UseTool("Bash", map[string]string{"command": "touch made", "description": "touch"})
	return []probe{
		{"`Ask` without callbacks", false, nil, asksWith(nil)},
		{connectProbe, false, nil, connectsAnd(nil)},
		{"the handshake names the version", true, nil, connectsAnd(func(s *claude.Session, _ []message.Message) bool { return s.Info().CLIVersion != "" })},
		{"results name their prompts", true, nil, connectsAnd(func(_ *claude.Session, all []message.Message) bool {
			return slices.ContainsFunc(all, func(m message.Message) bool { r, ok := m.(*message.Result); return ok && len(r.Prompts) > 0 })
		})},
		{"results have a terminal reason", true, nil, connectsAnd(func(_ *claude.Session, all []message.Message) bool {
			return slices.ContainsFunc(all, func(m message.Message) bool { r, ok := m.(*message.Result); return ok && r.TerminalReason != "" })
		})},
		{"prompts are followed through the queue", true, nil, connectsAnd(func(_ *claude.Session, all []message.Message) bool {
			return slices.ContainsFunc(all, func(m message.Message) bool { _, ok := m.(*message.CommandLifecycle); return ok })
		})},
		{"`Interrupt` has a receipt", true, nil, connectsAnd(func(s *claude.Session, _ []message.Message) bool {
			got, err := s.Interrupt(context.Background())
			return err == nil && strings.Contains(string(got.Raw), "still_queued")
		})},
		{"`CanUseTool` is asked", true, []claudetest.Reply{touch}, canUseTool},
		{"shells end with the CLI when your program is killed (Linux)", true, nil, shells},
		{"hooks are called", true, []claudetest.Reply{touch}, hooks},
		{"hooks can fail closed", true, nil, failClosed},
		{"`hook.RewriteInput` with `PermissionAllow`", true, []claudetest.Reply{touch}, rewrites(hook.PermissionAllow)},
		{"`hook.RewriteInput` with `PermissionAsk`", true, []claudetest.Reply{touch}, rewrites(hook.PermissionAsk)},
		{"`hook.RewriteInput` without a decision", true, []claudetest.Reply{touch}, rewrites("")},
		{"MCP servers of this process", true, nil, inProcess},
		{"`SystemPrompt.Text` reaches the model", true, nil, prompts},
		{"an empty `SystemPrompt` is empty in a session", true, nil, emptyPrompt},
		{"`VerbatimPrompts`", true, nil, verbatim},
		{"`Agents`", true, nil, agents},
		{"`AgentProgressSummaries`", true, nil, summaries},
		{"`SessionID`", false, nil, asksWith(func(o *claude.Options) { o.SessionID = "00000000-0000-4000-8000-0000000000aa" })},
		{"`Tools`", false, nil, asksWith(func(o *claude.Options) { o.Tools = []string{"Read"} })},
		{"`SettingSources`", false, nil, asksWith(func(o *claude.Options) { o.SettingSources = []claude.SettingSource{} })},
		{"`Settings`", false, nil, asksWith(func(o *claude.Options) { o.Settings = map[string]any{"model": "sonnet"} })},
		{"`ManagedSettings`", true, nil, asksWith(func(o *claude.Options) { o.ManagedSettings = map[string]any{} })},
		{"`StrictMCPConfig`", false, nil, asksWith(func(o *claude.Options) { o.StrictMCPConfig = true })},
		{"`NoPersistence`", false, nil, asksWith(func(o *claude.Options) { o.NoPersistence = true })},
		{"`FallbackModel`", false, nil, asksWith(func(o *claude.Options) { o.FallbackModel = "haiku" })},
		{"`Effort`", false, nil, asksWith(func(o *claude.Options) { o.Effort = "high" })},
		{"`Thinking` with a mode", false, nil, asksWith(func(o *claude.Options) { o.Thinking.Mode = claude.ThinkingDisabled })},
		{"`Thinking` with a budget", false, nil, asksWith(func(o *claude.Options) { o.Thinking = claude.Thinking{Mode: claude.ThinkingEnabled, Budget: 2000} })},
		{"`Betas`", false, nil, asksWith(func(o *claude.Options) { o.Betas = []string{"context-1m-2025-08-07"} })},
		{"`MaxTurns`", false, nil, asksWith(func(o *claude.Options) { o.MaxTurns = 3 })},
		{"`MaxBudgetUSD`", false, nil, asksWith(func(o *claude.Options) { o.MaxBudgetUSD = 10 })},
		{"`TaskBudget`", false, nil, asksWith(func(o *claude.Options) { o.TaskBudget = 50000 })},
		{"`Plugins`", false, nil, asksWith(func(o *claude.Options) { o.Plugins = []control.PluginConfig{{Path: o.Cwd}} })},
		{"`AllowBypassPermissions`", false, nil, asksWith(func(o *claude.Options) { o.AllowBypassPermissions = true })},
		{"`PermissionPrompts`", false, nil, asksWith(func(o *claude.Options) { o.PermissionPrompts = claude.PermissionPromptsNone })},
		{"`ProjectConfigRoot`", false, nil, asksWith(func(o *claude.Options) { o.ProjectConfigRoot = o.Cwd })},
		{"`PartialMessages`", false, nil, asksWith(func(o *claude.Options) { o.PartialMessages = true })},
		{"`ReplayUserMessages`", false, nil, asksWith(func(o *claude.Options) { o.ReplayUserMessages = true })},
		{"`HookEvents`", false, nil, asksWith(func(o *claude.Options) { o.HookEvents = true })},
		{"`DebugFile`", false, nil, asksWith(func(o *claude.Options) { o.DebugFile = filepath.Join(o.Cwd, "debug.log") })},
		{"`FileCheckpointing` and `SessionFiles.Rewind`", true, nil, rewinds},
	}
}

// asksWith sees a prompt answered with options set.
func asksWith(set func(*claude.Options)) func(context.Context, *probeRun) (bool, error) {
	return func(ctx context.Context, b *probeRun) (bool, error) {
		if set != nil {
			set(b.opts)
		}
		res, err := claude.Ask(ctx, "hello", b.opts)
		return err == nil && !res.Failed(), err
	}
}

// connectsAnd sees a turn of a session, and its outcome.
func connectsAnd(check func(*claude.Session, []message.Message) bool) func(context.Context, *probeRun) (bool, error) {
	return func(ctx context.Context, b *probeRun) (bool, error) {
		s, err := claude.Connect(ctx, b.opts)
		if err != nil {
			return false, err
		}
		defer s.Close()
		var all []message.Message
		for range 2 {
			for msg, err := range s.Run(ctx, "hello") {
				if err != nil {
					return false, err
				}
				all = append(all, msg)
			}
		}
		return check == nil || check(s, all), nil
	}
}

func canUseTool(ctx context.Context, b *probeRun) (bool, error) {
	asked := false
	b.opts.CanUseTool = func(context.Context, *permission.Request) (permission.Decision, error) {
		asked = true
		return permission.Allow(), nil
	}
	_, err := claude.Ask(ctx, "touch", b.opts)
	_, made := os.Stat(filepath.Join(b.dir, "made"))
	return asked && made == nil, err
}

func hooks(ctx context.Context, b *probeRun) (bool, error) {
	called := false
	b.opts.PermissionMode = permission.ModeBypassPermissions
	b.opts.Hooks = []hook.Hook{hook.PreToolUse("Bash", func(context.Context, *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
		called = true
		return hook.DenyTool("no"), nil
	})}
	_, err := claude.Ask(ctx, "touch", b.opts)
	_, made := os.Stat(filepath.Join(b.dir, "made"))
	return called && made != nil, err
}

// rewrites sees a tool run with the input of a hook, asked for where the hook does
// not allow it.
func rewrites(decision hook.PermissionDecision) func(context.Context, *probeRun) (bool, error) {
	return func(ctx context.Context, b *probeRun) (bool, error) {
		asked := false
		b.opts.CanUseTool = func(context.Context, *permission.Request) (permission.Decision, error) {
			asked = true
			return permission.Allow(), nil
		}
		b.opts.Hooks = []hook.Hook{hook.PreToolUse("Bash", func(context.Context, *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
			out := hook.RewriteInput(map[string]string{"command": "touch other", "description": "touch"})
			out.Decision = decision
			return out, nil
		})}
		_, err := claude.Ask(ctx, "touch", b.opts)
		_, other := os.Stat(filepath.Join(b.dir, "other"))
		return other == nil && asked == (decision != hook.PermissionAllow), err
	}
}

func failClosed(ctx context.Context, b *probeRun) (bool, error) {
	b.opts.Hooks = []hook.Hook{hook.Stop(func(context.Context, *hook.StopInput) (*hook.StopOutput, error) { return nil, nil }).FailClosed()}
	return asksWith(nil)(ctx, b)
}

func inProcess(ctx context.Context, b *probeRun) (bool, error) {
	b.opts.MCPServers = claude.MCPServers{"echo": echo{}}
	if _, err := claude.Ask(ctx, "hello", b.opts); err != nil {
		return false, err
	}
	for _, call := range b.model.Calls() {
		if strings.Contains(string(call.Raw), "mcp__echo__say") {
			return true, nil
		}
	}
	return false, nil
}

func prompts(ctx context.Context, b *probeRun) (bool, error) {
	b.opts.SystemPrompt.Text = "You are a lighthouse."
	if _, err := claude.Ask(ctx, "hello", b.opts); err != nil {
		return false, err
	}
	return slices.ContainsFunc(b.model.Calls(), func(c *claudetest.ModelCall) bool { return strings.Contains(c.System, "lighthouse") }), nil
}

// ownPrompt is less than the prompt of Claude Code has, and more than the few
// words that the CLI always adds.
const ownPrompt = 1000

func emptyPrompt(ctx context.Context, b *probeRun) (bool, error) {
	ok, err := connectsAnd(nil)(ctx, b)
	long := slices.ContainsFunc(b.model.Calls(), func(c *claudetest.ModelCall) bool { return !c.Side && len(c.System) > ownPrompt })
	return ok && !long, err
}

// verbatim sees a prompt reach the model without the file that it names.
func verbatim(ctx context.Context, b *probeRun) (bool, error) {
	const inside = "lighthouse keeper"
	if err := os.WriteFile(filepath.Join(b.dir, "note.txt"), []byte(inside), 0o600); err != nil {
		return false, errors.Join(errPrepare, err)
	}
	b.opts.VerbatimPrompts = true
	if _, err := claude.Ask(ctx, "what is in @note.txt", b.opts); err != nil {
		return false, err
	}
	read := slices.ContainsFunc(b.model.Calls(), func(c *claudetest.ModelCall) bool { return strings.Contains(string(c.Raw), inside) })
	return !read, nil
}

func agents(ctx context.Context, b *probeRun) (bool, error) {
	b.opts.Agents = map[string]claude.AgentDefinition{"shepherd": {Description: "counts sheep at night", Prompt: "Count."}}
	if _, err := claude.Ask(ctx, "hello", b.opts); err != nil {
		return false, err
	}
	return slices.ContainsFunc(b.model.Calls(), func(c *claudetest.ModelCall) bool {
		return strings.Contains(string(c.Raw), "counts sheep at night")
	}), nil
}

// summaries lets a subagent work until the CLI has it summarised, which it does
// every 30 s.
func summaries(ctx context.Context, b *probeRun) (bool, error) {
	bash := func(command string) claudetest.Reply {
		return claudetest.UseTool("Bash", map[string]string{"command": command, "description": "works"})
	}
	b.model.Add(claudetest.UseTool("Agent", map[string]any{"subagent_type": "shepherd", "description": "count", "prompt": "Count.", "run_in_background": false}),
		bash("echo one"), bash("touch two; sleep 40"), claudetest.Say("Counting the sheep"))
	b.opts.Agents = map[string]claude.AgentDefinition{"shepherd": {Description: "counts sheep", Prompt: "Count."}}
	b.opts.AgentProgressSummaries, b.opts.PermissionMode = true, permission.ModeBypassPermissions
	for msg, err := range claude.Query(ctx, "count", b.opts) {
		if err != nil {
			return false, err
		}
		if m, ok := msg.(*message.TaskProgress); ok && m.Summary != "" {
			return true, nil
		}
	}
	return false, nil
}

func rewinds(ctx context.Context, b *probeRun) (bool, error) {
	file := filepath.Join(b.dir, "a.txt")
	b.model.Add(claudetest.UseTool("Write", map[string]any{"file_path": file, "content": "new"}), claudetest.Say("done"))
	b.opts.PermissionMode, b.opts.FileCheckpointing = permission.ModeAcceptEdits, true
	s, err := claude.Connect(ctx, b.opts)
	if err != nil {
		return false, err
	}
	defer s.Close()
	id, err := s.Send(ctx, "write")
	if err != nil {
		return false, err
	}
	for msg, err := range s.Messages(ctx) {
		if err != nil {
			return false, err
		}
		if _, ok := msg.(*message.Result); ok {
			break
		}
	}
	if _, err := s.Files().Rewind(ctx, id); err != nil {
		return false, err
	}
	_, err = os.Stat(file)
	return os.IsNotExist(err), nil
}

// echo is an MCP server of this process with one tool.
type echo struct{}

func (echo) MCPType() string { return "sdk" }

// CheckMCP finds nothing wrong.
func (echo) CheckMCP() error { return nil }

func (echo) OpenMCP(context.Context, string, func(context.Context, json.RawMessage) error) (claude.MCPConn, error) {
	return echo{}, nil
}

func (echo) Close() error { return nil }

func (echo) Handle(_ context.Context, raw json.RawMessage) (json.RawMessage, error) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if err := json.Unmarshal(raw, &m); err != nil || m.ID == nil {
		return nil, err
	}
	result := `{}`
	switch m.Method {
	case "initialize":
		result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"echo","version":"1"}}`
	case "tools/list":
		result = `{"tools":[{"name":"say","description":"says","inputSchema":{"type":"object"}}]}`
	}
	return json.RawMessage(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + result + `}`), nil
}
