package main

import (
	"errors"
	"io"
	"os"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/inspect"
	"github.com/claude-agent-go/claude/internal/terminal"
)

// inspectCommand is "claudectl inspect".
type inspectCommand struct {
	File string `arg:"" help:"A recording, or - for standard input."`
	HTML string `name:"html" placeholder:"FILE" help:"Write one page for a browser to FILE, or - for standard output."`

	Kind    []string `placeholder:"KIND" help:"Show frames of these kinds, types or subtypes only, such as permission or can_use_tool."`
	From    string   `enum:",sdk,cli" default:"" help:"Show frames of one side only: sdk or cli."`
	Request string   `placeholder:"ID" help:"Show the frames of a control request only, by the beginning of its id."`
	Turn    int      `placeholder:"N" help:"Show the frames of one turn only."`
	Text    string   `placeholder:"TEXT" help:"Show frames with this text only."`
	Errors  bool     `help:"Show errors and requests that were not answered only."`

	NoRedact bool `help:"Do not hide secrets."`
}

// Help is shown by "claudectl inspect --help".
func (*inspectCommand) Help() string {
	return `Recordings are made by claudectl record, or by claudetest.Record in a program. What the CLI itself writes with --output-format=stream-json can be looked at too.

Keys, tokens and passwords are hidden as far as they are known by their form, by the name they stand under, or by the environment.`
}

// Run reads the recording and shows it.
func (i *inspectCommand) Run(c *console) error {
	file, name := c.stdin, "standard input"
	if i.File != "-" {
		f, err := os.Open(i.File)
		if err != nil {
			return err
		}
		defer f.Close()
		file, name = f, i.File
	}
	rep, err := inspect.Read(file, &inspect.Options{Source: name, Secrets: c.secrets, ShowSecrets: i.NoRedact})
	if wrong, ok := errors.AsType[*inspect.FormatError](err); ok {
		return &failure{exitFormat, errors.New(name + ": " + wrong.Error())}
	}
	if err != nil {
		return &failure{exitInput, err}
	}
	rep.Keep(inspect.Filter{
		Kinds: i.Kind, Dir: map[string]claudetest.Dir{"sdk": claudetest.DirIn, "cli": claudetest.DirOut}[i.From],
		RequestID: i.Request, Turn: i.Turn, Text: i.Text, Errors: i.Errors,
	})
	switch {
	case i.HTML == "-":
		return rep.WriteHTML(c.stdout, inspect.Limits{})
	case i.HTML != "":
		return i.writePage(c, rep)
	case c.json:
		return rep.WriteJSON(c.stdout)
	}
	return rep.WriteText(c.stdout, c.colours(c.stdout))
}

// writePage writes the page to its file, which is for the user alone: it shows
// what was said in confidence.
func (i *inspectCommand) writePage(c *console, rep *inspect.Report) error {
	f, err := os.OpenFile(i.HTML, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	err = rep.WriteHTML(f, inspect.Limits{})
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	if c.json {
		return c.emit(map[string]string{"page": i.HTML})
	}
	c.printf("%s\n", c.line(i.HTML))
	return nil
}

// colours reports whether a stream of ours is a terminal that wants colours.
func (c *console) colours(w io.Writer) bool {
	return terminal.Is(w) && c.variable("NO_COLOR") == "" && c.variable("TERM") != "dumb"
}
