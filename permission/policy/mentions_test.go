package policy_test

import (
	"path/filepath"
	"testing"

	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/permission/policy"
)

// What a call hands to the CLI as a prompt must not name files outside.
func TestConfineMentions(t *testing.T) {
	root := t.TempDir()
	link(t, "/etc", filepath.Join(root, "out"))
	for text, want := range map[string]permission.Behavior{
		"": "", "draw it": "", "see @in.txt": "", "see @" + root + "/in.txt": "", "see @sub/": "", "mail me@example.org": "", "see @agent-reviewer": "", `see @"in here"`: "", "@in.txt#L1-3 and @b.": "",
		"@/etc/passwd": "deny", "see @/etc/passwd.": "deny", "see @/etc/passwd#L1": "deny", "> @/etc/passwd": "deny", "(@/etc/passwd)": "deny", "see\u3000@/etc/passwd": "deny", "see\ufeff@/etc/passwd": "deny", "a\n@/etc/passwd": "deny",
		"see @~/x": "deny", "see @../x": "deny", "see @out/passwd": "deny", "see @out.": "deny", `see @"../x y"`: "deny", "see @in.txt @/etc/passwd": "deny", "see @./../../etc/passwd": "deny",
	} {
		for tool, member := range map[string]string{"Skill": "args", "SlashCommand": "command"} {
			req := request(tool, map[string]string{member: text})
			req.Cwd = root
			if got := decided(t, policy.Confine(root), req); got != want {
				t.Errorf("%s %q: %q, want %q", tool, text, got, want)
			}
		}
		if got := decided(t, policy.Confine(root), request("Agent", map[string]string{"prompt": text})); got != "" {
			t.Errorf("Agent %q: %q, want no opinion", text, got)
		}
	}
}
