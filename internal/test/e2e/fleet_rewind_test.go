package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// The files of a conversation are restored to what they were before any of its
// prompts, although it sleeps, and although its CLIs were others each time.
func TestRealFleetRewind(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "sessions in a store")
	var file string
	var steps sync.Map // how many calls were made for each prompt
	r := startReal(t, claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
		from, to, _ := strings.Cut(c.Prompt, " to ")
		n, _ := steps.LoadOrStore(c.Prompt, new(atomic.Int32))
		switch n.(*atomic.Int32).Add(1) {
		case 1:
			return claudetest.UseTool("Read", map[string]any{"file_path": file})
		case 2:
			return claudetest.UseTool("Edit", map[string]any{"file_path": file, "old_string": from, "new_string": strings.ReplaceAll(to, "+", "\n")})
		}
		return claudetest.Say("done")
	}))
	file = filepath.Join(r.dir, "a.txt")
	if err := os.WriteFile(file, []byte("zero\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	says := func(want string) {
		t.Helper()
		if text, err := os.ReadFile(file); err != nil || string(text) != want+"\n" {
			t.Errorf("the file says %q, %v, want %q", text, err, want)
		}
	}
	r.opts.PermissionMode, r.opts.FileCheckpointing = permission.ModeAcceptEdits, true
	db := store.Files(t.TempDir())
	var prompts []string
	for _, text := range []string{"zero to one+more", "one to two"} {
		f := r.fleet(t, db, fleet.Options{})
		prompts = append(prompts, uuid.New())
		if _, err := lastText(f.RunPrompt(t.Context(), "ada", fleet.Prompt{ID: prompts[len(prompts)-1], Text: text})); err != nil {
			t.Fatal(err)
		}
		closeFleet(t, f)
	}
	says("two\nmore")

	f := r.fleet(t, db, fleet.Options{})
	defer closeFleet(t, f)
	ask := func(prompt string, dry bool, added, removed int) {
		t.Helper()
		got, err := f.Rewind(t.Context(), "ada", fleet.RewindTo{Prompt: prompt, DryRun: dry})
		if err != nil || !got.CanRewind || len(got.FilesChanged) != 1 || got.Insertions != added || got.Deletions != removed {
			t.Errorf("Rewind to %s = %+v, %v", prompt, got, err)
		}
	}
	ask(prompts[0], true, 1, 2)
	says("two\nmore")
	ask(prompts[1], false, 1, 1)
	says("one\nmore")
	ask(prompts[0], false, 1, 2)
	says("zero")
	got, err := f.Rewind(t.Context(), "ada", fleet.RewindTo{Prompt: uuid.New()})
	if err != nil || got.CanRewind || got.Error == "" {
		t.Errorf("to a prompt that was never sent: %+v, %v", got, err)
	}
	t.Log(got.Error)
	// What was said stays, and the conversation continues.
	if _, err := lastText(f.Run(t.Context(), "ada", "zero to three")); err != nil {
		t.Fatal(err)
	}
	says("three")
}
