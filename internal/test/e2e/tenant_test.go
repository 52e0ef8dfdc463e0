package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/realcli"
)

// TestRealTenant puts instructions into every folder above a tenant and into the home
// of this user. Nothing that the model is sent has any of them; without Tenant, it is
// sent several.
func TestRealTenant(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, sinceVerbatim, "VerbatimPrompts")
	for _, tenant := range []bool{false, true} {
		t.Run(fmt.Sprint(tenant), func(t *testing.T) {
			top := t.TempDir()
			dir := filepath.Join(top, "srv", "tenants", "acme")
			r := realCLI(t,
				claudetest.UseTool("Read", map[string]string{"file_path": filepath.Join(dir, "work", ".env")}),
				claudetest.UseTool("Bash", map[string]string{"command": "pwd; echo $HOME; echo $TMPDIR", "description": "look around"}),
				claudetest.Say("done"))
			o, err := claude.Tenant(dir)
			if err != nil {
				t.Fatal(err)
			}
			served := filepath.Join(top, "served")
			for at := filepath.Join(dir, "work"); ; at = filepath.Dir(at) {
				marks := map[string]string{".mcp.json": `{"mcpServers":{"marker":{"command":"touch","args":["` + served + `"]}}}`}
				for _, name := range []string{"CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", ".claude/CLAUDE.md", ".claude/rules/rule.md"} {
					marks[name] = "marker-" + filepath.Base(at) + "-" + name
				}
				writeFiles(t, at, marks)
				if at == top {
					break
				}
			}
			writeFiles(t, r.home, map[string]string{".claude/CLAUDE.md": "marker-home", ".claude/settings.json": `{"env":{"EVIL":"marker-env"}}`})
			writeFiles(t, filepath.Join(dir, "work"), map[string]string{".env": "KEY=marker-secret"})
			for _, entry := range r.opts.Env { // how this test reaches the model
				name, _, _ := strings.Cut(entry, "=")
				if !slices.ContainsFunc(o.Env, func(other string) bool { return strings.HasPrefix(other, name+"=") }) || strings.HasPrefix(name, "ANTHROPIC_") {
					o.Env = append(slices.DeleteFunc(o.Env, func(other string) bool { return strings.HasPrefix(other, name+"=") }), entry)
				}
			}
			if !tenant {
				o = &claude.Options{Env: r.opts.Env, Cwd: o.Cwd}
			}
			o.CLIPath, o.Logger = r.opts.CLIPath, r.opts.Logger
			o.AllowedTools = []string{"Bash", "Read"}
			if _, err := claude.Ask(t.Context(), "hello", o); err != nil {
				t.Fatal(err)
			}
			var heard strings.Builder
			for _, c := range r.model.Calls() {
				heard.Write(c.Raw)
			}
			if got := strings.Contains(heard.String(), "marker-"); got == tenant {
				t.Errorf("the model was sent something of other folders: %v, at %d", got, strings.Index(heard.String(), "marker-"))
			}
			if !tenant {
				return
			}
			if _, err := os.Stat(served); err == nil {
				t.Error("an MCP server of a parent folder was started")
			}
			for _, want := range []string{filepath.Join(dir, "work"), filepath.Join(dir, "home"), filepath.Join(dir, "tmp"), "stays closed"} {
				if !strings.Contains(heard.String(), want) {
					t.Errorf("no call says %q", want)
				}
			}
			if left, _ := filepath.Glob(filepath.Join(r.home, ".claude", "projects", "*")); len(left) > 0 {
				t.Errorf("the home of this user has %q", left)
			}
			if found, _ := filepath.Glob(filepath.Join(dir, "config", "projects", "*", "*.jsonl")); len(found) != 1 {
				t.Errorf("the transcripts of the tenant are %q", found)
			}
			if notes, _ := filepath.Glob(filepath.Join(dir, "config", "projects", "*", "memory")); len(notes) > 0 {
				t.Errorf("memory is kept: %q", notes)
			}
		})
	}
}
