package sandbox

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/claude-agent-go/claude"
)

// What is a credential shows in the name of a variable or in its value. What a client needs
// to find its way stays, even if the value of some other variable occurs in it.
func TestClientEnv(t *testing.T) {
	dir := t.TempDir()
	word := filepath.Base(filepath.Dir(dir)) // occurs in each path below
	kept := []string{
		"HOME=" + dir, "PATH=/nowhere" + string(filepath.ListSeparator) + dir, "KUBECONFIG=" + dir, "SSH_AUTH_SOCK=" + dir,
		"USE_GKE_GCLOUD_AUTH_PLUGIN=True", "XDG_RUNTIME_DIR=" + dir, "DOCKER_HOST=ssh://ada@build.example.com", "HTTPS_PROXY=http://proxy.example.com:3128",
		"AWS_WEB_IDENTITY_TOKEN_FILE=" + dir, "PWD=" + dir, "LANG=C.UTF-8", "AWS_PROFILE=work",
	}
	dropped := []string{
		"VAULT_AUTH_METHOD=" + word, "AWS_SESSION_TOKEN=first-secret", "PGPASSWORD=second-secret", "A_COPY=is second-secret", "SMTP_PASS=third-secret", "MYSQL_PWD=fourth-secret",
		"AZURE_DEVOPS_EXT_PAT=fifth-secret", "DATABASE_URL=postgres://app:hunter22@db/app", "CI_LOGIN=ghp_abcdefghijklmnopqrstuvwxyz",
		"HTTP_PROXY=http://ada:hunter22@proxy.example.com:3128", "CONNECTION=AccountName=a;AccountKey=abcdefghijkl", "A_SECRET=sandbox", "B_TOKEN=/nowhere",
	}
	t.Chdir("..") // where sandbox is the name of a folder
	got := clientEnv(slices.Concat(kept, dropped), &claude.Launch{}, nil)
	for _, entry := range kept {
		if !slices.Contains(got, entry) {
			t.Errorf("it has no %s", entry)
		}
	}
	for _, entry := range dropped {
		if slices.Contains(got, entry) {
			t.Errorf("it has %s", entry)
		}
	}
	if got := clientEnv(dropped, &claude.Launch{}, []string{"HTTP_PROXY"}); !slices.Equal(got, dropped[9:10]) {
		t.Errorf("with what was named: %q", got)
	}
}
