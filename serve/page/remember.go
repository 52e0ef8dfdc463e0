package page

import (
	"path/filepath"
	"strings"
)

// rule is a suggestion to remember, as written and in plain words.
type rule struct {
	Text  string
	Words string // what it allows; empty: its text is clearer
}

// ruleWords describes what a rule allows. If it does not understand a rule with
// certainty, it returns no words: a user must not allow more than they read.
func ruleWords(text, dir string) string {
	tool, of, bounded := strings.Cut(strings.TrimSuffix(text, ")"), "(")
	if bounded != strings.HasSuffix(text, ")") || tool == "" || bounded && of == "" {
		return ""
	}
	server, name, mcp := strings.Cut(strings.TrimPrefix(tool, "mcp__"), "__")
	switch verb := map[string]string{"Edit": "edit", "Write": "write", "Read": "read"}[tool]; {
	case bounded && verb != "" && strings.HasPrefix(of, "//") && !strings.ContainsAny(of, "*?[{"):
		return verb + " " + shortPath(dir, filepath.Clean(of[1:]))
	case bounded && tool == "Bash" && !strings.Contains(of, "*"):
		return "run exactly this command"
	case bounded && tool == "Bash" && strings.HasSuffix(of, ":*") && strings.Count(of, "*") == 1:
		return "run commands that begin with \u201c" + strings.TrimSuffix(of, ":*") + "\u201d"
	case bounded && tool == "WebFetch" && strings.HasPrefix(of, "domain:") && !strings.Contains(of, "*"):
		return "read pages of " + strings.TrimPrefix(of, "domain:")
	case !bounded && strings.HasPrefix(tool, "mcp__") && mcp:
		return "use " + name + " of the MCP server " + server + ", with any input"
	case !bounded && !strings.HasPrefix(tool, "mcp__") && !strings.ContainsAny(tool, "*: "):
		return "use " + tool + " with any input"
	}
	return ""
}
