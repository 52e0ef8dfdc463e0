package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/tool"
)

// scenario is something that programs do with the SDK. It returns what it came
// to; without an error that must be want, or one of tolerant: what is right
// when a gate has stayed closed.
type scenario struct {
	name     string
	want     string
	tolerant map[string]bool
	run      func(context.Context, *faultRun) (string, error)
}

// bound is how long a scenario may take.
func (scenario) bound(kind string) time.Duration {
	switch kind {
	case "silence", "stuck write", "hang":
		return 3 * time.Minute // the timeouts of the SDK, one after the other
	}
	return 30 * time.Second
}

func scenarios() []scenario {
	return []scenario{
		{"connect and close", "stopped", nil, connectAndClose},
		{"ask one way", "hello", nil, askOneWay},
		{"query", "system,assistant,result", nil, queryAll},
		{"query left", "system", nil, queryLeft},
		{"ask with a permission", "done, ran 1", map[string]bool{"done, ran 0": true}, askPermission},
		{"two turns", "one two", nil, twoTurns},
		{"turn left and another", "clean", nil, turnLeft},
		{"guard that fails closed", "done, ran 1", map[string]bool{"done, ran 0": true}, guarded},
		{"tool of the program", "done", nil, ownTool},
		{"operations", "opus plan", nil, operations},
		{"interrupt", "aborted_streaming", nil, interrupted},
		{"prompts sent ahead", "both", nil, sentAhead},
		{"traced, with a file", "hello", nil, withFile},
		{"three at once", "hello hello hello", nil, atOnce},
	}
}

// scripted makes a scripted CLI the far side.
func (l *faultRun) scripted(s *claudetest.Script) {
	s.Tools = map[string]host.RunFunc{"Bash": func(context.Context, json.RawMessage) (host.ToolOutput, error) {
		l.ran.Add(1)
		return host.TextOutput("ok"), nil
	}}
	l.inner = claudetest.NewCLI(s)
}

func (l *faultRun) replies(r ...claudetest.Reply) { l.scripted(&claudetest.Script{Replies: r}) }

func connectAndClose(ctx context.Context, l *faultRun) (string, error) {
	l.replies()
	s, err := l.connect(ctx)
	if err != nil {
		return "", err
	}
	err = s.Close()
	return s.State().String(), errors.Join(err, s.Wait())
}

func askOneWay(ctx context.Context, l *faultRun) (string, error) {
	l.replies(claudetest.Say("hello"))
	r, err := claude.Ask(ctx, "hi", l.opts)
	if err != nil {
		return "", err
	}
	return r.Text, nil
}

func queryAll(ctx context.Context, l *faultRun) (string, error) {
	l.replies(claudetest.Say("hello"))
	var types []string
	for m, err := range claude.Query(ctx, "hi", l.opts) {
		if err != nil {
			return "", err
		}
		if kind := m.Head().Type; kind == "system" || kind == "assistant" || kind == "result" {
			types = append(types, kind)
		}
	}
	return strings.Join(types, ","), nil
}

func queryLeft(ctx context.Context, l *faultRun) (string, error) {
	l.replies(claudetest.Say("hello"))
	l.opts.CanUseTool = l.allow
	for m, err := range claude.Query(ctx, "hi", l.opts) {
		if err != nil {
			return "", err
		}
		if m.Head().Type == "system" {
			return "system", nil
		}
	}
	return "", errors.New("no message")
}

// allow is a permission callback that may fail.
func (l *faultRun) allow(ctx context.Context, _ *permission.Request) (permission.Decision, error) {
	return permission.Allow(), l.call(ctx)
}

// bash is a script that runs a command and is done.
func (l *faultRun) bash() {
	l.replies(claudetest.UseTool("Bash", map[string]string{"command": "make"}), claudetest.Say("done"))
}

