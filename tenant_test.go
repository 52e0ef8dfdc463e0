package claude_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/test/need"
)

func TestTenant(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", "/home/me/.config")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("ANTHROPIC_API_KEY", "sk-test")
	dir := filepath.Join(t.TempDir(), "tenants", "acme")
	o, err := claude.Tenant(dir)
	if err != nil {
		t.Fatal(err)
	}
	if o.SettingSources == nil || len(o.SettingSources) > 0 || !o.StrictMCPConfig || !o.VerbatimPrompts || o.HookFailure != hook.FailClosed || len(o.Hooks) != 2 {
		t.Errorf("got %+v", o)
	}
	if o.Cwd != filepath.Join(dir, "work") {
		t.Errorf("works in %s", o.Cwd)
	}
	for _, want := range []string{"HOME=" + dir + "/home", "TMPDIR=" + dir + "/tmp", "CLAUDE_CODE_TMPDIR=" + dir + "/tmp", "CLAUDE_CONFIG_DIR=" + dir + "/config",
		"CLAUDE_CODE_DISABLE_AUTO_MEMORY=1", "ANTHROPIC_API_KEY=sk-test"} {
		if !slices.Contains(o.Env, filepath.FromSlash(want)) {
			t.Errorf("the environment lacks %s", want)
		}
	}
	for _, entry := range o.Env {
		if strings.HasPrefix(entry, "XDG_") || strings.HasPrefix(entry, "AWS_") {
			t.Errorf("the environment has %s", entry)
		}
	}
	for _, name := range []string{"", "work", "config", "home", "tmp"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || need.FileModes.Here() && info.Mode().Perm() != 0o700 {
			t.Errorf("folder %q: %v, %v", name, info, err)
		}
	}
	if _, err := claude.Tenant(dir); err != nil {
		t.Errorf("again: %v", err)
	}
	if _, err := claude.Tenant(""); err == nil {
		t.Error("a tenant without a folder")
	}
}

// A tenant cannot move its folders into those of another.
func TestTenantRefusesLinks(t *testing.T) {
	need.Symlinks.Test(t)
	dir := t.TempDir()
	other := t.TempDir()
	if err := os.Symlink(other, filepath.Join(dir, "config")); err != nil {
		t.Fatal(err)
	}
	if _, err := claude.Tenant(dir); err == nil || !strings.Contains(err.Error(), "link") {
		t.Errorf("error = %v, want one about the link", err)
	}
}
