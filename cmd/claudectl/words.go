package main

import (
	"errors"
	"regexp"
	"strings"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/brief"
)

// optionFlags names the flag that sets an option of the SDK. Anyone who uses this
// program knows flags, and not fields of Go.
var optionFlags = map[string]string{
	"AddDirs":         "--add-dir",
	"AllowedTools":    "--allow",
	"CLIPath":         "--cli",
	"Continue":        "--continue",
	"Cwd":             "--cwd",
	"DisallowedTools": "--deny",
	"ForkSession":     "--fork",
	"MaxBudgetUSD":    "--max-budget",
	"MaxTurns":        "--max-turns",
	"Model":           "--model",
	"OutputSchema":    "--schema",
	"PartialMessages": "--stream",
	"PermissionMode":  "--mode",
	"Resume":          "--resume",
	"SystemPrompt":    "--system",
}

// optionName is a name of an option inside a text: a word of its own.
var optionName = regexp.MustCompile(`\b(?:Options\.)?[A-Z]\w*\b`)

// qualifiedOption is one in a text that others have written too.
var qualifiedOption = regexp.MustCompile(`\bOptions\.[A-Z]\w*\b`)

// explain rephrases an error in the words of this program: flags in place of Go
// fields, and no words of the wire.
func explain(err error) string {
	if wrong, ok := errors.AsType[*claude.OptionError](err); ok {
		name, rest := wrong.Field, ""
		if i := strings.IndexAny(name, ".["); i >= 0 {
			name, rest = name[:i], " ("+name+")"
		}
		if flag := optionFlags[name]; flag != "" {
			return flag + ": " + optionName.ReplaceAllStringFunc(wrong.Problem, flagOf)
		}
		return "the option " + name + rest + ": " + wrong.Problem
	}
	text := err.Error()
	if failed, ok := errors.AsType[*claude.ResultError](err); ok && failed.Result != nil {
		if failed.Result.Interrupted() {
			return "interrupted"
		}
		for _, word := range []string{string(failed.Result.TerminalReason), failed.Result.Subtype} {
			if word != "" {
				text = strings.ReplaceAll(text, word, brief.Ending(word))
			}
		}
	}
	return qualifiedOption.ReplaceAllStringFunc(text, flagOf)
}

// flagOf returns the flag for the name of an option, and any other word as it is.
func flagOf(name string) string {
	if flag := optionFlags[strings.TrimPrefix(name, "Options.")]; flag != "" {
		return flag
	}
	return name
}

// plainWord is a word that a shell takes as it is.
var plainWord = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// shellQuoted writes a word so that a shell takes it as one.
func shellQuoted(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
