package page

import (
	"testing"

	"github.com/claude-agent-go/claude/serve/api"
)

// The button with a number carries the suggestion with that number, in whatever order
// those that have words come: a user must not allow more than they read.
func TestRulesKeepTheirNumbers(t *testing.T) {
	t.Parallel()
	plain, unclear, other := "Edit(//srv/shop/price.go)", "Bash(git * push)", "Read(//srv/shop/a.txt)"
	for _, suggestions := range [][]string{
		{plain, unclear, other}, {plain, other, unclear}, {unclear, plain, other}, {unclear, other, plain}, {other, plain, unclear}, {other, unclear, plain},
	} {
		c := newCard(&api.Approval{Kind: api.KindTool, Tool: "Bash", Dir: "/srv/shop", Input: []byte(`{}`), Suggestions: suggestions}, api.User{Role: api.RoleAdmin}, "", "/")
		if len(c.Rules) != len(suggestions) {
			t.Fatalf("%q: %+v", suggestions, c.Rules)
		}
		for i, text := range suggestions {
			if c.Rules[i].Text != text || c.Rules[i].Words != ruleWords(text, "/srv/shop") || (c.Rules[i].Words == "") != (text == unclear) {
				t.Errorf("button %d has %+v, the suggestion is %q", i, c.Rules[i], text)
			}
		}
	}
}

// Rules are described in words, but only if these are certain.
func TestRuleWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Edit(//srv/shop/price.go)":  "edit price.go",
		"Edit(//srv/other/price.go)": "edit /srv/other/price.go",
		"Read(//srv/shop/a/b.txt)":   "read a/b.txt",
		"Edit(//srv/shop/**)":        "",
		"Edit(//srv/shop/pric?.go)":  "",
		"Edit(//srv/shop/[a-z].go)":  "",
		"Read(//srv/shop/{a,b}.txt)": "",
		"Write(//srv/shop/a.txt)":    "write a.txt",
		"Edit(/price.go)":            "", // below the settings, wherever they are
		"Edit(~/price.go)":           "",
		"Bash(go test ./...)":        "run exactly this command",
		"Bash(go test:*)":            "run commands that begin with \u201cgo test\u201d",
		"Bash(go * test)":            "",
		"Bash(a*:*)":                 "",
		"WebFetch(domain:go.dev)":    "read pages of go.dev",
		"WebFetch(domain:*.go.dev)":  "",
		"mcp__shop__refund":          "use refund of the MCP server shop, with any input",
		"mcp__shop":                  "",
		"Bash":                       "use Bash with any input",
		"Bash(":                      "",
		"Bash()":                     "",
		"Bash)":                      "",
		"(x)":                        "",
		"":                           "",
		"Agent(reviewer)":            "",
	} {
		if got := ruleWords(text, "/srv/shop"); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
