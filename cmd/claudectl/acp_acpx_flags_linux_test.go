package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/acpscenes"
)

// TestRealACPXFlags uses the flags of acpx for a session, which reach the program in _meta.
// What would limit a session holds, or the session does not begin.
func TestRealACPXFlags(t *testing.T) {
	scene := acpscenes.Scene{Name: "flags", Lines: []acpscenes.Line{{Mark: '=', Data: []byte(`[
		{"tool":"Write","input":{"file_path":"$dir/made.txt","content":"x"}}, {"text":"done"}]`)}}}
	made := func(st *stage) bool {
		_, err := os.Stat(filepath.Join(st.dir, "made.txt"))
		return err == nil
	}
	flags := []string{"--deny-all", "--model", "sonnet", "--allowed-tools", "Write", "--append-system-prompt", "Speak in rhymes."}
	run := func(t *testing.T, st *stage, more ...string) string {
		t.Helper()
		out, _ := st.acpx(t, append(append(flags[:len(flags):len(flags)], more...), "--format", "json", "exec", "Make it.")...)
		return out
	}
	t.Run("alone", func(t *testing.T) {
		st := newStage(t, scene)
		out := run(t, st, "--max-turns", "1")
		if !made(st) || !strings.Contains(out, `"stopReason":"max_turn_requests"`) {
			t.Errorf("the file was made without a question: %t; the turn: %s", made(st), out)
		}
		asked := ""
		for _, call := range st.model.Calls() {
			if !call.Side {
				asked = string(call.Raw)
			}
		}
		if !strings.Contains(asked, "Speak in rhymes.") || !strings.Contains(asked, "sonnet") {
			t.Errorf("the model was asked %.500s", asked)
		}
	})
	t.Run("policy", func(t *testing.T) {
		st := newStage(t, scene)
		policy := filepath.Join(t.TempDir(), "policy.json")
		if err := os.WriteFile(policy, []byte(`{"deny":["Read(.env)"]}`), 0o600); err != nil {
			t.Fatal(err)
		}
		st.args = append(st.args, "--policy", policy)
		if out := run(t, st); made(st) || !strings.Contains(out, "rules of its own") {
			t.Errorf("the file was made: %t; acpx says %s", made(st), out)
		}
	})
	t.Run("server", func(t *testing.T) {
		st := newServerStage(t, scene)
		st.args = []string{"acp", "--connect", st.url}
		if out := run(t, st, "--max-turns", "1"); made(st) || !strings.Contains(out, "maxTurns in _meta is not supported here") {
			t.Errorf("the file was made: %t; acpx says %s", made(st), out)
		}
		if out := run(t, st); made(st) || !strings.Contains(out, `"stopReason":"end_turn"`) {
			t.Errorf("the file was made: %t; the turn: %s", made(st), out)
		}
	})
}
