package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/secret"
)

// leastSecret is how long a credential is that is looked for in other variables.
const leastSecret = 8

// clientEnv returns the environment of a client, such as ssh or kubectl, that only leads to
// the CLI: that of this process without credentials, and without copies of them or of those
// that the CLI gets. Any program of the same user can read the environment of a client, and
// its configuration may send variables on. Variables that the client needs itself are named
// in needed. One that names files, as SSH_AUTH_SOCK, KUBECONFIG and PATH do, says nothing by
// itself, even if the value of another occurs in it.
func clientEnv(environ []string, l *claude.Launch, needed []string) []string {
	kept := func(name, value string) bool {
		return slices.Contains(needed, name) || areFiles(value) || !isCredential(name, value)
	}
	var secrets []string
	for _, entry := range slices.Concat(environ, l.Env) {
		if name, value, _ := strings.Cut(entry, "="); !kept(name, value) && len(value) >= leastSecret {
			secrets = append(secrets, value)
		}
	}
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, value, _ := strings.Cut(entry, "=")
		if !kept(name, value) {
			return true
		}
		holds := func(s string) bool { return strings.Contains(value, s) }
		return !slices.Contains(needed, name) && !areFiles(value) && slices.ContainsFunc(secrets, holds)
	})
}

// isCredential goes by the name of a variable and by the form of its value. A switch, such
// as USE_GKE_GCLOUD_AUTH_PLUGIN, is not one.
func isCredential(name, value string) bool {
	if _, err := strconv.ParseBool(value); err == nil {
		return false
	}
	var forms *secret.Set
	return secret.IsSecretName(name) || forms.Hide(value) != value
}

// areFiles reports whether a value is a list of absolute paths, and one of them is there.
func areFiles(value string) bool {
	some := false
	for _, path := range filepath.SplitList(value) {
		if path == "" {
			continue
		}
		if !filepath.IsAbs(path) {
			return false
		}
		_, err := os.Lstat(path)
		some = some || err == nil
	}
	return some
}
