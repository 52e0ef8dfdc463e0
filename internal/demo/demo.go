// Package demo plays a session with everything that the two sides can say to each
// other: a streamed answer, a hook, a permission, a tool in Go, an interrupt, the cost.
//
// Two commands show it. "go run ./cmd/demo" is the first thing that a newcomer runs, so
// it links little: with empty caches, nearly all of the wait is compiling. claudectl demo
// has the same with options.
package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/private"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// Play configures the demo.
type Play struct {
	// Claudectl is how to call that program, for what to do next.
	Claudectl string
	// Env is the environment of a real CLI.
	Env []string
	// CLI is the path of a real CLI, or its name. Empty: a scripted one plays it.
	CLI string
	// ScriptedModel uses a real CLI with a scripted model.
	ScriptedModel bool
	// Decide decides about the tool call that needs permission, and shows it. nil: it
	// is allowed.
	Decide func(context.Context, *permission.Request) (permission.Decision, error)
}

// Run plays the demo in a folder of its own.
func (p *Play) Run(ctx context.Context, view *View) error {
	dir, err := private.MkdirTemp(os.TempDir(), "claudectl-demo-")
	if err != nil {
		return &FolderError{err}
	}
	defer os.RemoveAll(dir)
	opts := &claude.Options{Cwd: dir, CLIPath: p.CLI, Env: p.Env, PartialMessages: true, MaxTurns: 8}
	end, err := p.agent(view, opts)
	if err != nil {
		return err
	}
	defer end()
	p.callbacks(view, opts)
	session, err := claude.Connect(ctx, opts)
	if err != nil {
		return err
	}
	defer session.Close()
	if err := turns(ctx, view, session, dir); err != nil {
		return err
	}
	p.next(view)
	return nil
}

// FolderError is why there is no folder to play in.
type FolderError struct{ err error }

// Error describes the error.
func (e *FolderError) Error() string { return fmt.Sprintf("no folder for the demo: %v", e.err) }

// Unwrap returns the cause.
func (e *FolderError) Unwrap() error { return e.err }

// agent decides who plays the agent, and announces it.
func (p *Play) agent(view *View, opts *claude.Options) (end func(), err error) {
	script := replies(opts.Cwd, view.pace)
	switch {
	case p.ScriptedModel:
		view.say("about", "The CLI is real, the model is not: it is scripted and listens on loopback. No account, no cost.")
		model := claudetest.NewModel(script...)
		if _, err := model.Start(); err != nil {
			return nil, err
		}
		home := filepath.Join(opts.Cwd, "home")
		if err := private.Mkdir(home); err != nil {
			return nil, err
		}
		opts.Env = append(model.Env(home), p.path()...)
		return func() { _ = model.Close() }, nil
	case p.CLI != "":
		view.say("about", "The CLI and the model are real: this uses your account and costs a little.")
		return func() {}, nil
	}
	view.say("about", "The agent is simulated: a scripted CLI inside this program. No account, no network, no cost.")
	opts.Transport = claudetest.NewCLI(&claudetest.Script{Replies: script})
	return func() {}, nil
}

// path is the entry of the environment that finds programs.
func (p *Play) path() []string {
	for _, entry := range slices.Backward(p.Env) {
		if strings.HasPrefix(entry, "PATH=") {
			return []string{entry}
		}
	}
	return nil
}

// callbacks adds what this program does in the session: a tool, a hook, a permission
// function.
func (p *Play) callbacks(view *View, opts *claude.Options) {
	opts.MCPServers = claude.MCPServers{"stock": stock{func(part string) int {
		view.say("tool", fmt.Sprintf("our Go function count(%q) returns 42", part))
		return 42
	}}}
	opts.AllowedTools = []string{"mcp__stock__count"}
	opts.Hooks = []hook.Hook{hook.PreToolUse("", func(ctx context.Context, in *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
		view.await(ctx, in.ToolUseID)
		view.say("hook", "our PreToolUse hook sees "+in.ToolName)
		return nil, nil
	})}
	decide := p.Decide
	if decide != nil {
		opts.Timeouts.Callback = claude.NoTimeout // a person may think
	}
	opts.CanUseTool = func(ctx context.Context, req *permission.Request) (permission.Decision, error) {
		view.await(ctx, req.ToolUseID)
		decision, err := permission.Allow(), error(nil)
		if decide != nil {
			decision, err = decide(ctx, req)
		} else {
			view.say("asked", "may "+req.ToolName+" run?")
		}
		if decision.Behavior() == permission.BehaviorAllow {
			view.say("answer", "allowed, this once")
		} else {
			view.say("answer", "denied: "+decision.Message())
		}
		return decision, err
	}
}

// turns runs the prompts.
func turns(ctx context.Context, view *View, session *claude.Session, dir string) error {
	view.say("connected", "version "+session.Info().CLIVersion+" of the CLI has answered the handshake")
	if err := turn(ctx, view, session, firstPrompt(dir), 0); err != nil {
		return err
	}
	err := turn(ctx, view, session, lecture, limit)
	if failed, ok := errors.AsType[*claude.ResultError](err); ok && failed.Result.Interrupted() {
		return nil // as planned
	}
	return err
}

// turn runs a prompt, and interrupts it after so many pieces of text, if not 0.
func turn(ctx context.Context, view *View, session *claude.Session, prompt string, most int) error {
	view.gap()
	view.say("you", prompt)
	pieces := 0
	for m, err := range session.Run(ctx, prompt) {
		if err != nil {
			return err
		}
		_, result := m.(*message.Result)
		if most == 0 || pieces < most || result {
			view.show(m)
		}
		if e, ok := m.(*message.StreamEvent); ok && e.EventType == message.EventBlockDelta {
			pieces++
			if pieces == most {
				view.say("interrupt", "that is enough")
				go func() { _, _ = session.Interrupt(ctx) }() // the result shows whether it worked
			}
		}
	}
	return nil
}

// next prints what to do next.
func (p *Play) next(view *View) {
	view.gap()
	say := func(command, gain string) {
		view.say("next", fmt.Sprintf("%-*s %s", len(p.Claudectl)+24, p.Claudectl+" "+command, gain))
	}
	if p.CLI == "" && !p.ScriptedModel {
		say("demo --scripted-model", "the same with the real CLI and a scripted model")
		say("demo --cli claude", "the same with the real CLI and your account")
	}
	say("doctor", "what is installed here")
	say(`run "your prompt"`, "the real job")
}
