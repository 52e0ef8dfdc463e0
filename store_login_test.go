package claude_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/store"
)

// A session that needs no login has none in its files: because the caller asks for it, or
// because a proxy signs in for it.
func TestStoreNoLogin(t *testing.T) {
	config := t.TempDir()
	if err := os.WriteFile(filepath.Join(config, ".credentials.json"), []byte(`{"claudeAiOauth":{"accessToken":"canary"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		store claude.StoreOptions
		env   []string
		login bool
	}{
		"a copy":               {claude.StoreOptions{Private: true}, nil, true},
		"another key":          {claude.StoreOptions{Private: true}, []string{"ANTHROPIC_API_KEY=sk-ant-api03-other"}, true},
		"not private":          {claude.StoreOptions{NoLogin: true}, nil, false},
		"private":              {claude.StoreOptions{NoLogin: true, Private: true}, nil, false},
		"a sentinel":           {claude.StoreOptions{Private: true}, []string{"ANTHROPIC_API_KEY=sk-ant-api03-egress-AAAA"}, false},
		"a token's sentinel":   {claude.StoreOptions{Private: true}, []string{"CLAUDE_CODE_OAUTH_TOKEN=sk-ant-oat01-egress-AAAA"}, false},
		"a bearer's sentinel":  {claude.StoreOptions{Private: true}, []string{"ANTHROPIC_AUTH_TOKEN=egress-AAAA"}, false},
		"a word of a variable": {claude.StoreOptions{Private: true}, []string{"NAME=egress-AAAA"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			o := claude.Options{Env: append([]string{"HOME=" + t.TempDir(), "CLAUDE_CONFIG_DIR=" + config}, c.env...), Store: &c.store, Logger: harness.Logger(t)}
			o.Store.Store, o.Store.Project, o.Store.Journal = store.Memory(), "tenant-7", t.TempDir()
			var dir, found string
			d := &double{t: t}
			d.play = func(cli *cli) {
				cli.greet()
				for _, entry := range d.launch.Env {
					if value, ok := strings.CutPrefix(entry, "CLAUDE_CONFIG_DIR="); ok {
						dir, found = value, readFile(filepath.Join(value, ".credentials.json"))
					}
				}
				cli.idle()
			}
			o.Transport = d
			finish(t, connect(t, &o))
			if dir == "" || dir == config || strings.Contains(found, "canary") != c.login {
				t.Errorf("in %q the CLI finds %q", dir, found)
			}
		})
	}
}