// gated adds how often the tool ran. A gate that failed must not have let it.
func (l *faultRun) gated(text string, err error) (string, error) {
	ran := l.ran.Load()
	if calls := l.calls.Load(); ran > calls || ran == calls && l.at > 0 && l.at <= calls && slices.Contains(callbackFaults, l.kind) {
		return "", nil // never want: the gate was passed
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s, ran %d", text, ran), nil
}

func askPermission(ctx context.Context, l *faultRun) (string, error) {
	l.bash()
	l.opts.CanUseTool = l.allow
	r, err := claude.Ask(ctx, "build", l.opts)
	if err != nil {
		return l.gated("", err)
	}
	return l.gated(r.Text, nil)
}

func guarded(ctx context.Context, l *faultRun) (string, error) {
	l.bash()
	l.opts.HookFailure = hook.FailClosed
	l.opts.Hooks = []hook.Hook{hook.PreToolUse("Bash", func(ctx context.Context, _ *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
		return hook.AllowTool("fine"), l.call(ctx)
	})}
	s, err := l.connect(ctx)
	if err != nil {
		return "", err
	}
	defer s.Close()
	r, err := s.Ask(ctx, "build")
	if err != nil {
		return l.gated("", err)
	}
	return l.gated(r.Text, nil)
}

func twoTurns(ctx context.Context, l *faultRun) (string, error) {
	l.replies(claudetest.Say("one"), claudetest.Say("two"))
	s, err := l.connect(ctx)
	if err != nil {
		return "", err
	}
	defer s.Close()
	var texts []string
	for range 2 {
		r, err := s.Ask(ctx, "continue")
		if err != nil {
			return "", err
		}
		texts = append(texts, r.Text)
	}
	return strings.Join(texts, " "), nil
}

func turnLeft(ctx context.Context, l *faultRun) (string, error) {
	release := make(chan struct{})
	defer close(release)
	l.replies(claudetest.Say("a long story").Chunks(3, 0).Hold(release), claudetest.Say("clean"))
	l.opts.PartialMessages = true
	s, err := l.connect(ctx)
	if err != nil {
		return "", err
	}
	defer s.Close()
	for m, err := range s.Run(ctx, "long") {
		if err != nil {
			return "", err
		}
		if m.Head().Type == "stream_event" {
			break
		}
	}
	r, err := s.Ask(ctx, "next")
	if err != nil {
		return "", err
	}
	return r.Text, nil
}

func ownTool(ctx context.Context, l *faultRun) (string, error) {
	l.replies(claudetest.UseTool("mcp__x__add", map[string]int{"a": 1, "b": 2}), claudetest.Say("done"))
	add := tool.New("add", "Add", func(ctx context.Context, in struct{ A, B float64 }) (float64, error) {
		return in.A + in.B, l.call(ctx)
	})
	l.opts.MCPServers = claude.MCPServers{"x": tool.NewServer(add)}
	l.opts.AllowedTools = []string{"mcp__x__add"}
	s, err := l.connect(ctx)
	if err != nil {
		return "", err
	}
	defer s.Close()
	r, err := s.Ask(ctx, "add")
	if err != nil {
		return "", err
	}
	return r.Text, nil
}

func operations(ctx context.Context, l *faultRun) (string, error) {
	l.replies(claudetest.Say("hello"))
	s, err := l.connect(ctx)
	if err != nil {
		return "", err
	}
	defer s.Close()
	if err := s.SetModel(ctx, "opus"); err != nil {
		return "", err
	}
	if err := s.SetPermissionMode(ctx, permission.ModePlan); err != nil {
		return "", err
	}
	if _, err := s.Interrupt(ctx); err != nil {
		return "", err
	}
	for m, err := range s.Run(ctx, "hi") {
		if err != nil {
			return "", err
		}
		if init, ok := m.(*message.Init); ok {
			defer func() { _ = init }()
			for range s.Run(ctx, "busy") { // the stream has a reader: ErrBusy
			}
			return init.Model + " " + string(init.PermissionMode), nil
		}
	}
	return "", errors.New("no init")
}

func interrupted(ctx context.Context, l *faultRun) (string, error) {
	release := make(chan struct{})
	defer close(release)
	l.replies(claudetest.Say("a long story").Chunks(3, 0).Hold(release))
	l.opts.PartialMessages = true
	s, err := l.connect(ctx)
	if err != nil {
		return "", err
	}
	defer s.Close()
	asked := false
	for m, err := range s.Run(ctx, "long") {
		if failed, ok := errors.AsType[*claude.ResultError](err); ok {
			return string(failed.Result.TerminalReason), nil
		}
		if err != nil {
			return "", err
		}
		if m.Head().Type == "stream_event" && !asked {
			asked = true
			if _, err := s.Interrupt(ctx); err != nil {
				return "", err
			}
		}
	}
	return "", errors.New("it went well")
}

func sentAhead(ctx context.Context, l *faultRun) (string, error) {
	l.replies(claudetest.Say("both"), claudetest.Say("both"))
	s, err := l.connect(ctx)
	if err != nil {
		return "", err
	}
	defer s.Close()
	open := make(map[string]bool)
	for _, prompt := range []string{"a", "b"} {
		id, err := s.Send(ctx, prompt)
		if err != nil {
			return "", err
		}
		open[id] = true
	}
	for m, err := range s.Messages(ctx) {
		if err != nil {
			return "", err
		}
		if r, ok := m.(*message.Result); ok {
			for _, id := range r.Prompts {
				delete(open, id)
			}
			if len(open) == 0 {
				return r.Text, nil
			}
		}
	}
	return "", errors.New("the stream ended first")
}

func withFile(ctx context.Context, l *faultRun) (string, error) {
	l.replies(claudetest.Say("hello"))
	l.opts.MCPServers = claude.MCPServers{"far": claude.HTTPServer{URL: "http://127.0.0.1:1", Headers: map[string]string{"Authorization": "secret"}}}
	l.opts.Trace = &claude.Trace{FrameRead: func([]byte) {}, StateChanged: func(_, _ claude.State) { _ = l.call(context.Background()) }}
	if l.kind == "hang" || l.kind == "error" {
		l.opts.Trace.StateChanged = nil // no callback that is waited for
	}
	r, err := claude.Ask(ctx, "hi", l.opts)
	if err != nil {
		return "", err
	}
	return r.Text, nil
}

func atOnce(ctx context.Context, l *faultRun) (string, error) {
	l.replies(claudetest.Say("hello"))
	texts, errs := make([]string, 3), make([]error, 3)
	done := make(chan struct{})
	for i := range 3 {
		go func() {
			defer func() { done <- struct{}{} }()
			texts[i], errs[i] = askOnce(ctx, l)
		}()
	}
	for range 3 {
		<-done
	}
	return strings.Join(texts, " "), errors.Join(errs...)
}

func askOnce(ctx context.Context, l *faultRun) (string, error) {
	r, err := claude.Ask(ctx, "hi", l.opts)
	if err != nil {
		return "", err
	}
	return r.Text, nil
}
