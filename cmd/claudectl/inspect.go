package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/inspect"
	"github.com/claude-agent-go/claude/internal/terminal"
)

// inspectCommand is "claudectl inspect".
type inspectCommand struct {
	Files []string `arg:"" name:"file" complete:"file" help:"A recording, or - for standard input. Two: they are compared. With --unknown: any number of them, and folders."`

	Unknown bool   `help:"List what this build does not know in these recordings, or would write differently; exit with 11 if there is anything."`
	HTML    string `name:"html" placeholder:"FILE" complete:"file" help:"Write one page for a browser to FILE, or - for standard output."`

	Kind    []string `placeholder:"KIND" help:"Show only frames of these kinds, types or subtypes, such as permission or can_use_tool."`
	From    string   `enum:",sdk,cli" default:"" help:"Show only the frames of one side: sdk or cli."`
	Request string   `placeholder:"ID" help:"Show only the frames of one control request, by the beginning of its id."`
	Turn    int      `placeholder:"N" help:"Show only the frames of one turn."`
	Text    string   `placeholder:"TEXT" help:"Show only frames that contain this text."`
	Errors  bool     `help:"Show only errors, and requests that were not answered."`

	NoRedact bool `help:"Do not hide secrets."`
}

// Help is shown by "claudectl inspect --help".
func (*inspectCommand) Help() string {
	return `Two recordings are compared: turns with the same prompt are side by side, and what differs is marked. Recordings are made by claudectl record, or by claudetest.Record in a program. What the CLI itself writes with --output-format=stream-json can be looked at too.

Keys, tokens and passwords are hidden if they can be recognised by their form, by their name or by the environment.`
}

// Run reads the recording and shows it.
func (i *inspectCommand) Run(c *console) error {
	if i.Unknown {
		return i.survey(c)
	}
	if len(i.Files) > 2 {
		return &failure{exitUsage, errors.New("only --unknown takes more than two recordings")}
	}
	if len(i.Files) == 2 && i.Files[0] == "-" && i.Files[1] == "-" {
		return &failure{exitUsage, errors.New("standard input is one recording: name a file for the other")}
	}
	var all []*inspect.Report
	for _, file := range i.Files {
		err := c.recording(file, func(r io.Reader, name string) error {
			rep, err := inspect.Read(r, &inspect.Options{Source: name, Secrets: c.secrets, ShowSecrets: i.NoRedact})
			all = append(all, rep)
			return err
		})
		if err != nil {
			return err
		}
	}
	for _, rep := range all {
		rep.Keep(inspect.Filter{
			Kinds: i.Kind, Dir: map[string]claudetest.Dir{"sdk": claudetest.DirIn, "cli": claudetest.DirOut}[i.From],
			RequestID: i.Request, Turn: i.Turn, Text: i.Text, Errors: i.Errors,
		})
	}
	if len(all) == 2 {
		return i.show(c, inspect.Compare(all[0], all[1]))
	}
	return i.show(c, all[0])
}

// inspected is a report, or two that are compared.
type inspected interface {
	WriteHTML(w io.Writer, limits inspect.Limits) error
	WriteJSON(w io.Writer) error
	WriteText(w io.Writer, color bool) error
}

func (i *inspectCommand) show(c *console, what inspected) error {
	switch {
	case i.HTML == "-":
		return what.WriteHTML(c.stdout, inspect.Limits{})
	case i.HTML != "":
		return i.writePage(c, what)
	case c.json:
		return what.WriteJSON(c.stdout)
	}
	return what.WriteText(c.stdout, terminal.Coloured(c.env, c.stdout.stream))
}

// recording opens a recording and hands it to read, whose errors are explained.
func (c *console) recording(path string, read func(r io.Reader, name string) error) error {
	var file io.Reader = c.stdin
	name := "standard input"
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		file, name = f, path
	}
	err := read(file, name)
	if wrong, ok := errors.AsType[*inspect.FormatError](err); ok {
		return &failure{exitFormat, errors.New(name + ": " + wrong.Error())}
	}
	if err != nil {
		return &failure{exitInput, err}
	}
	return nil
}

// survey lists what is unknown in many recordings.
func (i *inspectCommand) survey(c *console) error {
	s := inspect.NewSurvey()
	for _, path := range i.Files {
		files, err := recordings(path)
		if err != nil {
			return err
		}
		for _, file := range files {
			if err := c.recording(file, s.Read); err != nil {
				return err
			}
		}
	}
	write := func() error { return s.WriteText(c.stdout, terminal.Coloured(c.env, c.stdout.stream)) }
	if c.json {
		write = func() error { return s.WriteJSON(c.stdout) }
	}
	if err := write(); err != nil || s.Clean() {
		return err
	}
	return &failure{exitFindings, fmt.Errorf("%d unknown and %d changed names", len(s.Unknown), len(s.Changed))}
}

// recordings returns the recordings in a folder, by how their names end, or the
// one that path names.
func recordings(path string) ([]string, error) {
	if info, err := os.Stat(path); path == "-" || err != nil || !info.IsDir() {
		return []string{path}, nil // opening it reports what is wrong
	}
	var files []string
	err := filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
		switch filepath.Ext(file) {
		case ".ndjson", ".jsonl":
			if err == nil && d.Type().IsRegular() {
				files = append(files, file)
			}
		}
		return err
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s: no recordings: no file ends with .ndjson or .jsonl", path)
	}
	if err != nil {
		return nil, &failure{exitInput, err}
	}
	return files, nil
}

// writePage writes the page to its file, which is for the user alone: it shows
// what was said in confidence.
func (i *inspectCommand) writePage(c *console, what inspected) error {
	f, err := os.OpenFile(i.HTML, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	err = what.WriteHTML(f, inspect.Limits{})
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
