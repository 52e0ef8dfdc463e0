package otelclaude_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/permission"
)

func allow(context.Context, *permission.Request) (permission.Decision, error) {
	return permission.Allow(), nil
}

func deny(context.Context, *permission.Request) (permission.Decision, error) {
	return permission.Deny("not today"), nil
}

// command is the input of a call of Bash.
type command struct {
	Command string `json:"command"`
}

// ask asks a scripted CLI, within a request.
func (r *recorder) ask(opts *claude.Options, script *claudetest.Script) error {
	opts.Transport = claudetest.NewCLI(script)
	ctx, end := r.request()
	defer end()
	_, err := claude.Ask(ctx, "hello", r.instrument(opts))
	return err
}

func TestTrees(t *testing.T) {
	for _, c := range []struct {
		name    string
		opts    claude.Options
		replies []claudetest.Reply
		tools   map[string]host.RunFunc
		fails   bool
		want    string
	}{
		{
			name:    "plain",
			replies: []claudetest.Reply{claudetest.Say("hi")},
			want: `
				request
				  invoke_agent
				  start_session
				`,
		},
		{
			name: "tool",
			opts: claude.Options{CanUseTool: allow},
			replies: []claudetest.Reply{
				claudetest.UseTool("Bash", command{"make"}), claudetest.Say("done"),
			},
			want: `
				request
				  invoke_agent
				    execute_tool Bash outcome=ok
				      permission Bash decision=allow
				  start_session
				    control initialize
				`,
		},
		{
			name: "parallel",
			opts: claude.Options{CanUseTool: allow},
			replies: []claudetest.Reply{
				claudetest.UseTools(
					claudetest.ScriptedCall{Name: "Bash", Input: command{"a"}},
					claudetest.ScriptedCall{Name: "Write", Input: map[string]string{"file_path": "/x", "content": "b"}},
				), claudetest.Say("done"),
			},
			want: `
				request
				  invoke_agent
				    execute_tool Bash outcome=ok
				      permission Bash decision=allow
				    execute_tool Write outcome=ok
				      permission Write decision=allow
				  start_session
				    control initialize
				`,
		},
		{
			name: "denied",
			opts: claude.Options{CanUseTool: deny},
			replies: []claudetest.Reply{
				claudetest.UseTool("Bash", command{"make"}), claudetest.Say("a pity"),
			},
			want: `
				request
				  invoke_agent
				    execute_tool Bash outcome=denied type=permission_denied
				      permission Bash decision=deny
				  start_session
				    control initialize
				`,
		},
		{
			name: "hooks",
			opts: claude.Options{CanUseTool: allow, Hooks: []hook.Hook{
				hook.PreToolUse("Bash", func(context.Context, *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
					return hook.DenyTool("no"), nil
				}),
				hook.Stop(func(context.Context, *hook.StopInput) (*hook.StopOutput, error) { return nil, errors.New("boom") }),
			}},
			replies: []claudetest.Reply{
				claudetest.UseTool("Bash", command{"make"}), claudetest.Say("a pity"),
			},
			want: `
				request
				  invoke_agent
				    execute_tool Bash outcome=denied type=permission_denied
				      hook PreToolUse decision=deny
				    hook Stop type=_OTHER
				  start_session
				    control initialize
				`,
		},
		{
			name:    "failed API",
			replies: []claudetest.Reply{claudetest.Fail(529, "overloaded_error", "Overloaded").Forever()},
			fails:   true,
			want: `
				request
				  invoke_agent type=529
				  start_session
				`,
		},
		{
			name: "API call repeated",
			replies: []claudetest.Reply{
				claudetest.Fail(529, "overloaded_error", "Overloaded"), claudetest.Fail(429, "rate_limit_error", "Slow down"), claudetest.Say("hi"),
			},
			want: `
				request
				  invoke_agent +api_retry +api_retry
				  start_session
				`,
		},
		{
			name: "failed tool",
			opts: claude.Options{CanUseTool: allow},
			replies: []claudetest.Reply{
				claudetest.UseTool("Read", map[string]string{"file_path": "/nowhere"}), claudetest.Say("a pity"),
			},
			tools: map[string]host.RunFunc{"Read": func(context.Context, json.RawMessage) (host.ToolOutput, error) {
				return host.ToolOutput{}, errors.New("no such file")
			}},
			want: `
				request
				  invoke_agent
				    execute_tool Read outcome=error type=tool_error
				  start_session
				    control initialize
				`,
		},
		{
			name: "parallel, one denied",
			opts: claude.Options{CanUseTool: func(_ context.Context, r *permission.Request) (permission.Decision, error) {
				if r.ToolName == "Write" {
					return permission.Deny("not this one"), nil
				}
				return permission.Allow(), nil
			}},
			replies: []claudetest.Reply{
				claudetest.UseTools(
					claudetest.ScriptedCall{Name: "Bash", Input: command{"a"}},
					claudetest.ScriptedCall{Name: "Write", Input: map[string]string{"file_path": "/x", "content": "b"}},
				), claudetest.Say("done"),
			},
			want: `
				request
				  invoke_agent
				    execute_tool Bash outcome=ok
				      permission Bash decision=allow
				    execute_tool Write outcome=denied type=permission_denied
				      permission Write decision=deny
				  start_session
				    control initialize
				`,
		},
		{
			name: "subagent",
			opts: claude.Options{CanUseTool: allow},
			replies: []claudetest.Reply{
				claudetest.DelegateAndWait("Explore", "Count.", claudetest.UseTool("Glob", map[string]string{"pattern": "*"}), claudetest.Say("three")),
				claudetest.Say("There are three."),
			},
			want: `
				request
				  invoke_agent
				    execute_tool Agent outcome=ok
				      invoke_agent Explore
				        execute_tool Glob outcome=ok
				  start_session
				    control initialize
				`,
		},
		{
			name: "subagent in the background",
			opts: claude.Options{CanUseTool: allow},
			replies: []claudetest.Reply{
				claudetest.Delegate("Explore", "Count.", claudetest.UseTool("Bash", command{"ls"}), claudetest.Say("three")),
				claudetest.Say("An agent counts."),
				claudetest.Say("There are three."),
			},
			want: `
				request
				  invoke_agent
				    execute_tool Agent outcome=ok
				      invoke_agent Explore
				        execute_tool Bash outcome=ok
				          permission Bash decision=allow
				  start_session
				    control initialize
				    invoke_agent
				`,
		},
		{
			name: "deferred",
			opts: claude.Options{CanUseTool: allow, Hooks: []hook.Hook{
				hook.PreToolUse("Bash", func(context.Context, *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
					return hook.DeferTool(), nil
				}),
			}},
			replies: []claudetest.Reply{claudetest.UseTool("Bash", command{"make"})},
			want: `
				request
				  invoke_agent
				    execute_tool Bash outcome=deferred
				      hook PreToolUse decision=defer
				  start_session
				    control initialize
				`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := record(t)
			if err := r.ask(&c.opts, &claudetest.Script{Replies: c.replies, Tools: c.tools}); (err != nil) != c.fails {
				t.Errorf("Ask = %v", err)
			}
			r.want(c.want)
		})
	}
}
