package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/tool"
)

// demoCommand is "claudectl demo".
type demoCommand struct {
	CLI           string `name:"cli" placeholder:"PATH" complete:"file" help:"Use the real CLI and your account: \"claude\", or a path."`
	ScriptedModel bool   `help:"Use the real CLI with a scripted model on loopback: no account, no cost."`
	Ask           bool   `help:"Decide about the permission yourself."`
}

// Run plays a session with everything that two sides can say to each other.
func (d *demoCommand) Run(c *console) error {
	ctx, release := endOnSignal(c.ctx)
	defer release()
	return because(ctx, d.session(ctx, c))
}

// session plays it in a folder of its own.
func (d *demoCommand) session(ctx context.Context, c *console) error {
	dir, err := os.MkdirTemp("", "claudectl-demo-")
	if err != nil {
		return &failure{exitFailed, fmt.Errorf("no folder for the demo: %w", err)}
	}
	defer os.RemoveAll(dir)
	view := newDemoView(c)
	opts := &claude.Options{Cwd: dir, CLIPath: d.CLI, Env: c.agentEnv(), PartialMessages: true, MaxTurns: 8}
	end, err := d.agent(c, view, opts)
	if err != nil {
		return err
	}
	defer end()
	d.callbacks(view, c, opts)
	session, err := claude.Connect(ctx, opts)
	if err != nil {
		return err
	}
	defer session.Close()
	if err := d.turns(ctx, view, session, dir); err != nil {
		return err
	}
	d.next(view)
	return nil
}

// agent decides who plays the agent, and says so.
func (d *demoCommand) agent(c *console, view *demoView, opts *claude.Options) (end func(), err error) {
	replies := demoReplies(opts.Cwd, view.pace)
	switch {
	case d.ScriptedModel:
		view.say("about", "The CLI is real, the model is not: it is scripted and listens on loopback. No account, no cost.")
		model := claudetest.NewModel(replies...)
		if _, err := model.Start(); err != nil {
			return nil, err
		}
		home := filepath.Join(opts.Cwd, "home")
		if err := os.Mkdir(home, 0o700); err != nil {
			return nil, err
		}
		opts.Env = append(model.Env(home), "PATH="+c.variable("PATH"))
		return func() { _ = model.Close() }, nil
	case d.CLI != "":
		view.say("about", "The CLI and the model are real: this uses your account and costs a little.")
		return func() {}, nil
	}
	view.say("about", "The agent is simulated: a scripted CLI inside this program. No account, no network, no cost.")
	opts.Transport = claudetest.NewCLI(&claudetest.Script{Replies: replies})
	return func() {}, nil
}

// callbacks adds what this program does in the session: a tool, a hook, a permission
// function.
func (d *demoCommand) callbacks(view *demoView, c *console, opts *claude.Options) {
	count := tool.New("count", "Count the parts of a kind in stock", func(_ context.Context, in struct {
		Part string `json:"part"`
	}) (int, error) {
		view.say("tool", fmt.Sprintf("our Go function count(%q) returns 42", in.Part))
		return 42, nil
	})
	opts.MCPServers = claude.MCPServers{"stock": tool.NewServer(count)}
	opts.AllowedTools = []string{"mcp__stock__count"}
	opts.Hooks = []hook.Hook{hook.PreToolUse("", func(ctx context.Context, in *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
		view.await(ctx, in.ToolUseID)
		view.say("hook", "our PreToolUse hook sees "+in.ToolName)
		return nil, nil
	})}
	decide := func(context.Context, *permission.Request) (permission.Decision, error) {
		return permission.Allow(), nil
	}
	if d.Ask {
		decide = newAsker(c, newScreen(c)).decide
		opts.Timeouts.Callback = claude.NoTimeout
	}
	opts.CanUseTool = func(ctx context.Context, req *permission.Request) (permission.Decision, error) {
		view.await(ctx, req.ToolUseID)
		if !d.Ask { // the question shows it
			view.say("asked", "may "+req.ToolName+" run?")
		}
		decision, err := decide(ctx, req)
		if decision.Behavior() == permission.BehaviorAllow {
			view.say("answer", "allowed, this once")
		} else {
			view.say("answer", "denied: "+decision.Message())
		}
		return decision, err
	}
}

// turns runs the prompts.
func (d *demoCommand) turns(ctx context.Context, view *demoView, session *claude.Session, dir string) error {
	view.say("connected", "version "+session.Info().CLIVersion+" of the CLI has answered the handshake")
	if err := d.turn(ctx, view, session, demoPrompt(dir), 0); err != nil {
		return err
	}
	err := d.turn(ctx, view, session, demoLecture, demoLimit)
	if failed, ok := errors.AsType[*claude.ResultError](err); ok && codeOfResult(failed.Result) == exitInterrupted {
		return nil // as planned
	}
	return err
}

// turn runs a prompt, and interrupts it after so many pieces of text, if not 0.
func (d *demoCommand) turn(ctx context.Context, view *demoView, session *claude.Session, prompt string, limit int) error {
	view.gap()
	view.say("you", prompt)
	pieces := 0
	for m, err := range session.Run(ctx, prompt) {
		if err != nil {
			return err
		}
		_, result := m.(*message.Result)
		if limit == 0 || pieces < limit || result {
			view.show(m)
		}
		if e, ok := m.(*message.StreamEvent); ok && e.EventType == message.EventBlockDelta {
			pieces++
			if pieces == limit {
				view.say("interrupt", "that is enough")
				go func() { _, _ = session.Interrupt(ctx) }() // the result says whether it worked
			}
		}
	}
	return nil
}

// next says what comes next.
func (d *demoCommand) next(view *demoView) {
	view.gap()
	if d.CLI == "" && !d.ScriptedModel {
		view.say("next", "claudectl demo --scripted-model   the same with the real CLI and a scripted model")
		view.say("next", "claudectl demo --cli claude       the same with the real CLI and your account")
	}
	view.say("next", "claudectl doctor                  what is installed here")
	view.say("next", `claudectl run "your prompt"       the real job`)
}
