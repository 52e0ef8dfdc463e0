package workspace_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/workspace"
)

// open opens the folder of a conversation on a machine that has its folders below root.
func open(ctx context.Context, db *store.MemoryStore, root, key string) (workspace.Workdir, error) {
	files, err := workspace.NewSnapshots(workspace.SnapshotOptions{
		Root:    root,
		Records: db, Project: "chat", // the store and the project of the fleet
		Blobs:  workspace.StoreBlobs(db, "chat"),
		Ignore: []string{"node_modules/"},
	})
	if err != nil {
		return nil, err
	}
	return files.Open(ctx, key)
}

// A conversation writes a file on one machine, and continues with it on another.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "workspace")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	db := store.Memory() // the store that both share

	here, err := open(ctx, db, filepath.Join(dir, "here"), "acme/ada")
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(here.Path(), "notes.txt"), []byte("hello"), 0o600); err != nil {
		log.Fatal(err)
	}
	if err := here.Save(ctx, store.Fence{}); err != nil { // a fleet passes the fence of the lease
		log.Fatal(err)
	}

	there, err := open(ctx, db, filepath.Join(dir, "there"), "acme/ada")
	if err != nil {
		log.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(there.Path(), "notes.txt"))
	fmt.Println(string(text), err)
	// Output: hello <nil>
}

// Each conversation works on a branch of a repository. Its result is a patch.
func ExampleWorktrees() {
	ctx := context.Background()
	trees, err := workspace.NewWorktrees(ctx, workspace.WorktreeOptions{Repo: "/srv/repo.git", Root: "/srv/trees", Base: "origin/main"})
	if err != nil {
		log.Fatal(err)
	}
	dir, err := trees.Open(ctx, "acme/ada")
	if err != nil {
		log.Fatal(err)
	}
	// … a conversation works in dir.Path() …
	patch, err := dir.(*workspace.WorktreeDir).Patch(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s", patch)
}

// worktrees gives the conversations of a fleet worktrees of a repository that travel.
func worktrees(ctx context.Context, db store.Records, clone, root string) (*workspace.Snapshots, error) {
	trees, err := workspace.NewWorktrees(ctx, workspace.WorktreeOptions{Repo: clone, Root: root, Base: "origin/main"})
	if err != nil {
		return nil, err
	}
	return workspace.NewSnapshots(workspace.SnapshotOptions{
		Worktrees: trees,
		Records:   db, Project: "chat", // the store and the project of the fleet
		Blobs: workspace.FileBlobs("/mnt/shared/workspaces"),
	})
}

// Each machine of a fleet has a clone. A conversation finds its branch on all of them.
func ExampleNewSnapshots_worktrees() {
	files, err := worktrees(context.Background(), store.Memory(), "/srv/clone", "/srv/trees")
	if err != nil {
		log.Fatal(err)
	}
	_ = files // fleet.Options.Workspace
}
