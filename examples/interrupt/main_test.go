package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/host"
)

// The time is fake: the tool runs until everything else waits, so the second
// prompt comes while it runs.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := claudetest.NewCLI(&claudetest.Script{
			Replies: []claudetest.Reply{
				claudetest.Say("one two three four five six seven").Chunks(6, 0).Hold(make(chan struct{})), // for ever
				claudetest.UseTool("Bash", map[string]string{"command": "go test ./..."}),
				claudetest.Say("The fast tests pass."), // it has read the second prompt with the output
			},
			Tools: map[string]host.RunFunc{"Bash": func(context.Context, json.RawMessage) (host.ToolOutput, error) {
				<-time.After(time.Second)
				return host.TextOutput("ok"), nil
			}},
		})
		var out strings.Builder
		if err := run(t.Context(), &out, cli); err != nil {
			t.Error(err)
		}
		if want := "ended: aborted_streaming\nThe fast tests pass.\n"; out.String() != want {
			t.Errorf("said %q, want %q", out.String(), want)
		}
	})
}
