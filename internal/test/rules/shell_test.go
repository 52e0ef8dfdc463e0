package rules

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// shellLine is a line of shell that a document shows, or that a workflow runs. One that
// is continued on the next lines has them too.
type shellLine struct {
	file string
	n    int
	text string
}

func (l shellLine) at() string { return fmt.Sprintf("%s:%d", l.file, l.n) }

// shellLines are all lines of shell, but those of the changelog, which also has commands
// of the past.
func (m *module) shellLines() (all []shellLine) {
	for _, name := range m.documents() {
		if text, err := fs.ReadFile(m.fsys, name); err == nil && name != "CHANGELOG.md" {
			all = append(all, blockLines(name, string(text))...)
		}
	}
	const workflows = ".github/workflows"
	entries, _ := fs.ReadDir(m.fsys, workflows)
	for _, e := range entries {
		name := path.Join(workflows, e.Name())
		if text, err := fs.ReadFile(m.fsys, name); err == nil {
			all = append(all, stepLines(name, string(text))...)
		}
	}
	return all
}

// blockLines are the lines in the blocks for a shell of a document.
func blockLines(name, text string) (all []shellLine) {
	n, fence, continued := 0, "", false
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```") && fence == "":
			fence = line
			continue
		case strings.HasPrefix(line, "```"):
			fence = ""
		}
		if fence != "```sh" {
			continued = false
			continue
		}
		part, more := strings.CutSuffix(line, `\`)
		if continued {
			all[len(all)-1].text += part
		} else {
			all = append(all, shellLine{name, n, part})
		}
		continued = more
	}
	return all
}

var stepForm = regexp.MustCompile(`^( *)(- )?run: (.*)$`)

// stepLines are the lines that the steps of a workflow run.
func stepLines(name, text string) (all []shellLine) {
	n, within := 0, -1 // the indentation of the key whose block is read
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\n")
		indent := len(line) - len(strings.TrimLeft(line, " "))
		if form := stepForm.FindStringSubmatch(line); form != nil {
			if within = -1; strings.HasPrefix(form[3], "|") || strings.HasPrefix(form[3], ">") {
				within = len(form[1]) + len(form[2])
			} else {
				all = append(all, shellLine{name, n, form[3]})
			}
			continue
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		if within >= 0 && indent > within {
			all = append(all, shellLine{name, n, strings.TrimSpace(line)})
			continue
		}
		within = -1
	}
	return all
}
