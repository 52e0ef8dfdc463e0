package main

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
)

// The script contains the model's answers. The agent meets it as it would meet
// the real CLI: permissions are asked, and tools return their scripted output.
func TestSummary(t *testing.T) {
	cli := claudetest.New(
		claudetest.UseTool("Read", map[string]string{"file_path": "go.mod"}),
		claudetest.UseTool("Write", map[string]string{"file_path": "go.mod"}),
		claudetest.Say("It names the module."),
	)
	got, err := summarize(t.Context(), "go.mod", claude.Options{Transport: cli})
	if err != nil || got != "It names the module." {
		t.Errorf("got %q, %v", got, err)
	}
	cli.Recording().WantRan(t, "Read")
	cli.Recording().WantDenied(t, "Write", "you may only read")
}

// A CLI that dies before its second line. In a bubble of synctest the minutes
// between the attempts take no time.
func TestCrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := claudetest.NewCLI(&claudetest.Script{
			Faults: []claudetest.Fault{{Line: 2, Stderr: "out of memory\n", Exit: new(137)}},
		})
		_, err := summarize(t.Context(), "go.mod", claude.Options{Transport: cli})
		died, ok := errors.AsType[*claude.ProcessError](err)
		if !ok || died.ExitCode != 137 {
			t.Errorf("error %v, want exit code 137", err)
		}
	})
}

// Don't try again here when the API fails: the CLI already has.
func TestOverloaded(t *testing.T) {
	cli := claudetest.New(claudetest.Fail(529, "overloaded_error", "Overloaded").Forever())
	_, err := summarize(t.Context(), "go.mod", claude.Options{Transport: cli})
	failed, ok := errors.AsType[*claude.ResultError](err)
	if !ok || failed.Result.APIErrorStatus != 529 {
		t.Errorf("error %v, want status 529", err)
	}
}
