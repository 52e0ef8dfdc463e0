package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/internal/terminal"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/telemetry"
)

// runCommand is "claudectl run".
type runCommand struct {
	Prompt []string `arg:"" optional:"" help:"The prompt. If you leave it out, it is read from standard input."`

	CLI    string   `name:"cli" placeholder:"PATH" complete:"file" help:"The CLI to use. Default: the \"claude\" that is installed."`
	Cwd    string   `placeholder:"DIR" complete:"file" help:"The working directory."`
	AddDir []string `placeholder:"DIR" complete:"file" sep:"none" help:"Another directory that tools may use."`

	Model  string `placeholder:"NAME" help:"The model."`
	System string `placeholder:"TEXT" help:"The system prompt, instead of Claude Code's own."`
	Schema string `placeholder:"FILE" complete:"file" help:"A JSON Schema for the answer; the answer is then JSON."`

	Mode  string   `placeholder:"MODE" complete:"mode" help:"The permission mode: default, acceptEdits, plan, dontAsk, auto, bypassPermissions."`
	Allow []string `placeholder:"RULE" sep:"none" help:"A rule for calls that may run without asking, such as \"Bash(git:*)\"."`
	Deny  []string `placeholder:"RULE" sep:"none" help:"A rule for calls that are always denied."`

	Otel string `placeholder:"URL" help:"Where the CLI sends its own spans, metrics and logs: an OTLP endpoint."`

	MaxTurns  int     `placeholder:"N" help:"The maximum number of model calls for the prompt."`
	MaxBudget float64 `placeholder:"USD" help:"The maximum cost, in US dollars."`

	Resume   string `placeholder:"ID" complete:"session-here" xor:"resume" help:"Continue a session."`
	Continue bool   `xor:"resume" help:"Continue the newest session of the working directory, or of the project in the store."`
	Fork     bool   `help:"Continue in a copy; the original session is unchanged."`

	Store   string `placeholder:"DIR" complete:"dir" help:"Also keep the session in this directory, in the format of store.Files, and continue from there."`
	Project string `default:"default" placeholder:"NAME" help:"The project in the store: a tenant, a repository, an environment."`

	Stream bool `default:"true" negatable:"" help:"Show text as it is written. Needs CLI 1.0.128 or newer."`
	Quiet  bool `short:"q" help:"Show nothing but the answer."`
}

// Help is shown by "claudectl run --help".
func (*runCommand) Help() string {
	return `The answer goes to standard output, and everything about it to standard error.

It waits for agents that work in the background; what they report is part of
the answer.

At a terminal you are asked before a tool does anything that no rule allows.
Elsewhere such calls are denied; use --allow to say what may run.

With --store the session is also kept in a directory. --resume and --continue
then take it from there, under any home and working directory, and nobody else
can continue it at the same time.

Ctrl-C interrupts the turn; a second Ctrl-C ends the program.`
}

// Run sends the prompt and shows the answer.
func (r *runCommand) Run(c *console) error {
	prompt, err := r.prompt(c)
	if err != nil {
		return err
	}
	s := newScreen(c)
	opts, err := r.options(c, s)
	if err != nil {
		return err
	}
	seen := newVerdicts()
	opts.CanUseTool = seen.watch(opts.CanUseTool)
	ctx, stop := watchSignals(c, s)
	defer stop.release()
	session, err := claude.Connect(ctx, opts)
	if err != nil {
		return stop.explain(err)
	}
	defer session.Close()
	view := newRenderer(c, s, seen)
	view.silent, view.quiet = r.Schema != "" || c.json, r.quiet(c)
	hide := func() {}
	if s.live && !view.quiet {
		hide = view.progress.display(ctx, s, session, c.line)
	}
	result, err := r.turn(ctx, c, session, prompt, view, stop)
	hide()
	if result != nil && result.SessionID != "" {
		view.note(terminal.Faint, "resume with: "+r.resumeLine(result.SessionID))
	}
	if err != nil {
		return stop.explain(err)
	}
	return r.output(c, result)
}

// resumeLine is the command that continues the session. The CLI looks for it in
// the working directory.
func (r *runCommand) resumeLine(id string) string {
	words := []string{"claudectl run --resume", id}
	if r.Cwd != "" {
		words = append(words, "--cwd", shellQuoted(r.Cwd))
	}
	if r.Store != "" {
		words = append(words, "--store", shellQuoted(r.Store))
		if r.Project != defaultProject {
			words = append(words, "--project", shellQuoted(r.Project))
		}
	}
	if r.CLI != "" {
		words = append(words, "--cli", shellQuoted(r.CLI))
	}
	return strings.Join(append(words, `"..."`), " ")
}

// defaultProject is the project in a store if none is named.
const defaultProject = "default"

// quiet reports whether only the answer is wanted.
func (r *runCommand) quiet(c *console) bool { return r.Quiet || c.json }

