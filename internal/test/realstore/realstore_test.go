package realstore_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/internal/test/need"
	"github.com/claude-agent-go/claude/internal/test/realstore"
	"github.com/claude-agent-go/claude/store"
)

// TestMain lets the test binary be the other owner.
func TestMain(m *testing.M) {
	if realstore.Owner() {
		os.Exit(realstore.Own(store.Files(os.Getenv("STORE_DIR"))))
	}
	os.Exit(leak.Main(m.Run))
}

func TestRealResume(t *testing.T) {
	for _, s := range []struct {
		name  string
		store store.Sessions
	}{
		{"`store.Memory`", store.Memory()},
		{"`store.Files`", store.Files(t.TempDir())},
	} {
		t.Run(fmt.Sprintf("%T", s.store), func(t *testing.T) { realstore.Resume(t, s.name, s.store) })
	}
}

func TestRealSuspended(t *testing.T) {
	need.Signals.Test(t)
	dir := t.TempDir()
	owner := exec.Command(os.Args[0])
	owner.Env = append(os.Environ(), "STORE_DIR="+dir)
	realstore.Suspended(t, store.Files(dir), owner)
}

func TestSharedLimits(t *testing.T) {
	memory, dir := store.Memory(), t.TempDir()
	for name, open := range map[string]func(*testing.T) store.Fleet{
		"Memory": func(*testing.T) store.Fleet { return memory },
		"Files":  func(*testing.T) store.Fleet { return store.Files(dir) },
	} {
		t.Run(name, func(t *testing.T) { realstore.SharedLimits(t, open) })
	}
}
