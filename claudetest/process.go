package claudetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/internal/ndjson"
)

// process is one run of a scripted CLI, wherever it runs.
type process struct {
	script *Script
	agent  host.Agent // instead of the script's
	args   []string
	env    []string
	dir    string
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	known  *conversations
	signal func(name string) // sends the process a signal; nil: it ends as by one
}

// run plays the script and returns the exit code.
func (p *process) run(ctx context.Context) int {
	opts, err := host.ParseArgs(p.args, p.env)
	if errors.Is(err, host.ErrVersion) {
		fmt.Fprintln(p.stdout, Version+" (Claude Code)")
		return 0
	}
	if err != nil {
		fmt.Fprintln(p.stderr, err)
		return 1
	}
	p.script.complete(opts, p)
	agent := p.agent
	if agent == nil {
		resumed, ok := p.known.find(opts.Resume)
		left := p.stored(opts.Resume)
		if left != nil {
			resumed, ok = left.said, true
			opts.Leaf, opts.Unfinished = left.leaf, left.unfinished
		}
		if opts.Resume != "" && !ok {
			return refuse(p, opts.Resume)
		}
		scripted := newAgent(p.script, p.env, p.known, resumed)
		if scripted.left = left; left != nil {
			scripted.edits = left.edits
		}
		agent = scripted
		if opts.Rewind == nil {
			opts.Rewind = scripted.rewind
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := newFaultyWriter(ctx, cancel, p)
	out.begin()
	err = host.Serve(ctx, struct {
		io.Reader
		io.Writer
	}{&faultyReader{p: p, ctx: ctx}, out}, agent, opts)
	out.flush()
	code := p.code(err)
	if p.script.IgnoreEOF && ctx.Err() == nil {
		<-ctx.Done()
		code = p.code(context.Cause(ctx))
	}
	return code
}

// code is the CLI's exit code for how a session ended.
func (p *process) code(err error) int {
	if code, ok := exitCode(err); ok {
		return code
	}
	switch {
	case err == nil:
		return 0
	case errors.Is(err, ndjson.ErrBroken), errors.Is(err, host.ErrFailed):
		return 1
	}
	fmt.Fprintln(p.stderr, "Error: "+err.Error())
	return 1
}

// Version is the version of the CLI whose behaviour is played.
const Version = "2.1.325"

// builtin are the tools that a scripted CLI announces.
var builtin = []string{"Task", "Bash", "Edit", "Glob", "Grep", "Read", "Write", "WebFetch", "WebSearch"}

// readOnly are the tools that need no permission.
var readOnly = []string{"Read", "Glob", "Grep", "LS", "TodoWrite", "StructuredOutput", agentTool, "Task"}

// complete merges the script's options into those of the command line, which take
// precedence.
func (s *Script) complete(o *host.Options, p *process) {
	base := s.Options
	dirs := append(slices.Clone(base.Init.AdditionalDirectories), o.Init.AdditionalDirectories...)
	o.Info, o.Init, o.Operations, o.Rewind = base.Info, base.Init, base.Operations, base.Rewind
	o.Init.AdditionalDirectories = dirs
	o.Allow = append(slices.Clone(base.Allow), o.Allow...)
	o.Deny = append(slices.Clone(base.Deny), o.Deny...)
	o.Ask = append(slices.Clone(base.Ask), o.Ask...)
	o.SDKServers = append(slices.Clone(base.SDKServers), o.SDKServers...)
	for _, f := range []struct {
		dst   *string
		value string
	}{{&o.SessionID, base.SessionID}, {&o.Model, base.Model}, {&o.Cwd, base.Cwd}, {&o.Cwd, p.dir}, {(*string)(&o.Mode), string(base.Mode)}} {
		if *f.dst == "" {
			*f.dst = f.value
		}
	}
	if o.MaxTurns == 0 {
		o.MaxTurns = base.MaxTurns
	}
	if o.MaxBudgetUSD == 0 {
		o.MaxBudgetUSD = base.MaxBudgetUSD
	}
	o.Resume = cmp.Or(o.Resume, base.Resume)
	if o.JSONSchema == nil {
		o.JSONSchema = base.JSONSchema
	}
	o.AllowBypass = o.AllowBypass || base.AllowBypass
	o.PartialMessages = o.PartialMessages || base.PartialMessages
	o.ReplayUserMessages = o.ReplayUserMessages || base.ReplayUserMessages
	o.StateEvents = o.StateEvents || base.StateEvents
	o.PromptTool = o.PromptTool || base.PromptTool
	o.Logger, o.LineLimit = base.Logger, base.LineLimit
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Init.Tools == nil {
		o.Init.Tools = toolNames(p.args, o.PromptTool)
	}
}

// toolNames are the tools of a session: --tools limits them, and the tool for
// questions needs a client that answers.
func toolNames(args []string, asks bool) []string {
	names := slices.Clone(builtin)
	if asks {
		names = append(names, "AskUserQuestion")
	}
	for i, arg := range args {
		value, ok := strings.CutPrefix(arg, "--tools=")
		if arg == "--tools" && i+1 < len(args) {
			value, ok = args[i+1], true
		}
		if ok && value != "default" {
			names = slices.DeleteFunc(names, func(n string) bool { return !slices.Contains(strings.Split(value, ","), n) })
		}
	}
	return names
}
