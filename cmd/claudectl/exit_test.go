package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/message"
)

func TestCodeOf(t *testing.T) {
	result := func(subtype string, why message.TerminalReason) error {
		return &claude.ResultError{Result: &message.Result{Header: message.Header{Subtype: subtype}, TerminalReason: why, IsError: true}}
	}
	start := func(reason error) error { return &claude.StartError{Reason: reason} }
	for _, test := range []struct {
		err  error
		want exitCode
	}{
		{nil, exitOK},
		{errors.New("something"), exitFailed},
		{result(message.ResultErrorExecution, message.EndAPIError), exitFailed},
		{result(message.ResultErrorExecution, message.EndAbortedStreaming), exitInterrupted},
		{result(message.ResultErrorExecution, message.EndAbortedTools), exitInterrupted},
		{result(message.ResultErrorMaxTurns, ""), exitLimit},
		{result(message.ResultErrorMaxBudget, ""), exitLimit},
		{result(message.ResultErrorMaxStructure, ""), exitOutput},
		{&claude.OutputError{Reason: claude.ErrNoOutput}, exitOutput},
		{&claude.OptionError{Field: "MaxTurns"}, exitUsage},
		{start(claude.ErrNotFound), exitNotFound},
		{start(claude.ErrSpawn), exitStart},
		{start(claude.ErrExited), exitStart},
		{start(claude.ErrInitializeTimeout), exitStart},
		{start(claude.ErrUnsupportedVersion), exitVersion},
		{&claude.ProcessError{ExitCode: 1}, exitCrash},
		{claude.ErrNoResult, exitCrash},
		{&fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist}, exitInput},
		{fmt.Errorf("more: %w", context.Canceled), exitInterrupted},
		{&failure{exitFormat, &fs.PathError{Err: fs.ErrNotExist}}, exitFormat},
	} {
		if got := codeOf(test.err); got != test.want {
			t.Errorf("%v: %d, want %d", test.err, got, test.want)
		}
	}
}

// Each flag of run reaches the option that it is named for.
func TestRunOptions(t *testing.T) {
	c := newConsole(t.Context(), nil, nil, nil, []string{"A=b"})
	opts := func(args ...string) *claude.Options {
		t.Helper()
		var line commands
		parser, err := newParser(&line, c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parser.Parse(append([]string{"run"}, args...)); err != nil {
			t.Fatal(err)
		}
		o, err := line.Run.options(c, newScreen(c))
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	plain := opts("x")
	for _, test := range []struct {
		args []string
		got  func(*claude.Options) any
		want any
	}{
		{[]string{"--model", "m", "x"}, func(o *claude.Options) any { return o.Model }, "m"},
		{[]string{"--mode=plan", "x"}, func(o *claude.Options) any { return string(o.PermissionMode) }, "plan"},
		{[]string{"--allow=Bash(a,b)", "--allow=Read", "x"}, func(o *claude.Options) any { return fmt.Sprint(o.AllowedTools) }, "[Bash(a,b) Read]"},
		{[]string{"--deny=Bash", "x"}, func(o *claude.Options) any { return fmt.Sprint(o.DisallowedTools) }, "[Bash]"},
		{[]string{"--add-dir=/a", "x"}, func(o *claude.Options) any { return fmt.Sprint(o.AddDirs) }, "[/a]"},
		{[]string{"--cwd=/a", "x"}, func(o *claude.Options) any { return o.Cwd }, "/a"},
		{[]string{"--system=s", "x"}, func(o *claude.Options) any { return o.SystemPrompt.Text }, "s"},
		{[]string{"x"}, func(o *claude.Options) any { return o.SystemPrompt.Preset }, true},
		{[]string{"--max-turns=3", "x"}, func(o *claude.Options) any { return o.MaxTurns }, 3},
		{[]string{"--max-budget=0.5", "x"}, func(o *claude.Options) any { return o.MaxBudgetUSD }, 0.5},
		{[]string{"--resume=id", "--fork", "x"}, func(o *claude.Options) any { return fmt.Sprint(o.Resume, o.ForkSession) }, "idtrue"},
		{[]string{"--continue", "x"}, func(o *claude.Options) any { return o.Continue }, true},
		{[]string{"--cli=/c", "x"}, func(o *claude.Options) any { return o.CLIPath }, "/c"},
		{[]string{"--no-stream", "x"}, func(o *claude.Options) any { return o.PartialMessages }, false},
		{[]string{"x"}, func(o *claude.Options) any { return o.PartialMessages }, true},
	} {
		o := opts(test.args...)
		for field := range reflect.TypeFor[claude.Options]().Fields() {
			same := reflect.DeepEqual(reflect.ValueOf(*o).FieldByIndex(field.Index).Interface(), reflect.ValueOf(*plain).FieldByIndex(field.Index).Interface())
			if !same && field.Type.Kind() != reflect.Func && optionFlags[field.Name] == "" {
				t.Errorf("%q sets %s, for which errors have no flag", test.args, field.Name)
			}
		}
		if got := test.got(o); got != test.want {
			t.Errorf("%q: %v, want %v", test.args, got, test.want)
		}
	}
}

// Errors speak of flags, and not of fields of Go or words of the wire.
func TestExplain(t *testing.T) {
	failed := func(why message.TerminalReason, text string) error {
		return &claude.ResultError{Result: &message.Result{Header: message.Header{Subtype: message.ResultErrorExecution}, TerminalReason: why, IsError: true, Errors: []string{text}}}
	}
	for _, test := range []struct {
		err  error
		want string
	}{
		{&claude.OptionError{Field: "ForkSession", Problem: "needs Resume or Continue"}, "--fork: needs --resume or --continue"},
		{&claude.OptionError{Field: "Hooks[0]", Problem: "has no event"}, "the option Hooks (Hooks[0]): has no event"},
		{&claude.StartError{Reason: claude.ErrNotFound}, "name it in --cli"},
		{failed(message.EndMaxTurns, "too many"), "the limit of turns was reached: too many"},
		{failed(message.EndAbortedStreaming, ""), "interrupted"},
	} {
		if got := explain(test.err); !strings.Contains(got, test.want) {
			t.Errorf("%v: %q, want %q in it", test.err, got, test.want)
		}
	}
	for name := range optionFlags {
		if _, ok := reflect.TypeFor[claude.Options]().FieldByName(name); !ok {
			t.Errorf("there is no option %s", name)
		}
	}
}
