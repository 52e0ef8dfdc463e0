package policy_test

import (
	"encoding/json"
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
