package claude_test

import (
	"errors"
	"strings"
	"testing"
	"unicode"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/message"
)

// Words of the CLI, of the API and of files end up in the texts of errors, and
// those in terminals.
func TestErrorsHoldNoEscapes(t *testing.T) {
	const evil = "\x1b]0;owned\a\r\x9b2J\u202e\u009b31m"
	inner := errors.New(evil)
	result := &message.Result{TerminalReason: evil, Errors: []string{evil}, Text: evil}
	for name, err := range map[string]error{
		"option":  &claude.OptionError{Field: evil, Problem: evil},
		"start":   &claude.StartError{Reason: claude.ErrExited, Path: evil, Output: evil, Err: inner},
		"control": &claude.ControlError{Op: evil, RequestID: evil, Code: evil, Message: evil, Err: inner},
		"process": &claude.ProcessError{Signal: evil, Stderr: "line\n" + evil, Result: result, Err: inner},
		"result":  &claude.ResultError{Result: result},
		"output":  &claude.OutputError{Reason: claude.ErrNoOutput, Result: result, Err: inner},
	} {
		text := err.Error()
		bad := strings.IndexFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' || r == '\u202e' })
		if bad >= 0 || !strings.Contains(text, "owned") {
			t.Errorf("%s: %q", name, text)
		}
	}
}
