package main

import (
	"errors"

	"github.com/claude-agent-go/claude/internal/demo"
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
	play := &demo.Play{Claudectl: "claudectl", Env: c.agentEnv(), CLI: d.CLI, ScriptedModel: d.ScriptedModel}
	if d.Ask {
		play.Decide = newAsker(c, newScreen(c)).decide
	}
	err := play.Run(ctx, demo.NewView(c.stdout, c.stdout.stream, c.env, c.json))
	if folder, ok := errors.AsType[*demo.FolderError](err); ok {
		err = &failure{exitFailed, folder}
	}
	return because(ctx, err)
}
