package e2e

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/test/need"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/tool"
)

// lostCall is the id of the call of a [deadly] machine.
const lostCall = "toolu_lost"

// deadly is a machine whose model makes one call, which kills the program that runs the
// CLI, unless the model reads that the outcome of a call is unknown.
func deadly(t *testing.T, call claudetest.ScriptedCall) *real {
	t.Helper()
	realcli.Needs(t, "2.1.325", "sessions in a store")
	call.ID = lostCall
	return startReal(t, claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
		switch {
		case len(c.ToolResults) > 0:
			return claudetest.Say("It says: " + c.ToolResults[len(c.ToolResults)-1].Text)
		case bytes.Contains(c.Raw, []byte("unknown:")) && bytes.Contains(c.Raw, []byte(lostCall)):
			return claudetest.Say("I read that its outcome is unknown")
		}
		return claudetest.UseTools(call)
	}))
}

// noteTool is a tool of this program that makes a note in a folder, and then does something.
func noteTool(dir string, then func()) *tool.Server {
	return tool.NewServer(tool.New("note", "Make a note", func(context.Context, struct{}) (string, error) {
		err := os.WriteFile(filepath.Join(dir, "log"), []byte("one\n"), 0o600)
		then()
		return "noted", err
	}))
}

// A tool that kills its program after its effect does not run again by itself, although the
// store has no line of the call: the next program tells the model of it. No person is asked
// about the call twice.
func TestRealFleetTellsOfLostCalls(t *testing.T) {
	t.Parallel()
	need.Signals.Test(t)
	command := claudetest.ScriptedCall{Name: "Bash", Input: map[string]string{"command": `echo one >> log; test -n "$FLEET_PID" && kill -9 "$FLEET_PID"`, "description": "note it"}}
	own := claudetest.ScriptedCall{Name: "mcp__own__note", Input: struct{}{}}
	for name, c := range map[string]struct {
		call     claudetest.ScriptedCall
		patience time.Duration // of the gate; 0: there is none
	}{
		"not gated":               {command, 0},
		"decided at once":         {command, time.Minute},
		"Go tool":                 {own, 0},
		"Go tool decided at once": {own, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			dir, first := t.TempDir(), deadly(t, c.call)
			inbox := &approvals{first, approval.NewQuestions(store.Files(dir), "p")}
			first.killed(t, dir, "make a note", c.patience, func(*os.Process) {
				if c.patience > 0 {
					inbox.decide(t, inbox.asked(t), permission.Allow())
				}
				eventually(t, "the tool did not run", func() bool { return first.noted() != "" })
			}, "HOST_OWN=1", "HOST_STALLS="+lostCall)
			if text := linesOf(t, store.Files(dir)); strings.Contains(text, lostCall) {
				t.Fatalf("the transcript has the call after the kill: %s", text)
			}
			second := deadly(t, c.call)
			second.opts.PermissionMode, second.opts.AllowBypassPermissions = permission.ModeBypassPermissions, true
			second.opts.MCPServers = claude.MCPServers{"own": noteTool(second.dir, func() {})}
			var o fleet.Options
			if c.patience > 0 {
				o.Gate = &approval.Options{Patience: 100 * time.Millisecond}
			}
			f := second.fleet(t, store.Files(dir), o)
			defer closeFleet(t, f)
			_, err := lastText(f.RunPrompt(t.Context(), "ada", fleet.Prompt{ID: notedPrompt, Text: "make a note"}))
			ticket, known := f.Prompt(context.Background(), "ada", notedPrompt)
			if err != nil || known != nil || ticket.Text != "I read that its outcome is unknown" {
				t.Errorf("the answer: %+v, %v, %v", ticket, err, known)
			}
			if first.noted() != "one\n" || second.noted() != "" {
				t.Errorf("the tool wrote %q, then %q", first.noted(), second.noted())
			}
			asked := 0
			for q, err := range inbox.inbox.List(t.Context(), approval.Filter{}) {
				if asked++; err != nil || q.State != approval.StateSettled {
					t.Errorf("question about %s is %s, %v", q.ToolUseID, q.State, err)
				}
			}
			if want := min(1, int(c.patience)); asked != want {
				t.Errorf("%d questions, want %d", asked, want)
			}
		})
	}
}

// linesOf returns all lines of the sessions that a store has.
func linesOf(t *testing.T, db store.Transcripts) string {
	t.Helper()
	var all strings.Builder
	for s, err := range db.List(t.Context(), "p") {
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString(storedText(t, db, store.Key{Project: "p", Session: s.Session}))
	}
	return all.String()
}
