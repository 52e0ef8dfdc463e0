package markdown

import (
	"html/template"
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	extended "github.com/yuin/goldmark/extension/ast"

	"github.com/claude-agent-go/claude/internal/colour"
)

// writer writes the nodes of a document. A node of a kind that it does not know
// is written as its content.
type writer struct {
	source []byte
	out    strings.Builder
	depth  int
	inLink bool // links do not stand in links
}

func (w *writer) children(n ast.Node) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		w.node(c)
	}
}

// wrap writes an element with the content of a node. Below the deepest level
// only the text of elements is written.
func (w *writer) wrap(tag, attributes string, n ast.Node) {
	if w.depth++; w.depth > maxDepth {
		w.children(n)
	} else {
		w.out.WriteString("<" + tag + attributes + ">")
		w.children(n)
		w.out.WriteString("</" + tag + ">")
	}
	w.depth--
}

func (w *writer) node(n ast.Node) {
	switch n := n.(type) {
	case *ast.Paragraph:
		w.wrap("p", "", n)
	case *ast.Heading:
		w.wrap("p", ` class="heading"`, n)
	case *ast.ThematicBreak:
		w.out.WriteString("<hr/>")
	case *ast.Blockquote:
		w.wrap("blockquote", "", n)
	case *ast.List:
		w.list(n)
	case *ast.ListItem:
		w.wrap("li", "", n)
	case *ast.TextBlock:
		w.children(n)
		if n.NextSibling() != nil {
			w.out.WriteString("<br/>")
		}
	case *ast.CodeBlock, *ast.FencedCodeBlock, *ast.HTMLBlock:
		w.lines(n)
	case *extended.Table, *extended.TableHeader, *extended.TableRow, *extended.TableCell:
		w.table(n)
	default:
		w.inline(n)
	}
}

func (w *writer) inline(n ast.Node) {
	switch n := n.(type) {
	case *ast.Text:
		w.words(n)
	case *ast.String:
		w.text(unescaped(string(n.Value)))
	case *ast.CodeSpan:
		w.code(n)
	case *ast.Emphasis:
		w.wrap([]string{"em", "strong"}[min(n.Level, 2)-1], "", n)
	case *extended.Strikethrough:
		w.wrap("del", "", n)
	case *extended.TaskCheckBox:
		w.text(map[bool]string{true: "☑ ", false: "☐ "}[n.IsChecked])
	case *ast.Link:
		w.link(unescaped(string(n.Destination)), n)
	case *ast.Image:
		w.link(unescaped(string(n.Destination)), n)
	case *ast.AutoLink:
		w.autoLink(n)
	case *ast.RawHTML:
		for i := range n.Segments.Len() {
			segment := n.Segments.At(i)
			w.text(string(segment.Value(w.source)))
		}
	default:
		w.children(n)
	}
}

// text writes a text as such.
func (w *writer) text(s string) { w.out.WriteString(template.HTMLEscapeString(s)) }

// words writes a run of text and the break behind it. Models break lines where
// they want a new line.
func (w *writer) words(n *ast.Text) {
	s := string(n.Segment.Value(w.source))
	if !n.IsRaw() {
		s = unescaped(s)
	}
	w.text(s)
	if n.SoftLineBreak() || n.HardLineBreak() {
		w.out.WriteString("<br/>")
	}
}

func (w *writer) list(n *ast.List) {
	switch {
	case !n.IsOrdered():
		w.wrap("ul", "", n)
	case n.Start == 1:
		w.wrap("ol", "", n)
	default:
		w.wrap("ol", ` start="`+strconv.Itoa(n.Start)+`"`, n)
	}
}

// lines writes a block of code, in the colours of the language that it names, and HTML
// as if it was one.
func (w *writer) lines(n ast.Node) {
	var code strings.Builder
	for i := range n.Lines().Len() {
		segment := n.Lines().At(i)
		code.Write(segment.Value(w.source))
	}
	var language *colour.Language
	switch n := n.(type) {
	case *ast.FencedCodeBlock:
		language = colour.ByName(string(n.Language(w.source)))
	case *ast.HTMLBlock:
		if n.HasClosure() {
			code.Write(n.ClosureLine.Value(w.source))
		}
	}
	w.out.WriteString(`<pre tabindex="0">` + language.HTML(code.String()) + "</pre>")
}

func (w *writer) code(n *ast.CodeSpan) {
	w.out.WriteString("<code>")
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			w.text(strings.ReplaceAll(string(c.Segment.Value(w.source)), "\n", " "))
		case *ast.String:
			w.text(string(c.Value))
		}
	}
	w.out.WriteString("</code>")
}

// table writes a table, or a part of one. Alignment is a class: our pages allow
// no styles.
func (w *writer) table(n ast.Node) {
	switch n := n.(type) {
	case *extended.Table:
		w.out.WriteString("<table>")
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			w.node(c)
		}
		if n.ChildCount() > 1 {
			w.out.WriteString("</tbody>")
		}
		w.out.WriteString("</table>")
	case *extended.TableHeader:
		w.out.WriteString("<thead><tr>")
		w.cells(n, "th")
		w.out.WriteString("</tr></thead>")
		if n.NextSibling() != nil {
			w.out.WriteString("<tbody>")
		}
	case *extended.TableRow:
		w.out.WriteString("<tr>")
		w.cells(n, "td")
		w.out.WriteString("</tr>")
	}
}

func (w *writer) cells(row ast.Node, tag string) {
	classes := map[extended.Alignment]string{extended.AlignRight: ` class="right"`, extended.AlignCenter: ` class="center"`}
	for c := row.FirstChild(); c != nil; c = c.NextSibling() {
		class := ""
		if cell, ok := c.(*extended.TableCell); ok {
			class = classes[cell.Alignment]
		}
		w.out.WriteString("<" + tag + class + ">")
		w.children(c)
		w.out.WriteString("</" + tag + ">")
	}
}
