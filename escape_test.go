package claude_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/claude-agent-go/claude"
)

func TestEscapePrompt(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "",
		"plain text, 1/2":                  "plain text, 1/2",
		"@/etc/passwd":                     `\@/etc/passwd`,
		"see @~/x and @.env":               `see \@~/x and \@.env`,
		"see @\"a b\"":                     `see \@"a b"`,
		"line\n@dir":                       "line\n\\@dir",
		"(@a) \"@b\" `@c`":                 "(\\@a) \"\\@b\" `\\@c`",
		"me@example.com, Ärger@example.de": "me@example.com, Ärger@example.de",
		"a@b@/c @@/d":                      `a@b@/c \@\@/d`,
		"@Override void run()":             `\@Override void run()`,
		"@server:file:///x @agent-spy":     `\@server:file:///x \@agent-spy`,
		"\u3002@a\u00a0@b\ufeff@c\u200b@d": "\u3002\\@a\u00a0\\@b\ufeff\\@c\u200b\\@d",
		"broken \xff@/etc/passwd":          "broken \xff\\@/etc/passwd",
		"/compact":                         `\/compact`,
		" \n\u200b/compact":                " \n\u200b\\/compact",
		"no /command here":                 "no /command here",
		`\@a \/b`:                          `\@a \/b`,
		"ends with @":                      `ends with \@`,
	} {
		got := claude.EscapePrompt(text)
		if got != want {
			t.Errorf("EscapePrompt(%q) = %q, want %q", text, got, want)
		}
		if again := claude.EscapePrompt(got); again != got {
			t.Errorf("escaped again: %q, once: %q", again, got)
		}
	}
}

// FuzzEscapePrompt wants nothing lost, nothing live, and a second time to
// change nothing.
func FuzzEscapePrompt(f *testing.F) {
	f.Add("@a /b \\@c me@d")
	f.Fuzz(func(t *testing.T, text string) {
		got := claude.EscapePrompt(text)
		if strings.ReplaceAll(got, `\`, "") != strings.ReplaceAll(text, `\`, "") || len(got) < len(text) {
			t.Errorf("%q became %q", text, got)
		}
		if claude.EscapePrompt(got) != got {
			t.Errorf("%q changes again", got)
		}
		if strings.HasPrefix(strings.TrimSpace(got), "/") {
			t.Errorf("%q is a command", got)
		}
		last := ' '
		for _, r := range got {
			if r == '@' && last != '\\' && !unicode.IsLetter(last) && !unicode.IsDigit(last) {
				t.Errorf("%q has a mention", got)
			}
			last = r
		}
	})
}
