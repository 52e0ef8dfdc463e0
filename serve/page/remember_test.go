package page

import "testing"

// Rules are described in words, but only if these are certain.
func TestRuleWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Edit(//srv/shop/price.go)":  "edit price.go",
		"Edit(//srv/other/price.go)": "edit /srv/other/price.go",
		"Read(//srv/shop/a/b.txt)":   "read a/b.txt",
		"Edit(//srv/shop/**)":        "",
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
