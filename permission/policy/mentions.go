package policy

import (
	"strings"
	"unicode"

	"github.com/claude-agent-go/claude/permission"
)

// promptMembers returns the members of a tool's input that the CLI reads like a
// prompt. Unless the session takes prompts literally, a file after an @ there is
// shown to the model, and no gate is asked about it. In the prompts of
// subagents, of workflows and of scheduled work, the CLI 2.1.325 reads no
// mentions.
func promptMembers(tool string) []string {
	switch tool {
	case "Skill":
		return []string{"skill", "args"}
	case "SlashCommand":
		return []string{"command"}
	}
	return nil
}

// mentioned lists the paths after an @ in the parts of a call that become a
// prompt.
func mentioned(req *permission.Request) ([]string, error) {
	members := promptMembers(req.ToolName)
	if members == nil {
		return nil, nil
	}
	var in map[string]any
	if err := decode(req, &in); err != nil {
		return nil, err
	}
	var paths []string
	for _, member := range members {
		if text, ok := in[member].(string); ok {
			paths = append(paths, mentions(text)...)
		}
	}
	return paths, nil
}

// mentions returns the paths after each @ of a text, in every way in which they
// may end. An @ behind a letter or a digit is part of an address.
func mentions(text string) []string {
	var paths []string
	last := ' '
	for i, r := range text {
		before := last
		last = r
		if r != '@' || before < 0x80 && (isLetter(byte(before)) || before == '_') {
			continue
		}
		rest := text[i+1:]
		if quoted, ok := strings.CutPrefix(rest, `"`); ok {
			path, _, _ := strings.Cut(quoted, `"`)
			paths = append(paths, path)
			continue
		}
		if end := strings.IndexFunc(rest, func(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' }); end >= 0 {
			rest = rest[:end]
		}
		bare, _, _ := strings.Cut(rest, "#")
		for _, path := range []string{rest, bare, strings.TrimRight(bare, ".,;:!?)]}>'\"`")} {
			if path != "" {
				paths = append(paths, path)
			}
		}
	}
	return paths
}
