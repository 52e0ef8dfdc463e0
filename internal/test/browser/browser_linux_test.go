package browser_test

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/browser"
)

// policy forbids scripts and connections, as our pages do.
const policy = `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">`

func page(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// The harness sees what is wrong with a page, even where the page forbids
// scripts, and finds nothing wrong with a good one.
func TestBrowser(t *testing.T) {
	b := browser.Open(t)
	const head = `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">` + policy + `<title>A page</title></head><body><main><h1>A page</h1>`
	t.Run("good", func(t *testing.T) {
		b.Load(t, page(t, head+`<p>Fine. <a href="#x">A link</a></p></main></body></html>`))
		if got := b.Violations(t); len(got) > 0 {
			t.Errorf("a good page has %q", got)
		}
		b.NoComplaints(t)
	})
	t.Run("bad", func(t *testing.T) {
		b.Load(t, page(t, head+`<p style="color: #ccc; background: #fff">Pale.</p>
			<svg role="img" aria-label="A picture"><a href="#x" tabindex="0"><text y="20">link</text></a></svg>
			<button></button>
			<p style="font-size: 8px; line-height: 8px"><button style="font: inherit; padding: 0; border: 0">a</button><button style="font: inherit; padding: 0; border: 0">b</button></p>
			<script>window.acted = true</script></main></body></html>`))
		got := b.Violations(t)
		for _, want := range []string{"color-contrast", "nested-interactive", "button-name", "target-size"} {
			if !slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, want+" ") }) {
				t.Errorf("%s was not found; found were %q", want, got)
			}
		}
		b.Want(t, `typeof window.acted`, "undefined")
		if len(b.Complaints()) == 0 {
			t.Error("the browser should complain of the script that the policy forbids")
		}
	})
}
