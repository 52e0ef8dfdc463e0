package secret

import (
	"slices"
	"strings"
)

// SentinelMark is in every sentinel of package egress: at its beginning, or after the
// prefix of the key that it stands for.
const SentinelMark = "egress-"

// signIn are the variables by which the CLI signs in.
var signIn = [...]string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"}

// HasSentinel reports whether a CLI with this environment signs in with a sentinel of
// package egress: then it needs no other credential, and should see none.
func HasSentinel(env []string) bool {
	return slices.ContainsFunc(env, func(entry string) bool {
		name, value, _ := strings.Cut(entry, "=")
		before, _, marked := strings.Cut(value, SentinelMark)
		return marked && (before == "" || strings.HasPrefix(before, "sk-ant-")) && slices.Contains(signIn[:], strings.ToUpper(name))
	})
}
