package sandbox

import (
	"slices"
	"strings"
)

// passed are the names of variables, or what they begin with if the last character is
// a "*", that a CLI elsewhere needs. What else this machine's environment has, such as
// the credentials of a cloud, stays outside.
var passed = []string{
	"ANTHROPIC_*", "CLAUDE_*", "CLAUDECODE", "DISABLE_*", "ENABLE_*", "IS_SANDBOX", "MAX_*", "MCP_*", "BASH_*_TIMEOUT_MS", "BASH_MAX_OUTPUT_LENGTH",
	"API_TIMEOUT_MS", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "NODE_EXTRA_CA_CERTS",
	"LANG", "LC_*", "TERM", "TZ", "NO_COLOR",
}

// Environment returns the entries of an environment that a form takes inside: the
// variables of the CLI, those for proxies and language, and those whose names are in
// more. HOME, PATH, TMPDIR and whatever else describes this machine stay outside.
func Environment(env []string, more ...string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return !slices.Contains(more, name) && !slices.ContainsFunc(passed, func(pattern string) bool { return matches(pattern, name) })
	})
}

// matches reports whether a name fits a pattern with at most one "*".
func matches(pattern, name string) bool {
	before, after, some := strings.Cut(pattern, "*")
	if !some {
		return name == pattern
	}
	return len(name) >= len(before)+len(after) && strings.HasPrefix(name, before) && strings.HasSuffix(name, after)
}

// value returns a variable, "" if it is not set. The last entry counts.
func value(env []string, name string) string {
	for _, entry := range slices.Backward(env) {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			return v
		}
	}
	return ""
}
