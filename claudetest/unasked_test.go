package claudetest_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/message"
)

// Without a client to ask, the real CLI and the scripted one refuse calls in the
// same words and the same form.
func TestRealUnasked(t *testing.T) {
	realcli.Needs(t, realcli.Version, "agreement with the scripted CLI")
	path := realcli.Need(t, realcli.Tested())
	script := func(dir string) []claudetest.Reply {
		file := filepath.Join(dir, "a.txt")
		return []claudetest.Reply{
			claudetest.UseTool("Write", map[string]any{"file_path": file, "content": "x"}),
			claudetest.UseTool("Edit", map[string]any{"file_path": file, "old_string": "", "new_string": "x"}),
			claudetest.UseTool("Bash", map[string]any{"command": "mkfifo x"}),
			claudetest.UseTool("WebFetch", map[string]any{"url": "https://example.com", "prompt": "x"}),
			claudetest.Say("Then not."),
		}
	}
	realDir, fakeDir := t.TempDir(), t.TempDir()
	model := claudetest.NewModel(script(realDir)...)
	url, err := model.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	env, _ := realcli.Env(t, url)
	real := refusals(t, realDir, &claude.Options{CLIPath: path, Env: env, Cwd: realDir})
	fake := refusals(t, fakeDir, &claude.Options{Transport: claudetest.New(script(fakeDir)...), Env: env, Cwd: fakeDir})
	if len(real) != 12 || !slices.Equal(real, fake) {
		t.Errorf("the real CLI says\n%s\nthe scripted one\n%s", strings.Join(real, "\n"), strings.Join(fake, "\n"))
	}
}

// refusals returns the messages of a session about the calls that it refuses,
// without ids.
func refusals(t *testing.T, dir string, o *claude.Options) (said []string) {
	t.Helper()
	names := make(map[string]string) // of tools by the ids of their calls
	add := func(format string, args ...any) {
		said = append(said, strings.ReplaceAll(fmt.Sprintf(format, args...), dir, "/repo"))
	}
	for msg, err := range claude.Query(t.Context(), "work", o) {
		if err != nil {
			t.Fatal(err)
		}
		switch m := msg.(type) {
		case *message.Assistant:
			for _, b := range m.Content {
				if use, ok := b.(*message.ToolUseBlock); ok {
					names[use.ID] = use.Name
				}
			}
		case *message.PermissionDenied:
			add("denied %s (%s): %s, %s: %s", m.ToolName, names[m.ToolUseID], m.DecisionReasonType, m.DecisionReason, m.Message)
		case *message.User:
			for _, b := range m.Content {
				if r, ok := b.(*message.ToolResultBlock); ok {
					add("result of %s: error %v: %s, %s", names[r.ToolUseID], r.IsError, r.Content.Text(), m.ToolUseResult)
				}
			}
		case *message.Result:
			for _, d := range m.PermissionDenials {
				add("denial of %s (%s)", d.ToolName, names[d.ToolUseID]) // the CLI adds defaults to the input
			}
		}
	}
	return said
}
