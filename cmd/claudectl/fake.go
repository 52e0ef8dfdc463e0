package main

import (
	"errors"
	"io/fs"

	"github.com/claude-agent-go/claude/claudetest"
)

// fakeCommand is "claudectl fake".
type fakeCommand struct {
	Script string   `arg:"" complete:"file" help:"A script or a recording." type:"path"`
	Args   []string `arg:"" optional:"" passthrough:"" help:"The command line of the CLI, as an SDK writes it."`
}

// Help is shown by "claudectl fake --help".
func (*fakeCommand) Help() string {
	return `An SDK starts an executable, so give it this two-line script:

	#!/bin/sh
	exec claudectl fake session.json "$@"

or claudectl itself, with ` + claudetest.PlayFile("session.json") + ` in its environment.

A script is a JSON list of what the model says, one entry for each reply:

	["Hello.", {"use": [{"name": "Bash", "input": {"command": "make"}, "output": "ok"}]}, "Done."]

A recording is played as it was, and holds the SDK to what it wrote then.`
}

// Run plays the CLI until the session is over.
func (f *fakeCommand) Run() error {
	if len(f.Args) > 0 && f.Args[0] == "--" { // see theirs
		f.Args = f.Args[1:]
	}
	code, err := claudetest.Exec(f.Script, f.Args)
	if _, unread := errors.AsType[*fs.PathError](err); err != nil && !unread {
		return &failure{exitFormat, err}
	}
	if err == nil && code != 0 {
		return &failure{code: exitCode(code)}
	}
	return err
}
