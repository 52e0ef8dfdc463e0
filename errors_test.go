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
	result := &message.Result{IsError: true, TerminalReason: evil, Errors: []string{evil}, Text: evil}
	for name, err := range map[string]error{
		"option":  &claude.OptionError{Field: evil, Problem: evil},
		"start":   &claude.StartError{Reason: claude.ErrExited, Path: evil, Output: evil, Err: inner},
		"control": &claude.ControlError{Op: evil, RequestID: evil, Code: evil, Message: evil, Err: inner},
		"process": &claude.ProcessError{Signal: evil, Stderr: "line\n" + evil, Result: result, Err: inner},
		"result":  &claude.ResultError{Result: result},
		"nothing": &claude.ResultError{Result: &message.Result{IsError: true, Header: message.Header{Subtype: message.ResultSuccess}, Text: "owned"}},
		"output":  &claude.OutputError{Reason: claude.ErrNoOutput, Result: result, Err: inner},
	} {
		text := err.Error()
		bad := strings.IndexFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' || r == '\u202e' })
		if bad >= 0 || !strings.Contains(text, "owned") {
			t.Errorf("%s: %q", name, text)
		}
	}
}

// Each error text names the package once, repeats nothing, and calls no failure
// a success.
func TestErrorTexts(t *testing.T) {
	gone := &message.Result{Header: message.Header{Subtype: message.ResultErrorExecution}, IsError: true, Errors: []string{"No conversation found"}}
	exit := &claude.ProcessError{ExitCode: 1, Stderr: "No conversation found\n", Result: gone, Err: errors.Join(claude.ErrNoResult, errors.New("claude: send prompt: no"))}
	for want, err := range map[string]error{
		"claude: the CLI exited with code 1: no result: send prompt: no: No conversation found": exit,
		"claude: no such session (claude): the CLI exited with code 1: no result: send prompt: no: No conversation found": &claude.StartError{
			Reason: claude.ErrNoSession, Path: "claude", Output: "No conversation found", Err: exit},
		"claude: turn interrupted: aborted_streaming": &claude.ResultError{Result: &message.Result{
			IsError: true, TerminalReason: message.EndAbortedStreaming, Errors: []string{"aborted_streaming"}}},
		"claude: turn failed: Invalid API key": &claude.ResultError{Result: &message.Result{IsError: true, Header: message.Header{Subtype: message.ResultSuccess}, Text: "Invalid API key"}},
		"claude: turn failed":                  &claude.ResultError{},
		"claude: the Claude Code CLI was not found: install it with npm install -g @anthropic-ai/claude-code, or name it in Options.CLIPath": &claude.StartError{
			Reason: claude.ErrNotFound},
		"claude: set_model (r-1): no [bad]: timed out": &claude.ControlError{Op: "set_model", RequestID: "r-1", Message: "no", Code: "bad", Err: claude.ErrTimeout},
	} {
		if got := err.Error(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	interrupted := &claude.ResultError{Result: &message.Result{TerminalReason: message.EndAbortedTools}}
	if !errors.Is(interrupted, claude.ErrInterrupted) || errors.Is(interrupted, claude.ErrTimeout) {
		t.Error("a turn that was interrupted is not ErrInterrupted")
	}
	if failed := new(claude.ResultError); failed.Retryable() || errors.Is(failed, claude.ErrInterrupted) {
		t.Error("an error without a result is classified")
	}
}
