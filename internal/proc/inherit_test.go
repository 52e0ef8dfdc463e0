package proc_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/proc"
	"github.com/claude-agent-go/claude/internal/test/harness"
)

func TestInherit(t *testing.T) {
	fatal := []string{"NODE_OPTIONS", "CLAUDECODE"}
	for _, name := range harness.KeptBack() {
		env := []string{"PATH=/bin", name + "=1", strings.ToLower(name) + "=2", name + "X=3", "X_" + name + "=4", "A=" + name + "=5"}
		before := slices.Clone(env)
		left := []string{"PATH=/bin", name + "X=3", "X_" + name + "=4", "A=" + name + "=5"}
		if got := proc.Inherit(env); !slices.Equal(got, left) {
			t.Errorf("%s: inherited %q, want %q", name, got, left)
		}
		want := env
		if slices.Contains(fatal, name) {
			want = left
		}
		if got := proc.Chosen(env); !slices.Equal(got, want) {
			t.Errorf("%s: chosen %q, want %q", name, got, want)
		}
		if !slices.Equal(env, before) {
			t.Errorf("%s: the environment was changed to %q", name, env)
		}
	}
}
