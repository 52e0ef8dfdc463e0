package main

import (
	"context"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/test/harness"
)

// plainTransport starts the CLI without asking for its version, so that what is measured
// is the CLI and not what the SDK knows of it already.
type plainTransport struct{}

func (plainTransport) Start(_ context.Context, l *claude.Launch) (claude.Conn, error) {
	child, err := harness.StartChild(l)
	if err != nil {
		return nil, err
	}
	return &conn{child}, nil
}

// conn is a CLI that is killed at once: nothing of a probe is worth waiting for.
type conn struct{ *harness.Child }

func (c *conn) Stop() error {
	_ = c.Process.Kill() // it may have ended
	_ = c.Wait()
	return nil
}

func (c *conn) Kill() error { return c.Stop() }
