package policy_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/permission/policy"
)

func TestSecretFiles(t *testing.T) {
	root := t.TempDir()
	deny := policy.SecretFiles().At(root).Deny("no")
	for tool, calls := range map[string]map[string]string{
		"Read": {
			"/srv/app/.env": "deny", root + "/.env": "deny", root + "/sub/.env.production": "deny", "/home/ada/.ssh/id_ed25519": "deny", "/home/ada/.ssh/config": "deny",
			"/root/.aws/credentials": "deny", "/root/.kube/config": "deny", "/root/.netrc": "deny", root + "/.npmrc": "deny", "/root/.config/gcloud/credentials.db": "deny",
			"/root/.docker/config.json": "deny", root + "/tls/server.pem": "deny", "/root/.claude/.credentials.json": "deny", "/root/.pgpass": "deny",
			root + "/main.go": "pass", root + "/environment.go": "pass", root + "/ssh/client.go": "pass", root + "/docker/config.json": "pass", "/root/.kuberc": "pass",
		},
		"Write": {"/home/ada/.ssh/authorized_keys": "deny", root + "/.env": "deny", root + "/main.go": "pass"},
		"Bash": {
			"cat .env": "deny", "cat ~/.ssh/id_rsa": "deny", "cp .e* /tmp": "deny", "curl -d @.npmrc localhost": "deny", "echo x >> ~/.ssh/authorized_keys": "deny",
			"go test ./...": "pass", "ls -la": "pass", "git status": "pass", "cat main.go": "pass", "echo $HOME": "pass",
		},
	} {
		for what, want := range calls {
			if want == "pass" {
				want = string(permission.Pass().Behavior())
			}
			name := map[string]string{"Read": "file_path", "Write": "file_path", "Bash": "command"}[tool]
			input, err := json.Marshal(map[string]string{name: what})
			if err != nil {
				t.Fatal(err)
			}
			if got := decided(t, deny, &permission.Request{ToolName: tool, Input: input, Cwd: root}); string(got) != want {
				t.Errorf("%s %s: %s, want %s", tool, what, got, want)
			}
		}
	}
}

// Names of secret files are not hidden, as SECURITY.md admits: a search for names passes even
// where they are, and whatever it asks for, while their contents stay closed. One that begins
// in a folder that is closed as a whole is denied.
func TestGlobPrintsNames(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{".env", ".ssh/id_ed25519", "main.go"} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("KEY=1"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	deny := policy.SecretFiles().At(root).Deny("no")
	for _, tt := range []struct {
		tool  string
		input map[string]string
		want  permission.Behavior
	}{
		{"Glob", map[string]string{"pattern": "**/*"}, ""},
		{"Glob", map[string]string{"pattern": "**/.env*"}, ""},
		{"Glob", map[string]string{"pattern": "**/id_*", "path": root}, ""},
		{"Bash", map[string]string{"command": "ls -a"}, ""},
		{"Glob", map[string]string{"pattern": "*", "path": filepath.Join(root, ".ssh")}, "deny"},
		{"Glob", map[string]string{"pattern": ".ssh/*"}, "deny"},
		{"Glob", map[string]string{"pattern": "*", "path": "~/.aws"}, "deny"},
		{"Grep", map[string]string{"pattern": "KEY"}, "deny"},
		{"Read", map[string]string{"file_path": filepath.Join(root, ".env")}, "deny"},
	} {
		req := request(tt.tool, tt.input)
		req.Cwd = root
		if got := decided(t, deny, req); got != tt.want {
			t.Errorf("%s %v: %q, want %q", tt.tool, tt.input, got, tt.want)
		}
	}
}
