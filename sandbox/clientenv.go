package sandbox

import (
	"os"
	"slices"
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
// in needed; one that names a file, as SSH_AUTH_SOCK does, says nothing by itself.
func clientEnv(environ []string, l *claude.Launch, needed []string) []string {
	kept := func(name, value string) bool {
		if slices.Contains(needed, name) || !secret.IsSecretName(name) {
			return true
		}
		_, err := os.Lstat(value)
		return err == nil
	}
	var secrets []string
	for _, entry := range slices.Concat(environ, l.Env) {
		if name, value, _ := strings.Cut(entry, "="); !kept(name, value) && len(value) >= leastSecret {
			secrets = append(secrets, value)
		}
	}
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, value, _ := strings.Cut(entry, "=")
		return !kept(name, value) || !slices.Contains(needed, name) && slices.ContainsFunc(secrets, func(s string) bool { return strings.Contains(value, s) })
	})
}
