package fleetload

import (
	"context"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
)

// CLI starts scripted CLIs in this process, which answer every prompt at once. Each
// is a new one, which remembers nothing of those before. It implements
// [claude.Transport], for any number of sessions.
type CLI struct{}

// Start implements [claude.Transport].
func (CLI) Start(ctx context.Context, l *claude.Launch) (claude.Conn, error) {
	cli := claudetest.NewCLI(&claudetest.Script{Model: func(c *claudetest.ModelCall) claudetest.Reply {
		return claudetest.Say(answer(c.Prompt))
	}})
	return cli.Start(ctx, l)
}

// answer is the model's answer to a prompt.
func answer(prompt string) string { return "answer to " + prompt }
