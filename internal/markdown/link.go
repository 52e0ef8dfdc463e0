package markdown

import (
	"html"
	"html/template"
	"net/url"
	"strings"

	"github.com/yuin/goldmark/ast"

	"github.com/claude-agent-go/claude/internal/terminal"
)

// rel keeps the other side from learning where its visitor comes from, and from
// reaching back.
const rel = ` rel="noopener noreferrer nofollow" target="_blank"`

// link writes a link with the content of a node as its text.
func (w *writer) link(address string, n ast.Node) {
	if w.inLink {
		w.children(n)
		return
	}
	w.inLink = true
	defer func() { w.inLink = false }()
	to, ok := safeAddress(address)
	if !ok { // nothing to click on; a person can still read it
		w.children(n)
		w.out.WriteString(" (<code>")
		w.text(terminal.Line(address))
		w.out.WriteString("</code>)")
		return
	}
	from := w.out.Len()
	w.out.WriteString(`<a href="` + template.HTMLEscapeString(to.String()) + `"` + rel + `>`)
	before := w.out.Len()
	w.children(n)
	label := w.out.String()[before:]
	if strings.TrimSpace(label) == "" {
		w.text(terminal.Line(to.String()))
	}
	w.out.WriteString("</a>")
	if host := hostOf(to); !strings.Contains(label, template.HTMLEscapeString(host)) && w.out.Len() > from && strings.TrimSpace(label) != "" {
		w.out.WriteString(` <span class="host">(`)
		w.text(host)
		w.out.WriteString(")</span>")
	}
}

// autoLink writes an address that is in the text.
func (w *writer) autoLink(n *ast.AutoLink) {
	label := terminal.Line(string(n.Label(w.source)))
	address := string(n.URL(w.source))
	if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(address), "mailto:") {
		address = "mailto:" + address
	}
	to, ok := safeAddress(address)
	if w.inLink || !ok {
		w.text(label)
		return
	}
	w.out.WriteString(`<a href="` + template.HTMLEscapeString(to.String()) + `"` + rel + `>`)
	w.text(label)
	w.out.WriteString("</a>")
}

// safeAddress reads an address that a page may link to. Relative ones would
// lead into our own pages.
func safeAddress(address string) (*url.URL, bool) {
	to, err := url.Parse(address)
	if err != nil {
		return nil, false
	}
	switch to.Scheme { // in lower case
	case "http", "https":
		return to, to.Host != "" && to.User == nil
	case "mailto":
		return to, to.Opaque != ""
	}
	return nil, false
}

// hostOf names who a link leads to.
func hostOf(to *url.URL) string {
	if to.Scheme == "mailto" {
		address, err := url.PathUnescape(to.Opaque)
		if err != nil {
			address = to.Opaque
		}
		return terminal.Line(address)
	}
	return terminal.Line(to.Host)
}

// unescaped resolves backslashes before punctuation and references such as
// &amp;, in one pass, so that the one cannot make the other. Characters named
// by references are also made visible.
func unescaped(s string) string {
	if !strings.ContainsAny(s, `\&`) {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s) && isPunctuation(s[i+1]):
			i++
			out.WriteByte(s[i])
		case s[i] == '&':
			end := strings.IndexByte(s[i:min(len(s), i+maxReference)], ';')
			if end < 0 {
				out.WriteByte('&')
				continue
			}
			out.WriteString(terminal.Line(html.UnescapeString(s[i : i+end+1])))
			i += end
		default:
			out.WriteByte(s[i])
		}
	}
	return out.String()
}

// maxReference is more than the longest name of a character has bytes.
const maxReference = 40

func isPunctuation(c byte) bool {
	return c > ' ' && c < 0x7f && !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z')
}
