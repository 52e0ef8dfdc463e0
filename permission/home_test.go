package permission_test

import (
	"slices"
	"testing"

	"github.com/claude-agent-go/claude/permission"
)

func TestHomeInContext(t *testing.T) {
	if dir, ok := permission.HomeFrom(t.Context()); ok || dir != "" {
		t.Errorf("a context that names no home has %q", dir)
	}
	ctx := permission.WithHome(t.Context(), "/home/cli")
	if dir, ok := permission.HomeFrom(ctx); !ok || dir != "/home/cli" {
		t.Errorf("home %q, %v", dir, ok)
	}
	// The inner one counts, even if it is empty.
	if dir, ok := permission.HomeFrom(permission.WithHome(ctx, "")); !ok || dir != "" {
		t.Errorf("home %q, %v", dir, ok)
	}
}

func TestBuiltInToolsBelongToTheCaller(t *testing.T) {
	tools := permission.BuiltInTools()
	if !slices.Contains(tools, "Bash") || !slices.IsSorted(tools) {
		t.Errorf("tools %q", tools)
	}
	clear(tools)
	if !slices.Contains(permission.BuiltInTools(), "Bash") {
		t.Error("a caller changed the list for the others")
	}
}
