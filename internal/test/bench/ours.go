package main

import (
	"context"
	"os"
	"runtime"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/test/cputime"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/tool"
)

// ours is this SDK.
type ours struct {
	opts    *claude.Options
	session *claude.Session
	length  int // of all texts, so that reading them is not left out
}

// options are those of a session with everything that is measured. The
// TypeScript client has the same.
func options() *claude.Options {
	add := tool.New("add", "Add two numbers", func(_ context.Context, in struct {
		A float64 `json:"a"`
		B float64 `json:"b"`
	}) (float64, error) {
		return in.A + in.B, nil
	})
	return &claude.Options{
		PartialMessages: true,
		SettingSources:  []claude.SettingSource{},
		CanUseTool: func(context.Context, *permission.Request) (permission.Decision, error) {
			return permission.Allow(), nil
		},
		Hooks: []hook.Hook{hook.PreToolUse("", func(context.Context, *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
			return nil, nil
		})},
		MCPServers: claude.MCPServers{"calc": tool.NewServer(add)},
	}
}

func newOurs(cli string) *ours {
	o := options()
	o.CLIPath = cli
	o.Env = append(os.Environ(), playVariable+"=1")
	return &ours{opts: o}
}

func (l *ours) round(ctx context.Context, prompt string) (sample, error) {
	if l.session == nil {
		s, err := claude.Connect(ctx, l.opts)
		if err != nil {
			return sample{}, err
		}
		l.session = s
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var s sample
	var report string
	begin, used := time.Now(), cputime.Used()
	for msg, err := range l.session.Run(ctx, prompt) {
		if err != nil {
			return s, err
		}
		switch m := msg.(type) {
		case *message.StreamEvent:
			l.length += len(m.Text())
			s.messages++
		case *message.Assistant:
			l.length += len(m.Text())
			s.messages++
		case *message.User:
			l.length += len(m.ToolResults()[0].Content.Text())
			s.messages++
		case *message.Result:
			report = m.Text
		}
	}
	s.wall, s.cpu = time.Since(begin), cputime.Used()-used
	runtime.ReadMemStats(&after)
	s.allocs = float64(after.Mallocs - before.Mallocs)
	return s, s.read(report)
}

func (l *ours) start(ctx context.Context) (time.Duration, error) {
	begin := time.Now()
	s, err := claude.Connect(ctx, l.opts)
	if err != nil {
		return 0, err
	}
	var first time.Duration
	for _, err := range s.Run(ctx, "delta 1") {
		if err != nil {
			return 0, err
		}
		if first == 0 {
			first = time.Since(begin)
		}
	}
	return first, s.Close()
}

func (l *ours) close() error {
	if l.session == nil {
		return nil
	}
	return l.session.Close()
}
