package acp_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/acp"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/internal/acp/drive"
	"github.com/claude-agent-go/claude/internal/acp/schema"
)

// A call with the id of one that was decided is denied, without a question: it may be
// the same call, and the answer to that is not one to this.
func TestRepeatedID(t *testing.T) {
	for name, second := range map[string]string{"the same input": "make", "another input": "make install"} {
		t.Run(name, func(t *testing.T) {
			call := func(command string) claudetest.Reply {
				return claudetest.UseTools(claudetest.ScriptedCall{ID: "toolu_same", Name: "Bash", Input: map[string]string{"command": command}})
			}
			var ran atomic.Int32
			cli := claudetest.NewCLI(&claudetest.Script{
				Replies: []claudetest.Reply{call("make"), claudetest.Say("one"), call(second), claudetest.Say("two")},
				Tools: map[string]host.RunFunc{"Bash": func(context.Context, json.RawMessage) (host.ToolOutput, error) {
					ran.Add(1)
					return host.ToolOutput{}, nil
				}},
			})
			var asked atomic.Int32
			d := drive.Start(t, &acp.Local{Options: &claude.Options{Transport: cli, Env: []string{"HOME=" + t.TempDir()}}}, drive.Setup{
				Permission: func(context.Context, *schema.RequestPermissionRequest) schema.PermissionOptionID {
					asked.Add(1)
					return "allow-once"
				},
			})
			id := d.New(t, "/")
			for _, text := range []string{"Build it.", "And again."} {
				if _, err := d.Prompt(t.Context(), id, text); err != nil {
					t.Fatal(err)
				}
			}
			if asked.Load() != 1 || ran.Load() != 1 || !strings.HasSuffix(d.Text(id), "two") {
				t.Errorf("asked %d times, ran %d times, said %q; want both once, and an answer", asked.Load(), ran.Load(), d.Text(id))
			}
			failed := 0
			for _, up := range d.Updates(id) {
				if up.ToolCallUpdate != nil && up.ToolCallUpdate.Status == schema.ToolCallStatusFailed {
					failed++
				}
			}
			if failed != 1 {
				t.Errorf("%d calls are shown as failed, want the second", failed)
			}
		})
	}
}
