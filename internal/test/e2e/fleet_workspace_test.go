package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/workspace"
)

// TestRealFleetWorkspace has a conversation with a file and a gated command that sleeps on
// one machine. It wakes on another, with another home and another root for its files: the
// command runs there, and finds the file.
func TestRealFleetWorkspace(t *testing.T) {
	t.Parallel()
	db, blobs := store.Files(t.TempDir()), workspace.FileBlobs(t.TempDir())
	files := func() (*workspace.Snapshots, string) {
		root := t.TempDir()
		s, err := workspace.NewSnapshots(workspace.SnapshotOptions{Root: root, Records: db, Project: "p", Blobs: blobs})
		if err != nil {
			t.Fatal(err)
		}
		return s, root
	}
	logIn := func(root string) string {
		found, _ := filepath.Glob(filepath.Join(root, "*", "log"))
		if len(found) != 1 {
			return ""
		}
		text, err := os.ReadFile(found[0])
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	allow := func(f *fleet.Fleet, question string) {
		t.Helper()
		q, err := f.Approvals().Get(t.Context(), question)
		if err == nil {
			_, err = f.Approvals().Decide(t.Context(), q.ID, approval.Answer{Decision: permission.Allow(), By: "ada", Digest: q.Digest})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	gate := &approval.Options{Patience: 100 * time.Millisecond}
	firstFiles, firstRoot := files()
	f := machine(t).fleet(t, db, fleet.Options{Gate: gate, Workspace: firstFiles})
	for i := range 2 { // the first command runs, the second waits
		prompt := fleet.Prompt{ID: []string{"00000000-0000-4000-8000-00000000000a", "00000000-0000-4000-8000-00000000000b"}[i], Text: "make a note"}
		_, err := lastText(f.RunPrompt(t.Context(), "ada", prompt))
		waits, ok := errors.AsType[*fleet.DeferredError](err)
		if !ok {
			t.Fatalf("not deferred: %v", err)
		}
		if i == 0 {
			allow(f, waits.Question)
			if text, err := lastText(f.RunPrompt(t.Context(), "ada", prompt)); err != nil || !strings.Contains(text, "It says:") {
				t.Fatalf("the answer: %q, %v", text, err)
			}
			continue
		}
		closeFleet(t, f)
		if got := logIn(firstRoot); got != "one\n" {
			t.Errorf("the first machine has %q", got)
		}
		secondFiles, secondRoot := files()
		f = machine(t).fleet(t, db, fleet.Options{Gate: gate, Workspace: secondFiles})
		defer closeFleet(t, f)
		allow(f, waits.Question)
		if text, err := lastText(f.RunPrompt(t.Context(), "ada", prompt)); err != nil || !strings.Contains(text, "It says:") {
			t.Errorf("the answer: %q, %v", text, err)
		}
		if got := logIn(secondRoot); got != "one\none\n" {
			t.Errorf("the second machine has %q", got)
		}
		if got := logIn(firstRoot); got != "one\n" {
			t.Errorf("the command ran on the first machine, which has %q", got)
		}
	}
}
