package otelclaude_test

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/tool"
)

// richScript has some of everything: parallel calls, a subagent that calls a
// tool, a tool of the program, an API call that is retried.
func richScript() *claudetest.Script {
	return say(
		claudetest.UseTools(
			claudetest.ScriptedCall{Name: "Bash", Input: command{"a"}},
			claudetest.ScriptedCall{Name: "mcp__x__echo", Input: struct{}{}},
		),
		claudetest.Fail(529, "overloaded_error", "Overloaded"),
		claudetest.DelegateAndWait("Explore", "Count.", claudetest.UseTool("Bash", command{"ls"}), claudetest.Say("three")),
		claudetest.Say("done"),
	)
}

func richOptions() *claude.Options {
	return &claude.Options{
		PartialMessages: true, Logger: slog.New(slog.DiscardHandler),
		CanUseTool: func(context.Context, *permission.Request) (permission.Decision, error) {
			return permission.Allow(), nil
		},
		Hooks: []hook.Hook{
			hook.PreToolUse("", func(context.Context, *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) { return nil, nil }),
			hook.Stop(func(context.Context, *hook.StopInput) (*hook.StopOutput, error) { return nil, nil }),
		},
		MCPServers: claude.MCPServers{"x": tool.NewServer(tool.New("echo", "Echo", func(context.Context, struct{}) (string, error) { return "ok", nil }))},
	}
}

// Wherever a session breaks off, by a crash, by Close or by its context, every
// span has an end when Close or Ask has returned, and no session counts as live.
func TestEveryEndAtEveryLine(t *testing.T) {
	ways := map[string]func(line int, script *claudetest.Script, opts *claude.Options, cancel, closeIt func()){
		"crash": func(line int, script *claudetest.Script, _ *claude.Options, _, _ func()) {
			code := 3
			script.Faults = []claudetest.Fault{{Line: line, Exit: &code}}
		},
		"cancel": func(line int, _ *claudetest.Script, opts *claude.Options, cancel, _ func()) {
			atLine(opts, line, cancel)
		},
		"close": func(line int, _ *claudetest.Script, opts *claude.Options, _, closeIt func()) {
			atLine(opts, line, closeIt)
		},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			whole := false
			for line := 1; !whole && !t.Failed(); line++ {
				synctest.Test(t, func(t *testing.T) { whole = breakOff(t, line, way) })
				if line > 200 {
					t.Fatal("the session has no end")
				}
			}
		})
	}
}

// breakOff runs a session that breaks off at a line. It reports whether the
// session has ended before that line.
func breakOff(t *testing.T, line int, way func(int, *claudetest.Script, *claude.Options, func(), func())) (whole bool) {
	r, script, opts := record(t), richScript(), richOptions()
	ctx, end := r.request()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	opened := make(chan *claude.Session, 1)
	way(line, script, opts, cancel, func() {
		if s := <-opened; s != nil {
			s.Close()
		}
	})
	opts.Transport = claudetest.NewCLI(script)
	s, err := claude.Connect(ctx, r.instrument(opts))
	opened <- s
	if err == nil {
		_, err = s.Ask(ctx, "hello")
		s.Close()
	}
	end()
	synctest.Wait() // Connect does not wait for the trace of a CLI that it could not start
	r.tree()
	if n := r.points("")["claude.sessions"]; n != 0 {
		t.Errorf("line %d: %v sessions are live", line, n)
	}
	if t.Failed() {
		t.Logf("line %d: %v", line, err)
	}
	return err == nil
}

// atLine calls a function when the n-th line of the CLI is seen.
func atLine(opts *claude.Options, n int, do func()) {
	seen := 0
	opts.Trace = &claude.Trace{FrameRead: func(line []byte) {
		if bytes.HasPrefix(line, []byte("{")) {
			if seen++; seen == n {
				go do()
			}
		}
	}}
}
