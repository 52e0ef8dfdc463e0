package policy

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
	"testing/fstest"
)

func readmeRules() []rule {
	return []rule{{
		name:  "README",
		check: checkReadme,
		bad: fstest.MapFS{
			"README.md": source(
				"# Title",
				"```go", "for range 3 {", "\tf()", "}", "```",
				"```go", "for range 4 {", "\tf()", "}", "```",
				"```sh", "go build", "```"),
			"example_test.go": source("package claude_test", "func Example() {", "\tfor range 3 {", "\t\tf()", "\t}", "}"),
			"other_test.go":   source("package claude_test", "func g() {", "\tfor range 4 {", "\t\tf()", "\t}", "}"),
		},
		want: []string{`README.md:7: the block that begins "for range 4 {" is in no example`},
	}, {
		name:  "README has examples",
		check: checkReadme,
		bad:   fstest.MapFS{"README.md": source("# Title")},
		want:  []string{"README.md shows no Go"},
	}}
}

// checkReadme holds the README to what is compiled and run: each block of Go
// stands, but for its indentation, in an example of the root package.
func checkReadme(m *module) []string {
	text, err := fs.ReadFile(m.fsys, "README.md")
	if err != nil {
		return []string{err.Error()}
	}
	var examples []string
	for _, f := range m.tests() {
		if f.dir() == "." && strings.HasPrefix(path.Base(f.path), "example") {
			examples = append(examples, flat(string(f.src)))
		}
	}
	var complaints []string
	blocks := goBlocks(string(text))
	for _, b := range blocks {
		found := false
		for _, example := range examples {
			found = found || strings.Contains(example, flat(b.text))
		}
		if !found {
			first, _, _ := strings.Cut(b.text, "\n")
			complaints = append(complaints, fmt.Sprintf("README.md:%d: the block that begins %q is in no example", b.line, first))
		}
	}
	if len(blocks) == 0 {
		complaints = append(complaints, "README.md shows no Go")
	}
	return complaints
}

type block struct {
	line int // of its fence
	text string
}

func goBlocks(markdown string) []block {
	var blocks []block
	var open *block
	n := 0
	for line := range strings.Lines(markdown) {
		n++
		fence := strings.TrimSpace(line)
		switch {
		case open == nil && fence == "```go":
			open = &block{line: n}
		case open != nil && fence == "```":
			blocks = append(blocks, *open)
			open = nil
		case open != nil:
			open.text += line
		}
	}
	return blocks
}

// flat takes indentation and blank lines away, and marks where lines begin.
func flat(text string) string {
	var b strings.Builder
	b.WriteByte('\n')
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}
