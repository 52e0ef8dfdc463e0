package claude_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/test/need"
	"github.com/claude-agent-go/claude/store"
)

// Every option of the table works in another root directory: whatever it makes the SDK write
// for the CLI is among the Files of the launch. Neither the command line, the
// environment, the files nor the handshake then names a path of this machine.
func TestOptionsInAnotherRoot(t *testing.T) {
	tmp := t.TempDir()
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} { // the last two on Windows
		t.Setenv(name, tmp)
	}
	samples := map[string]claude.Options{ // those with folders for the CLI
		"a private store": {Store: &claude.StoreOptions{Store: store.Memory(), Project: "p", Private: true}, FileCheckpointing: true},
		"no login":        {Store: &claude.StoreOptions{Store: store.Memory(), Project: "p", NoLogin: true}},
		"all files": {
			Settings: map[string]any{"model": "opus"}, Sandbox: &claude.Sandbox{Enabled: true}, MCPServers: claude.MCPServers{"files": claude.StdioServer{Command: "serve"}},
			Store: &claude.StoreOptions{Store: store.Memory(), Project: "p", Private: true},
		},
	}
	for _, row := range claude.OptionRows() {
		if samples[row.Field] = sample(t, row); row.Field == "ProjectConfigRoot" && !need.UnixPaths.Here() {
			delete(samples, row.Field) // its sample is refused there
		}
	}
	placed := 0
	for name, o := range samples {
		if o.Env == nil {
			o.Env = []string{"HOME=/there", "CLAUDE_CONFIG_DIR=/there/config"}
		}
		if o.Store != nil {
			o.Store.Journal = t.TempDir()
		}
		with := launched(t, o)
		for _, text := range slices.Concat(with.launch.Args, with.launch.Env) {
			if strings.Contains(text, tmp) {
				placed++
			}
		}
		at := with.launch.At("/run/claude")
		said, err := json.Marshal([]any{at.Args, at.Env, with.init, with.settings, with.servers})
		if err != nil {
			t.Fatal(err)
		}
		path, err := json.Marshal(tmp)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(said), strings.Trim(string(path), `"`)) {
			t.Errorf("%s: the CLI elsewhere learns a path of this machine: %s", name, said)
		}
	}
	if placed < 10 {
		t.Errorf("only %d arguments and variables name files: the test sees nothing", placed)
	}
}