// turn runs the prompt, and what its background agents bring, and returns the
// last result.
func (r *runCommand) turn(ctx context.Context, c *console, session *claude.Session, prompt string, view *renderer, stop *interruption) (*message.Result, error) {
	var result *message.Result
	for m, err := range session.RunUntilIdle(ctx, prompt) {
		if err != nil {
			return result, err
		}
		stop.guard(session)
		if c.json {
			if err := c.emit(m.Head().Raw); err != nil {
				return result, err
			}
		}
		view.show(m)
		if last, ok := m.(*message.Result); ok {
			result = last
		}
	}
	return result, nil
}

// output writes the structured answer, if one was asked for.
func (r *runCommand) output(c *console, result *message.Result) error {
	if r.Schema == "" || c.json {
		return nil
	}
	if result == nil || len(result.StructuredOutput) == 0 {
		return &claude.OutputError{Reason: claude.ErrNoOutput, Result: result}
	}
	return c.emit(result.StructuredOutput)
}

// promptLimit is the most that is read of a prompt. No model takes that much, and
// an endless input would fill the memory.
const promptLimit = 32 << 20

// prompt returns the prompt to send.
func (r *runCommand) prompt(c *console) (string, error) {
	text := strings.Join(r.Prompt, " ")
	if text == "" && !terminal.Is(c.stdin) {
		data, err := io.ReadAll(io.LimitReader(c.stdin, promptLimit+1))
		if err != nil {
			return "", &failure{exitInput, fmt.Errorf("standard input: %w", err)}
		}
		if len(data) > promptLimit {
			return "", &failure{exitFormat, errors.New("standard input: more than 32 MiB, which is too long for a prompt")}
		}
		text = string(data)
	}
	if strings.TrimSpace(text) == "" {
		return "", &failure{exitUsage, errors.New("no prompt: give one, or pipe one in")}
	}
	return text, nil
}

// options makes the options of the session.
func (r *runCommand) options(c *console, s *screen) (*claude.Options, error) {
	opts := &claude.Options{
		CLIPath: r.CLI, Cwd: r.Cwd, AddDirs: r.AddDir, Env: c.agentEnv(),
		Model: r.Model, SystemPrompt: claude.SystemPrompt{Preset: r.System == "", Text: r.System},
		PermissionMode: permission.Mode(r.Mode), AllowedTools: r.Allow, DisallowedTools: r.Deny,
		MaxTurns: r.MaxTurns, MaxBudgetUSD: r.MaxBudget,
		Resume: r.Resume, Continue: r.Continue, ForkSession: r.Fork,
		// A secret in pieces cannot be found in lines of JSON.
		PartialMessages: r.Stream && r.Schema == "" && !c.json,
	}
	if r.Store != "" {
		opts.Store = &claude.StoreOptions{Store: store.Files(r.Store), Project: r.Project}
	} else if r.Project != "" && r.Project != defaultProject { // empty: "sessions resume"
		return nil, &failure{exitUsage, errors.New("--project needs --store")}
	}
	if r.Otel != "" {
		exporter := telemetry.Exporter{Endpoint: r.Otel}
		if err := exporter.Check(); err != nil {
			return nil, &failure{exitUsage, fmt.Errorf("--otel: %w", err)}
		}
		opts.Env = exporter.Apply(opts.Env)
	}
	if r.Schema != "" {
		schema, err := readSchema(r.Schema)
		if err != nil {
			return nil, err
		}
		opts.OutputSchema = schema
	}
	if terminal.Is(c.stdin) {
		a := newAsker(c, s)
		opts.CanUseTool, opts.OnElicitation = a.decide, a.elicit
	} else {
		opts.CanUseTool, opts.OnElicitation = r.refuse(c, s), r.decline(c, s)
	}
	return opts, nil
}

// refuse denies every question where there is no user to ask.
func (r *runCommand) refuse(c *console, s *screen) permission.Func {
	return func(_ context.Context, req *permission.Request) (permission.Decision, error) {
		why := "no terminal to ask on; --allow " + req.ToolName + " would allow it"
		if req.RequiresUserInteraction {
			why = "no terminal to ask on"
		}
		r.complain(c, s, "denied: "+req.ToolName+": "+why) // the result lists it too
		return permission.Deny("nobody can be asked for permission here"), nil
	}
}

// decline is refuse for the questions of MCP servers.
func (r *runCommand) decline(c *console, s *screen) control.ElicitationFunc {
	return func(_ context.Context, e *control.Elicitation) (control.ElicitationAnswer, error) {
		r.complain(c, s, "declined: the MCP server "+e.ServerName+" asks something, and no terminal to ask on")
		return control.Decline(), nil
	}
}

// complain writes a line about something that did not work, unless only the
// answer is wanted.
func (r *runCommand) complain(c *console, s *screen, text string) {
	if !r.quiet(c) {
		s.note(s.style(terminal.Red, c.line(text)))
	}
}

// readSchema reads the schema of the answer.
func readSchema(path string) (json.RawMessage, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var object map[string]json.RawMessage
	switch err := json.Unmarshal(data, &object); {
	case err != nil && json.Valid(data), err == nil && object == nil:
		return nil, &failure{exitFormat, fmt.Errorf("%s: not a JSON Schema: it is not an object", path)}
	case err != nil:
		return nil, &failure{exitFormat, fmt.Errorf("%s: no JSON Schema: %w", path, err)}
	}
	return data, nil
}
