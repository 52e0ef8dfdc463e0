package claude_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/permission"
)

func TestHardened(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("ANTHROPIC_API_KEY", "sk-test")
	t.Setenv("CLAUDE_CODE_MAX_RETRIES", "2")
	t.Setenv("API_TIMEOUT_MS", "1000")
	o := claude.Hardened()
	if o.SettingSources == nil || len(o.SettingSources) > 0 || !o.StrictMCPConfig || o.HookFailure != hook.FailClosed || o.PermissionMode != permission.ModeDefault || !o.VerbatimPrompts {
		t.Errorf("got %+v", o)
	}
	names := make(map[string]bool)
	for _, entry := range o.Env {
		name, _, _ := strings.Cut(entry, "=")
		names[name] = true
	}
	if names["AWS_SECRET_ACCESS_KEY"] || !names["ANTHROPIC_API_KEY"] || !names["PATH"] || !names["CLAUDE_CODE_MAX_RETRIES"] || !names["API_TIMEOUT_MS"] {
		t.Errorf("environment has %v", slices.Sorted(maps.Keys(names)))
	}
}
