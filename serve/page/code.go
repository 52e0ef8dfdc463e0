package page

import (
	"html/template"
	"strings"

	"github.com/claude-agent-go/claude/internal/colour"
	"github.com/claude-agent-go/claude/internal/jsonx"
)

// codeOf returns the subject of a call, a command in the colours of a shell.
func codeOf(tool, subject string) template.HTML {
	var language *colour.Language
	if tool == "Bash" {
		language = colour.ByName("sh")
	}
	return coloured(language, subject)
}

// coloured returns a text in colours, nil: without. It is only escaped text and our own
// tags.
func coloured(language *colour.Language, text string) template.HTML {
	return template.HTML(language.HTML(text))
}

// colour sets the colours of a call: of its input, of its diff, and of a file that it
// has read.
func (r *toolRow) colour() {
	r.InputCode = coloured(colour.ByName("json"), r.Input)
	r.Diff.Colour(r.Path)
	var language *colour.Language
	if r.Name == "Read" && r.State == "ok" {
		language = colour.ByPath(jsonx.Text(jsonx.Member(r.input, "file_path")))
	}
	r.OutputCode = numbered(language, r.Output)
}

// numbered returns a file as the CLI shows it to the model, with a number in front of
// each line. The numbers are not part of the code.
func numbered(language *colour.Language, text string) template.HTML {
	if language == nil || numberOf(text) == 0 {
		return coloured(nil, text)
	}
	var code strings.Builder
	var numbers []string
	for line := range strings.Lines(text) {
		n := numberOf(line)
		numbers = append(numbers, line[:n])
		code.WriteString(line[n:])
	}
	var out strings.Builder
	i := 0
	for line := range strings.Lines(language.HTML(code.String())) {
		out.WriteString(template.HTMLEscapeString(numbers[i]) + line)
		i++
	}
	out.WriteString(strings.Join(numbers[i:], "")) // of a last line that is empty
	return template.HTML(out.String())             // of escaped parts
}

// numberOf returns the length of the number at the beginning of a line, with what is
// around it: "   12→" or "12\t". 0: there is none.
func numberOf(line string) int {
	rest := strings.TrimLeft(line, " ")
	after := strings.TrimLeft(rest, "0123456789")
	if len(after) == len(rest) {
		return 0
	}
	for _, end := range []string{"→", "\t"} {
		if strings.HasPrefix(after, end) {
			return len(line) - len(after) + len(end)
		}
	}
	return 0
}
