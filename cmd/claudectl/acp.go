package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/acp"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/proc"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/permission/policy"
)

// acpCommand is "claudectl acp".
type acpCommand struct {
	CLI    string `name:"cli" placeholder:"PATH" complete:"file" help:"The CLI to use. Default: the \"claude\" that is installed."`
	Model  string `placeholder:"NAME" help:"The model to begin with."`
	Policy string `placeholder:"FILE" complete:"file" help:"Rules that decide before the editor is asked, as JSON: deny, allow, confine."`
	Record string `placeholder:"FILE" complete:"file" help:"Record what is said to the CLI, for claudectl inspect. If the file exists, the name gets a number: each session has a file."`
	Bypass bool   `help:"Offer the mode that accepts everything without asking."`

	Login    bool `help:"Sign in instead, in a terminal: with a Claude subscription, or with --console."`
	ClaudeAI bool `name:"claudeai" hidden:"" help:"With --login: use a Claude subscription."`
	Console  bool `help:"With --login: use the API, billed by usage."`

	Connect string `placeholder:"URL" help:"Use the conversations of a server, such as \"claudectl serve\", instead of a CLI of this machine. The token is in CLAUDECTL_TOKEN."`
	Preset  string `placeholder:"NAME" help:"With --connect: what new sessions begin with. Default: the preset that works in the session's directory."`
}

// Help is shown by "claudectl acp --help".
func (*acpCommand) Help() string {
	return `An editor that speaks the Agent Client Protocol starts this command and talks to it on standard input and output. Each session of the editor is a CLI; all of them end when the editor does, and can be opened again later.

A policy decides in every mode, before the editor is asked. Paths are those of the session's directory; confine keeps tools inside of it:

	{"deny": ["Bash(git push:*)", "Read(.env)"], "allow": ["Bash(go test:*)"], "confine": true}

With --connect, sessions are conversations of a server: its page and other editors have them too, and its own rules hold. They continue when the editor is gone.`
}

// policyFile is the file that --policy names.
type policyFile struct {
	Deny    []string      `json:"deny"`
	Allow   []string      `json:"allow"`
	Confine bool          `json:"confine"`
	Unknown jsonx.Unknown `json:",embed"`
}

// Run speaks with the editor until it is gone.
func (a *acpCommand) Run(c *console) error {
	if a.Login {
		return a.signIn(c)
	}
	if a.Connect != "" {
		remote, err := a.remote(c)
		if err != nil {
			return &failure{exitUsage, err}
		}
		return serveEditor(c, remote)
	}
	if a.Preset != "" {
		return &failure{exitUsage, errors.New("--preset needs --connect")}
	}
	local := &acp.Local{
		Name: "claudectl", Login: []string{"--login"},
		Options: &claude.Options{
			CLIPath: a.CLI, Env: c.agentEnv(), Model: a.Model, AllowBypassPermissions: a.Bypass,
			SystemPrompt: claude.SystemPrompt{Preset: true},
			Stderr:       func(line string) { fmt.Fprintf(c.stderr, "%s\n", c.line(line)) },
		},
	}
	if a.Policy != "" {
		decide, err := readPolicy(a.Policy)
		if err != nil {
			return &failure{exitUsage, fmt.Errorf("the policy %s: %w", a.Policy, err)}
		}
		local.Policy = decide
	}
	if a.Record != "" {
		local.Options.Transport = recording{name: a.Record}
	}
	return serveEditor(c, local)
}

// serveEditor speaks with the editor on the standard streams.
func serveEditor(c *console, agent acp.Backend) error {
	ctx, stop := signal.NotifyContext(c.ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	endpoint := &acp.Endpoint{Backend: agent, Logger: slog.New(slog.NewTextHandler(c.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))}
	err := endpoint.Serve(ctx, newQuietStream(editorStream{c.stdin, c.stdout}, newDiet()))
	if errors.Is(err, context.Canceled) && c.ctx.Err() == nil {
		return nil // a signal, after which nothing is left
	}
	return err
}

// signIn lets the CLI sign in, with this program's terminal.
func (a *acpCommand) signIn(c *console) error {
	if a.ClaudeAI && a.Console {
		return &failure{exitUsage, errors.New("choose one of --claudeai and --console")}
	}
	path, err := proc.Find(a.CLI, c.env)
	if err != nil {
		return err
	}
	account := "--claudeai"
	if a.Console {
		account = "--console"
	}
	cmd := exec.CommandContext(c.ctx, path, "auth", "login", account)
	cmd.Env = c.agentEnv()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.stdin, c.stdout.stream, c.stderr // the terminal itself
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("claude auth login: %w", err)
	}
	return nil
}

// readPolicy reads rules. A member that is not known is refused: it might have
// been meant to deny something.
func readPolicy(name string) (func(dir string) permission.Func, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	if _, err := jsonx.Fault(data); err != nil {
		return nil, err
	}
	var file policyFile
	if err := jsonx.UnmarshalWhole(data, &file); err != nil {
		return nil, err
	}
	if file.Unknown != nil {
		return nil, fmt.Errorf("only deny, allow and confine are known, not %s", file.Unknown)
	}
	deny, err := policy.ParseRules(file.Deny...)
	if err != nil {
		return nil, fmt.Errorf("deny: %w", err)
	}
	allow, err := policy.ParseRules(file.Allow...)
	if err != nil {
		return nil, fmt.Errorf("allow: %w", err)
	}
	return func(dir string) permission.Func {
		funcs := []permission.Func{deny.At(dir).Deny("The policy of this editor denies it.")}
		if file.Confine {
			funcs = append(funcs, policy.Confine(dir))
		}
		return policy.First(append(funcs, allow.At(dir).Allow())...)
	}, nil
}

// editorStream is the connection to the editor.
type editorStream struct {
	io.Reader
	io.Writer
}

// Close closes standard input, if it can be closed.
func (s editorStream) Close() error {
	if c, ok := s.Reader.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
