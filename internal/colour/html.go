package colour

import (
	"html"
	"strings"
)

// maxColoured is how many bytes of a text are coloured. A piece takes some twenty bytes
// of markup, and a hostile text has a piece for each of its characters.
const maxColoured = 64 << 10

// HTML returns a text with its pieces in span elements that have a class. Without the
// elements it is the text. A text that is too large, or in no language, has none. The
// result is escaped; it is a string, so that programs without pages link no templates.
func (l *Language) HTML(text string) string {
	if l == nil || len(text) > maxColoured {
		return escape(text)
	}
	var out strings.Builder
	var state State
	for line := range strings.Lines(text) {
		var pieces []Piece
		code, ended := strings.CutSuffix(line, "\n")
		if pieces, state = l.Line(code, state); len(pieces) > 0 {
			write(&out, pieces)
		}
		if ended {
			out.WriteByte('\n')
		}
	}
	return out.String()
}

// write writes pieces as HTML.
func write(out *strings.Builder, pieces []Piece) {
	for _, p := range pieces {
		if p.Class == Plain {
			out.WriteString(escape(p.Text))
			continue
		}
		out.WriteString(`<span class="` + string(p.Class) + `">` + escape(p.Text) + `</span>`)
	}
}

// escape makes a text part of a page. No page can hold a zero byte.
func escape(text string) string {
	return html.EscapeString(strings.ReplaceAll(text, "\x00", "\uFFFD"))
}

// Cut divides pieces at a number of bytes.
func Cut(pieces []Piece, n int) (head, tail []Piece) {
	for i, p := range pieces {
		if n < len(p.Text) {
			tail = append([]Piece{{p.Text[n:], p.Class}}, pieces[i+1:]...)
			if n > 0 {
				head = append(head, Piece{p.Text[:n], p.Class})
			}
			return head, tail
		}
		head = append(head, p)
		n -= len(p.Text)
	}
	return head, nil
}
