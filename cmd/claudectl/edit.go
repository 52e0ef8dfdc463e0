package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"

	"github.com/claude-agent-go/claude/internal/private"
	"github.com/claude-agent-go/claude/internal/terminal"
)

// edit lets a person change the input of a tool: in the editor that VISUAL or
// EDITOR names, or else as one line of JSON. It returns nil when what came back
// cannot be used.
func (a *asker) edit(ctx context.Context, input string) (json.RawMessage, error) {
	editor := a.c.variable("VISUAL")
	if editor == "" {
		editor = a.c.variable("EDITOR")
	}
	var text []byte
	if words := strings.Fields(editor); len(words) > 0 {
		edited, err := a.runEditor(ctx, words, input)
		if err != nil {
			a.say(a.s.style(terminal.Red, a.c.line("The editor failed, so nothing has changed: "+err.Error())))
			return nil, ctx.Err()
		}
		text = edited
	} else {
		line, err := a.prompt(ctx, "New input, as JSON on one line: ")
		if err != nil {
			return nil, err
		}
		text = []byte(line)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil || object == nil {
		a.say(a.s.style(terminal.Red, "That is not a JSON object. Nothing has changed."))
		return nil, nil
	}
	return bytes.TrimSpace(text), nil
}

// runEditor runs the editor on a file that only this user can read.
func (a *asker) runEditor(ctx context.Context, words []string, input string) ([]byte, error) {
	dir, err := private.MkdirTemp(os.TempDir(), "claudectl-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, []byte(input), "", "  "); err != nil {
		return nil, err
	}
	path := dir + string(os.PathSeparator) + "input.json"
	if err := os.WriteFile(path, append(pretty.Bytes(), '\n'), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, words[0], append(words[1:], path)...)
	cmd.Env = a.c.env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.c.stdin, a.c.stderr, a.c.stderr
	a.s.lend(true)
	defer a.s.lend(false)
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}
