package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/message"
)

// exitCode is the exit code of the program: how things ended.
type exitCode int

const (
	exitOK          exitCode = 0
	exitFailed      exitCode = 1
	exitUsage       exitCode = 2
	exitInput       exitCode = 3
	exitFormat      exitCode = 4
	exitNotFound    exitCode = 5
	exitStart       exitCode = 6
	exitVersion     exitCode = 7
	exitCrash       exitCode = 8
	exitLimit       exitCode = 9
	exitOutput      exitCode = 10
	exitFindings    exitCode = 11
	exitHangup      exitCode = 129
	exitInterrupted exitCode = 130
	exitPipe        exitCode = 141
	exitTerminated  exitCode = 143
)

// exitCodes explains them, for the help and the documentation.
var exitCodes = [...]struct {
	code exitCode
	mean string
}{
	{exitOK, "it worked"},
	{exitFailed, "the turn ended with an error, or something else failed"},
	{exitUsage, "the command line or an option cannot be used"},
	{exitInput, "a file cannot be read"},
	{exitFormat, "a file was read but is not valid"},
	{exitNotFound, "the CLI was not found"},
	{exitStart, "the CLI cannot be started"},
	{exitVersion, "the CLI is too old"},
	{exitCrash, "the CLI ended when it should not have"},
	{exitLimit, "a limit of turns, of cost or of attempts was reached"},
	{exitOutput, "the answer does not follow the schema"},
	{exitFindings, "doctor found a problem, or inspect --unknown something new"},
	{exitHangup, "ended because the terminal went away (SIGHUP)"},
	{exitInterrupted, "interrupted, by Ctrl-C or otherwise"},
	{exitPipe, "standard output was closed"},
	{exitTerminated, "ended by SIGTERM"},
}

// failure is an error whose exit code is known where it happens. Without an
// error there is nothing to say besides the code.
type failure struct {
	code exitCode
	err  error
}

func (f *failure) Error() string { return fmt.Sprint(f.err) }
func (f *failure) Unwrap() error { return f.err }

// silent reports whether everything has been said about an error.
func silent(err error) bool {
	f, ok := errors.AsType[*failure](err)
	return err == nil || ok && f.err == nil
}

// codeOf returns the exit code for the error of a command.
func codeOf(err error) exitCode {
	if err == nil {
		return exitOK
	}
	if f, ok := errors.AsType[*failure](err); ok {
		return f.code
	}
	if start, ok := errors.AsType[*claude.StartError](err); ok {
		return codeOfStart(start)
	}
	if _, ok := errors.AsType[*claude.OptionError](err); ok {
		return exitUsage
	}
	if _, ok := errors.AsType[*claude.OutputError](err); ok {
		return exitOutput
	}
	if result, ok := errors.AsType[*claude.ResultError](err); ok {
		return codeOfResult(result.Result)
	}
	if _, ok := errors.AsType[*claude.ProcessError](err); ok || errors.Is(err, claude.ErrNoResult) {
		return exitCrash
	}
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return exitInput
	}
	if errors.Is(err, context.Canceled) {
		return exitInterrupted
	}
	return exitFailed
}

func codeOfStart(err *claude.StartError) exitCode {
	switch {
	case errors.Is(err, claude.ErrNotFound):
		return exitNotFound
	case errors.Is(err, claude.ErrUnsupportedVersion):
		return exitVersion
	}
	return exitStart
}

// codeOfResult separates limits and interrupts from other errors of a turn.
func codeOfResult(r *message.Result) exitCode {
	switch r.TerminalReason {
	case message.EndAbortedStreaming, message.EndAbortedTools:
		return exitInterrupted
	}
	switch r.Subtype {
	case message.ResultErrorMaxTurns, message.ResultErrorMaxBudget:
		return exitLimit
	case message.ResultErrorMaxStructure:
		return exitOutput
	}
	return exitFailed
}
