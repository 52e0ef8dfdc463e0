package main

import (
	"flag"
	"fmt"
	"html"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/claude-agent-go/claude/internal/test/browser"
)

var update = flag.Bool("update", false, "write docs/terminal.png")

// sequences are the escape sequences that colour text.
var sequences = regexp.MustCompile("\x1b\\[([0-9;]*)m")

// The demo fits its window: no line is longer, and no word is cut. The answer is
// shown as it comes, and the terminal wraps it.
func TestTerminalDemoWraps(t *testing.T) {
	t.Parallel()
	const columns = 62
	w := newWindow(t)
	w.resize(columns)
	w.start(nil, "demo")
	code, shown := w.exit()
	if code != 0 {
		t.Fatalf("exit code %d, want 0; shown %q", code, shown)
	}
	for line := range strings.Lines(sequences.ReplaceAllString(shown, "")) {
		line = strings.TrimRight(line, "\r\n")
		if streamed := strings.Contains(line, "A bolt is"); !streamed && utf8.RuneCountInString(line) > columns {
			t.Errorf("%q has %d columns, want at most %d", line, utf8.RuneCountInString(line), columns)
		}
	}
	if want := "inside this\r\n            program. No account"; !strings.Contains(shown, want) {
		t.Errorf("shown %q, want %q", shown, want)
	}
}

// The picture in the documents is a terminal with the demo in it, drawn by a
// browser. With -update it is made again.
func TestTerminalPicture(t *testing.T) {
	t.Parallel()
	w := newWindow(t)
	w.resize(106)
	w.start([]string{"TMPDIR=/tmp"}, "demo", "--ask")
	w.see(question)
	w.enter("y\n")
	code, shown := w.exit()
	if code != 0 {
		t.Fatalf("exit code %d, want 0; shown %q", code, shown)
	}
	path := filepath.Join(t.TempDir(), "terminal.html")
	if err := os.WriteFile(path, []byte(drawing("$ claudectl demo --ask\n"+shown)), 0o600); err != nil {
		t.Fatal(err)
	}
	b := browser.Open(t)
	b.Resize(930, 800, "dark")
	b.Load(t, (&url.URL{Scheme: "file", Path: path}).String())
	b.Want(t, `document.querySelectorAll("span.c32").length > 2`, true) // there are colours
	height, ok := b.Eval(t, `Math.ceil(document.querySelector("pre").getBoundingClientRect().bottom)`).(float64)
	if !ok || height < 200 {
		t.Fatalf("the terminal is %v pixels high, want a screen", height)
	}
	if *update {
		b.Resize(930, int(height), "dark")
		b.Screenshot(t, "../../docs/terminal.png")
	}
}

// drawing is a page that shows what a terminal was told, with its colours.
func drawing(shown string) string {
	var text strings.Builder
	at, open := 0, 0
	for _, m := range sequences.FindAllStringSubmatchIndex(shown, -1) {
		text.WriteString(html.EscapeString(shown[at:m[0]]))
		at = m[1]
		for code := range strings.SplitSeq(shown[m[2]:m[3]], ";") {
			if code == "" || code == "0" {
				text.WriteString(strings.Repeat("</span>", open))
				open = 0
				continue
			}
			fmt.Fprintf(&text, `<span class="c%s">`, code)
			open++
		}
	}
	text.WriteString(html.EscapeString(shown[at:]))
	return `<!doctype html><meta charset="utf-8"><title>terminal</title><style>
body { margin: 0; background: #16181d }
pre { margin: 0; padding: 18px 22px; font: 14px/1.45 "DejaVu Sans Mono", monospace; color: #d7dae0; white-space: pre-wrap }
.c1 { font-weight: bold; color: #fff } .c2 { color: #8b919c } .c31 { color: #ff8078 } .c32 { color: #7fd48a } .c33 { color: #e6c36a } .c36 { color: #6fc7d8 }
</style><pre>` + strings.ReplaceAll(text.String(), "\r", "") + `</pre>`
}
