package serve_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/workspace"
)

// Each conversation works in the folder that its preset gives it, or else where it was
// begun. Its own folder goes with it, and the other stays.
func TestWorkspaces(t *testing.T) {
	t.Parallel()
	db, root, own := store.Memory(), t.TempDir(), t.TempDir()
	presets := []serve.Preset{{Name: "shop", Roots: []string{root}}, {Name: "own", Roots: []string{root}, Workspace: workspace.Folders(own)}}
	files, err := serve.Workspaces(db, "p", presets, nil)
	if err != nil {
		t.Fatal(err)
	}
	dirs := make(chan string, 10)
	var sessions func(context.Context, string) (*claude.Options, error)
	r := newRigFleet(t, db, root, func(o *fleet.Options) {
		o.Workspace = files
		o.Session = func(ctx context.Context, key string) (*claude.Options, error) {
			if d := workspace.From(ctx); d != nil { // else a prompt only wants to know which CLI
				dirs <- d.Path()
			}
			return sessions(ctx, key)
		}
	}, func(o *serve.Options) {
		for i := range presets {
			presets[i].Options = o.Presets[0].Options
		}
		o.Presets = presets
		sessions, err = serve.Sessions(db, "p", presets, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		t.Fatal(err)
	}
	ada := r.as("ada", api.RoleOperator)
	for preset, want := range map[string]string{"shop": real, "own": own} {
		begun := beginWith(ada, preset)
		dir := <-dirs
		if preset == "own" && filepath.Dir(dir) != want || preset == "shop" && dir != want {
			t.Errorf("%s: it works in %s, want %s", preset, dir, want)
		}
		if got := ada.do("DELETE", "/v1/conversations/"+begun.ID, nil); got.status != http.StatusNoContent {
			t.Fatalf("%s: status %d: %s", preset, got.status, got.body)
		}
		if _, err := os.Stat(dir); (err == nil) != (preset == "shop") {
			t.Errorf("%s: when it is deleted, its directory: %v", preset, err)
		}
	}
}

// beginWith begins a conversation of a preset, and waits for the first answer.
func beginWith(c *client, preset string) api.Conversation {
	c.t.Helper()
	begun := want[api.Conversation](c, c.do("POST", "/v1/conversations", api.NewConversation{Preset: preset, Content: api.Text("hello")}), http.StatusCreated)
	c.follow("/v1/conversations/"+begun.ID+"/events", untilTurns(1))
	return begun
}

// Conversations that were not begun through a server get their folders elsewhere, and
// without any folders a fleet needs no provider.
func TestWorkspacesOfOthers(t *testing.T) {
	t.Parallel()
	db, root := store.Memory(), t.TempDir()
	presets := []serve.Preset{{Name: "shop", Roots: []string{root}}}
	if files, err := serve.Workspaces(db, "p", presets, nil); files != nil || err != nil {
		t.Errorf("without folders: %v, %v", files, err)
	}
	files, err := serve.Workspaces(db, "p", presets, workspace.Folders(root))
	if err != nil {
		t.Fatal(err)
	}
	if d, err := files.Open(t.Context(), "someone/1"); err != nil || filepath.Dir(d.Path()) != root {
		t.Errorf("one of another program: %v, %v", d, err)
	}
	presets[0].Workspace = workspace.Folders(root)
	if files, err = serve.Workspaces(db, "p", presets, nil); err != nil {
		t.Fatal(err)
	}
	if d, err := files.Open(t.Context(), "someone/1"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("without a provider for it: %v, %v", d, err)
	}
	presets[0].Roots = []string{"shop/../.."}
	if _, err := serve.Workspaces(db, "p", presets, nil); err == nil {
		t.Error("a relative root is accepted")
	}
}
