package inspect

import (
	"html/template"
	"regexp"
	"strings"
)

// markdown renders what models write: paragraphs, headings, lists, quotes, rules,
// tables and code. Whatever it does not know stays as it was written.
//
// The text is somebody else's. Every piece of it is escaped, the tags come from
// here alone and have no attributes but fixed classes, and there are no links,
// images or raw HTML: of a link the address is shown.
func markdown(text string) template.HTML {
	m := &markdownWriter{lines: strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")}
	for m.at < len(m.lines) {
		m.block()
	}
	return template.HTML(m.out.String()) // only escaped text and our own tags
}

type markdownWriter struct {
	lines []string
	at    int
	out   strings.Builder
}

var (
	markdownHeading = regexp.MustCompile(`^ {0,3}#{1,6}\s+(.*?)\s*#*\s*$`)
	markdownRule    = regexp.MustCompile(`^ {0,3}([-*_])( *[-*_]){2,}\s*$`)
	markdownItem    = regexp.MustCompile(`^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$`)
	markdownQuote   = regexp.MustCompile(`^ {0,3}> ?(.*)$`)
	markdownFence   = regexp.MustCompile("^ {0,3}(```+|~~~+)\\s*[\\w+#.-]*\\s*$")
	markdownDashes  = regexp.MustCompile(`^\s*\|?(\s*:?-+:?\s*\|)+\s*(:?-+:?\s*)?$`)
)

// block writes the block that begins at the current line.
func (m *markdownWriter) block() {
	line := m.lines[m.at]
	switch {
	case strings.TrimSpace(line) == "":
		m.at++
	case markdownFence.MatchString(line):
		m.fence(markdownFence.FindStringSubmatch(line)[1])
	case markdownHeading.MatchString(line):
		m.tag("p class=\"heading\"", "p", inline(markdownHeading.FindStringSubmatch(line)[1]))
		m.at++
	case markdownRule.MatchString(line):
		m.out.WriteString("<hr>")
		m.at++
	case markdownQuote.MatchString(line):
		m.run("blockquote", func(line string) (string, bool) {
			found := markdownQuote.FindStringSubmatch(line)
			if found == nil {
				return "", false
			}
			return inline(found[1]) + "<br>", true
		})
	case markdownItem.MatchString(line):
		m.list()
	case m.at+1 < len(m.lines) && strings.Contains(line, "|") && markdownDashes.MatchString(m.lines[m.at+1]):
		m.table()
	default:
		m.paragraph()
	}
}

// tag writes an element whose content is safe.
func (m *markdownWriter) tag(open, name, content string) {
	m.out.WriteString("<" + open + ">" + content + "</" + name + ">")
}

// run writes an element around the lines that piece takes.
func (m *markdownWriter) run(name string, piece func(line string) (string, bool)) {
	m.out.WriteString("<" + name + ">")
	for ; m.at < len(m.lines); m.at++ {
		text, ok := piece(m.lines[m.at])
		if !ok {
			break
		}
		m.out.WriteString(text)
	}
	m.out.WriteString("</" + name + ">")
}

// fence writes code, up to its end or that of the text.
func (m *markdownWriter) fence(mark string) {
	var code []string
	for m.at++; m.at < len(m.lines); m.at++ {
		if strings.HasPrefix(strings.TrimSpace(m.lines[m.at]), mark) {
			m.at++
			break
		}
		code = append(code, m.lines[m.at])
	}
	m.tag(`pre tabindex="0"`, "pre", template.HTMLEscapeString(strings.Join(code, "\n")))
}

// list writes items that follow each other. What stands further in is indented,
// up to three levels.
func (m *markdownWriter) list() {
	name := "ul"
	if c := strings.TrimSpace(m.lines[m.at])[0]; c >= '0' && c <= '9' {
		name = "ol"
	}
	m.run(name, func(line string) (string, bool) {
		found := markdownItem.FindStringSubmatch(line)
		if found == nil {
			return "", false
		}
		depth := min(len(strings.ReplaceAll(found[1], "\t", "    "))/2, 3)
		return `<li class="in` + number(depth) + `">` + inline(found[3]) + "</li>", true
	})
}

// table writes a table with its head.
func (m *markdownWriter) table() {
	m.out.WriteString("<table><thead>" + tableRow(m.lines[m.at], "th") + "</thead>")
	m.at += 2
	m.run("tbody", func(line string) (string, bool) {
		return tableRow(line, "td"), strings.Contains(line, "|")
	})
	m.out.WriteString("</table>")
}

func tableRow(line, cell string) string {
	var b strings.Builder
	b.WriteString("<tr>")
	for text := range strings.SplitSeq(strings.Trim(strings.TrimSpace(line), "|"), "|") {
		b.WriteString("<" + cell + ">" + inline(strings.TrimSpace(text)) + "</" + cell + ">")
	}
	b.WriteString("</tr>")
	return b.String()
}

// paragraph writes lines up to a blank one or another block.
func (m *markdownWriter) paragraph() {
	first := m.at
	var lines []string
	for ; m.at < len(m.lines); m.at++ {
		line := m.lines[m.at]
		if strings.TrimSpace(line) == "" || m.at > first && (markdownFence.MatchString(line) || markdownHeading.MatchString(line) || markdownItem.MatchString(line) || markdownQuote.MatchString(line)) {
			break
		}
		lines = append(lines, inline(line))
	}
	m.tag("p", "p", strings.Join(lines, "<br>"))
}

// inlineForms are what can stand in a line, in the order of their right of way.
var inlineForms = regexp.MustCompile("(`+)(.+?)`+" + `|\*\*([^*]+?)\*\*|\B\*([^*\s][^*]*?)\*\B|!?\[([^\]]*)\]\(([^)\s]+)[^)]*\)`)

// inline renders code, emphasis and links of a line.
func inline(text string) string {
	var b strings.Builder
	at := 0
	for _, found := range inlineForms.FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(template.HTMLEscapeString(text[at:found[0]]))
		part := func(n int) string {
			if found[2*n] < 0 {
				return ""
			}
			return template.HTMLEscapeString(text[found[2*n]:found[2*n+1]])
		}
		switch {
		case found[4] >= 0:
			b.WriteString("<code>" + part(2) + "</code>")
		case found[6] >= 0:
			b.WriteString("<strong>" + part(3) + "</strong>")
		case found[8] >= 0:
			b.WriteString("<em>" + part(4) + "</em>")
		default:
			b.WriteString(part(5) + " (<code>" + part(6) + "</code>)")
		}
		at = found[1]
	}
	b.WriteString(template.HTMLEscapeString(text[at:]))
	return b.String()
}
