package sandbox_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/sandbox"
	"github.com/claude-agent-go/claude/store"
)

// Whatever options make the SDK write for the CLI arrives inside, where the folders of this
// machine do not exist, and has its effect on the real CLI: settings, MCP servers, prompts,
// agents, additional folders, and a session that is restored from a store. It is gone
// afterwards.
func TestRealFilesInside(t *testing.T) {
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			b := newBench(t, f)
			tmp, more := t.TempDir(), t.TempDir()
			t.Setenv("TMPDIR", tmp)
			switch form := b.opts.Transport.(type) {
			case *sandbox.Bubblewrap:
				form.Mounts = append(form.Mounts, sandbox.Mount{Source: more})
			case *sandbox.Container:
				form.Mounts = append(form.Mounts, sandbox.Mount{Source: more})
			}
			o := b.opts
			o.Env = append(o.Env, "MCP_TIMEOUT=2000")
			o.Settings = map[string]any{"env": map[string]any{"FROM_SETTINGS": "settings-arrived"}}
			o.MCPServers = claude.MCPServers{"local": claude.StdioServer{
				Command: "/bin/sh", Args: []string{"-c", `echo "server-$SERVER_TOKEN" > mcp-started; cat > /dev/null`}, Env: map[string]string{"SERVER_TOKEN": "arrived"},
			}}
			o.SystemPrompt = claude.SystemPrompt{Text: "You are the system-prompt-arrived."}
			o.Agents = map[string]claude.AgentDefinition{"reviewer": {Description: "agent-arrived", Prompt: "Review."}}
			o.AddDirs = []string{more}
			o.FileCheckpointing = true
			o.Store = &claude.StoreOptions{Store: store.Memory(), Project: "p", Private: true, Journal: t.TempDir()}
			first, err := claude.Connect(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			got := b.run(first, "echo $FROM_SETTINGS; for i in $(seq 300); do [ -s mcp-started ] && break; sleep .1; done; cat mcp-started; ls -d "+more+"; echo $CLAUDE_CONFIG_DIR; ls $CLAUDE_CONFIG_DIR/projects")
			for _, want := range []string{"settings-arrived", "server-arrived", more, "/config\n", "-work"} {
				if !strings.Contains(got, want) {
					t.Errorf("inside, %q is missing: %s", want, got)
				}
			}
			if strings.Contains(got, tmp) {
				t.Errorf("inside, %s of this machine is named: %s", tmp, got)
			}
			call := b.model.Calls()[0]
			if !strings.Contains(call.System, "system-prompt-arrived") || !strings.Contains(string(call.Raw), "agent-arrived") {
				t.Errorf("the model has not read the prompt or the agent: %.300s", call.System)
			}
			o.Resume = first.ID()
			if err := first.Close(); err != nil {
				t.Error(err)
			}
			second, err := claude.Connect(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			b.model.Add(claudetest.Say("I do."))
			if res, err := second.Ask(t.Context(), "Do you remember?"); err != nil || res.Text != "I do." {
				t.Errorf("%+v, %v", res, err)
			}
			calls := b.model.Calls()
			if last := calls[len(calls)-1]; !strings.Contains(string(last.Raw), "cat mcp-started") {
				t.Errorf("the restored session has not arrived: %d messages", len(last.Messages))
			}
			if err := second.Close(); err != nil {
				t.Error(err)
			}
			left := []string{"?"}
			for begin := time.Now(); len(left) > 0 && time.Since(begin) < 30*time.Second; <-time.After(10 * time.Millisecond) {
				left, _ = filepath.Glob(filepath.Join(tmp, "*")) // a container is removed after Close
			}
			if len(left) > 0 {
				t.Errorf("%q is left", left)
			}
		})
	}
}
