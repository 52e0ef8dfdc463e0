package markdown

import (
	"fmt"
	"html/template"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"github.com/claude-agent-go/claude/internal/terminal"
)

// The limits of rendering. The time to parse a hostile text grows with the square
// of the longest run of lines without a blank one between them, so a text with a
// very long run is shown as it was written.
const (
	maxParsed = 64 << 10
	maxRun    = 10 << 10
	maxShown  = 1 << 20
	maxDepth  = 32 // of lists and quotes in each other
)

// HTML renders a text. Whatever the text is, the result is well-formed and has
// only these elements:
//
//   - p, br, hr, ul, ol (start), li, blockquote, table, thead, tbody, tr, th, td,
//     pre (tabindex), code, em, strong, del, span, with fixed classes, those of
//     package colour among them;
//   - a with href to an absolute http, https or mailto address, and with rel. A
//     link whose text does not name its host is followed by the host's name, so
//     that readers see where it leads. The address of any other link is shown.
//
// Headings are paragraphs, because the page around has its own. Raw HTML is
// text. Images are links: a picture from elsewhere would send its address, and
// any secret in it, to its owner. Characters that are invisible or reorder others
// are shown as escapes.
func HTML(markdown string) template.HTML {
	if len(markdown) > maxParsed || longestRun(markdown) > maxRun {
		return plain(markdown)
	}
	source := []byte(terminal.Clean(markdown))
	w := &writer{source: source}
	w.children(shared().Parse(text.NewReader(source)))
	return template.HTML(w.out.String()) // only escaped text and our own tags
}

// shared returns the parser, which any number of texts may use at once: to make one costs
// more than most texts do.
var shared = sync.OnceValue(func() parser.Parser {
	return goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.Linkify, extension.TaskList)).Parser()
})

// longestRun returns the length of the longest run of lines that are not blank.
func longestRun(text string) int {
	longest, run := 0, 0
	for line := range strings.Lines(text) {
		if run += len(line); strings.TrimSpace(line) == "" {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}

// plain shows a text as it was written.
func plain(markdown string) template.HTML {
	shown, rest := markdown, ""
	if len(markdown) > maxShown {
		cut := maxShown
		for cut > 0 && !utf8.RuneStart(markdown[cut]) {
			cut--
		}
		shown, rest = markdown[:cut], fmt.Sprintf("<p>… %d more bytes are not shown</p>", len(markdown)-cut)
	}
	return template.HTML(`<pre tabindex="0">` + template.HTMLEscapeString(terminal.Clean(shown)) + `</pre>` + rest)
}
