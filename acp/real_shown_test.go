package acp_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/acp/drive"
	"github.com/claude-agent-go/claude/internal/acp/schema"
)

// TestRealThoughts shows what the model thinks before it answers, and again when the
// session is loaded.
func TestRealThoughts(t *testing.T) {
	r := newReal(t)
	r.model.Add(claudetest.Think("Two and two.", "It is four.").Chunks(4, 0))
	d := drive.Start(t, r.local, drive.Setup{Capabilities: capable()})
	id := d.New(t, r.dir)
	if _, err := d.Prompt(t.Context(), id, "Add them."); err != nil {
		t.Fatal(err)
	}
	thoughts := func(d *drive.Driver) (text string) {
		for _, up := range d.Updates(id) {
			if up.AgentThoughtChunk != nil {
				text += up.AgentThoughtChunk.Content.Text.Text
			}
		}
		return text
	}
	if got := thoughts(d); got != "Two and two." || d.Text(id) != "It is four." {
		t.Errorf("thought %q and said %q", got, d.Text(id))
	}
	d.Close()
	d = drive.Start(t, r.local, drive.Setup{Capabilities: capable()})
	if err := d.Call(t.Context(), schema.MethodAgentSessionLoad, schema.LoadSessionRequest{SessionID: id, Cwd: r.dir}, nil); err != nil {
		t.Fatal(err)
	}
	if got := thoughts(d); got != "Two and two." || d.Text(id) != "It is four." {
		t.Errorf("loaded, thought %q and said %q", got, d.Text(id))
	}
}

// TestRealPlanOfTasks shows the tasks of the CLI as a plan, in a session that has them.
func TestRealPlanOfTasks(t *testing.T) {
	r := newReal(t)
	r.local.Options.Env = append(r.local.Options.Env, "CLAUDE_CODE_ENABLE_TASKS=1", "CLAUDE_CODE_ENABLE_TODO_TOOLS=1")
	r.model.Add(
		claudetest.UseTool("TaskCreate", map[string]string{"subject": "Build it", "description": "With make.", "activeForm": "Building it"}),
		claudetest.UseTool("TaskUpdate", map[string]string{"taskId": "1", "status": "in_progress"}),
		claudetest.UseTool("TaskUpdate", map[string]string{"taskId": "1", "status": "completed"}),
		claudetest.Say("done"))
	d := drive.Start(t, r.local, drive.Setup{Capabilities: capable()})
	id := d.New(t, r.dir)
	if _, err := d.Prompt(t.Context(), id, "Plan it."); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, up := range d.Updates(id) {
		if up.Plan == nil {
			if data, err := json.Marshal(up); err != nil || strings.Contains(string(data), "TaskCreate") {
				t.Errorf("shown %s, %v", data, err)
			}
			continue
		}
		for _, e := range up.Plan.Entries {
			got = append(got, string(e.Status)+" "+e.Content)
		}
	}
	if want := []string{"pending Build it", "in_progress Building it", "completed Build it"}; !slices.Equal(got, want) {
		t.Errorf("the plan was %q, want %q", got, want)
	}
}
