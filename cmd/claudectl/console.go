package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/proc"
	"github.com/claude-agent-go/claude/internal/secret"
	"github.com/claude-agent-go/claude/internal/terminal"
)

// console is a command's environment: its context, streams and variables.
type console struct {
	ctx    context.Context // ends when standard output is lost
	stdin  io.Reader
	stdout *output
	stderr io.Writer
	env    []string
	json   bool // JSON is wanted instead of text

	secrets *secret.Set
}

func newConsole(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer, env []string) *console {
	ctx, end := context.WithCancelCause(ctx)
	return &console{
		ctx: ctx, stdin: stdin, stdout: &output{stdout, end}, stderr: stderr, env: env,
		secrets: secret.FromEnv(env),
	}
}

// variable returns the value of an environment variable; the last entry counts.
func (c *console) variable(name string) string {
	for _, entry := range slices.Backward(c.env) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// agentEnv is the environment of a CLI that a command starts: what this program
// has, without what was meant for this program alone.
func (c *console) agentEnv() []string { return proc.Inherit(c.env) }

// printf writes our own text to standard output. Strings of others must have
// gone through clean or line.
func (c *console) printf(format string, args ...any) {
	fmt.Fprintf(c.stdout, format, args...)
}

// clean makes text of others fit to print.
func (c *console) clean(text string) string { return terminal.Clean(c.secrets.Hide(text)) }

// line makes text of others fit to print on one line.
func (c *console) line(text string) string { return terminal.Line(c.secrets.Hide(text)) }

// judged is line for text that a person has to judge: nothing that could do
// something is left out.
func (c *console) judged(text string) string { return terminal.Line(c.secrets.HideWords(text)) }

// emit writes a value as one line of JSON, without secrets and without anything
// that a terminal obeys: JSON need not escape all of that.
func (c *console) emit(v any) error {
	data, err := jsonx.Marshal(v)
	if err != nil {
		return err
	}
	_, err = c.stdout.Write(append(terminal.JSON(c.secrets.JSON(data)), '\n'))
	return err
}

// fail reports the error of a command, if there is one, in one line and
// returns the exit code.
func (c *console) fail(err error) int {
	code := codeOf(err)
	if silent(err) {
		return int(code)
	}
	text := explain(err)
	for _, name := range []string{"claude: ", "claudetest: "} { // the origin is known
		text = strings.TrimPrefix(text, name)
	}
	text = c.line(strings.TrimSpace(text))
	if !c.json {
		fmt.Fprintf(c.stderr, "claudectl: %s\n", text)
		return int(code)
	}
	report, _ := jsonx.Marshal(struct {
		Error string   `json:"error"`
		Code  exitCode `json:"exit_code"`
	}{text, code}) // a string and a number always encode
	fmt.Fprintf(c.stderr, "%s\n", report)
	return int(code)
}
