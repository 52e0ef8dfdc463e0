package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/internal/proc"
	"github.com/claude-agent-go/claude/internal/tee"
	"github.com/claude-agent-go/claude/internal/terminal"
)

// recordCommand is "claudectl record".
type recordCommand struct {
	Output   string   `short:"o" placeholder:"FILE" complete:"file" help:"Where to write the recording. If the file exists, the name gets a number. Default: session-TIME.ndjson in this directory."`
	Wrapper  string   `placeholder:"FILE" complete:"file" help:"Instead of starting a CLI, write a script to FILE that records every session it runs."`
	NoRedact bool     `help:"Do not hide secrets in the recording."`
	Command  []string `arg:"" passthrough:"" help:"The CLI and its arguments."`
}

// Help is shown by "claudectl record --help".
func (*recordCommand) Help() string {
	return `It sits between an SDK and the CLI, passes everything on unchanged, and records it: what both say and when, standard error and the exit code. It exits just as the CLI does. Look at the file with claudectl inspect.

An SDK starts an executable, so create one and set it as the CLI (CLIPath, pathToClaudeCodeExecutable, cli_path):

	claudectl record -o /tmp/session.ndjson --wrapper ./claude-recorded -- claude

Keys, tokens and passwords are left out of the file, which only you can read.`
}

// Run records a session, or writes the script that does.
func (r *recordCommand) Run(c *console) error {
	if len(r.Command) > 0 && r.Command[0] == "--" {
		r.Command = r.Command[1:]
	}
	if len(r.Command) == 0 {
		return &failure{exitUsage, errors.New("nothing to record: name a command, as in claudectl record -- claude")}
	}
	if r.Wrapper != "" {
		return r.writeWrapper(c)
	}
	name := r.Output
	if name == "" {
		name = "session-" + time.Now().Format("20060102-150405") + ".ndjson"
	}
	file, err := createNew(name)
	if err != nil {
		return err
	}
	defer file.Close()
	signals, stop := tee.Signals()
	defer stop()
	s := &tee.Session{
		Path: r.Command[0], Args: r.Command[1:], Env: c.env,
		Stdin: c.stdin, Stdout: c.stdout, Stderr: c.stderr, Signals: signals, Recording: file,
	}
	if !r.NoRedact {
		s.Secrets = c.secrets
	}
	result, err := tee.Run(c.ctx, s)
	if err != nil {
		os.Remove(file.Name()) // there is nothing in it
		return &failure{codeOfProgram(err), err}
	}
	r.say(c, file.Name(), result)
	if result.Signal != nil && c.stdin == os.Stdin { // only a process of its own may die so
		stop()
		tee.DieBySignal(result.Signal)
	}
	if result.Code != 0 {
		return &failure{code: exitCode(result.Code)}
	}
	return nil
}

// say always reports an incomplete recording, and the place of a complete one
// only at a terminal. Nothing else may be added to standard error, which is the
// CLI's.
func (r *recordCommand) say(c *console, name string, result *tee.Result) {
	switch {
	case result.Recording != nil:
		fmt.Fprintf(c.stderr, "claudectl: the recording %s is not complete: %s\n", c.line(name), c.line(result.Recording.Error()))
	case terminal.Is(c.stderr):
		fmt.Fprintf(c.stderr, "claudectl: recorded in %s\n", c.line(name))
	}
}

// codeOfProgram returns the exit code for a program that could not be started.
func codeOfProgram(err error) exitCode {
	if errors.Is(err, fs.ErrNotExist) {
		return exitNotFound
	}
	if _, ok := errors.AsType[*proc.StartError](err); ok {
		return exitStart
	}
	return codeOf(err)
}

// createNew creates a file that was not there, for this user alone. If there is
// one, the name gets a number: an SDK may start the CLI several times.
func createNew(name string) (*os.File, error) {
	ext := filepath.Ext(name)
	base := strings.TrimSuffix(name, ext)
	for n := 1; ; n++ {
		try := name
		if n > 1 {
			try = fmt.Sprintf("%s-%d%s", base, n, ext)
		}
		f, err := os.OpenFile(try, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, fs.ErrExist) || n == 10_000 {
			return f, err
		}
	}
}

// writeWrapper writes a script that starts this program with this command line.
func (r *recordCommand) writeWrapper(c *console) error {
	if runtime.GOOS == "windows" {
		return &failure{exitUsage, errors.New("a wrapper is a script for /bin/sh, which Windows does not start")}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	name := r.Output
	if name == "" {
		name = "session.ndjson"
	}
	// The script may be started elsewhere.
	if name, err = filepath.Abs(name); err != nil {
		return err
	}
	words := []string{self, "record", "-o", name}
	if r.NoRedact {
		words = append(words, "--no-redact")
	}
	words = append(append(words, "--"), r.Command...)
	for i, w := range words {
		words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	script := "#!/bin/sh\nexec " + strings.Join(words, " ") + " \"$@\"\n"
	if err := os.WriteFile(r.Wrapper, []byte(script), 0o700); err != nil {
		return err
	}
	if c.json {
		return c.emit(map[string]string{"wrapper": r.Wrapper, "recording": name})
	}
	c.printf("%s\n", c.line(r.Wrapper))
	return nil
}
