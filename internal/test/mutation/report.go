package main

import (
	"bufio"
	_ "embed"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// page is where the table goes.
const page = "docs/mutation.md"

// wanted is the share of mutants that the tests must catch.
const wanted = 0.9

// verdict is a person's verdict on a mutant that no test catches.
type verdict struct {
	equivalent bool // it changes nothing that anyone could see, so it does not count
	reason     string
}

// accepted are the mutants that someone has looked at, by package and key.
type accepted map[string]map[string]*verdict

//go:embed accepted.txt
var acceptedText string

// readAccepted reads accepted.txt; its head describes the form of a line.
func readAccepted() (accepted, error) {
	out := make(accepted)
	for lines := bufio.NewScanner(strings.NewReader(acceptedText)); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		part := strings.Split(line, " | ")
		if len(part) != 4 || part[2] != "equivalent" && part[2] != "untested" {
			return nil, fmt.Errorf("accepted.txt: %q is not of the form: package | mutant | equivalent or untested | reason", line)
		}
		if out[part[0]] == nil {
			out[part[0]] = make(map[string]*verdict)
		}
		out[part[0]][part[1]] = &verdict{part[2] == "equivalent", part[3]}
	}
	return out, nil
}

// finding holds the results of one package.
type finding struct {
	target
	total    int
	tried    []*trial
	accepted map[string]*verdict
	broken   []string // tests that fail without a mutant
	began    time.Time
	took     time.Duration
}

// survivors are the mutants that no test caught and that change something.
func (f *finding) survivors() []*trial {
	var out []*trial
	for _, t := range f.tried {
		if t.by == "" && !t.harmless() {
			out = append(out, t)
		}
	}
	return out
}

func (t *trial) harmless() bool { return t.verdict != nil && t.equivalent }

// equivalent counts the mutants that change nothing.
func (f *finding) equivalent() int {
	n := 0
	for _, t := range f.tried {
		if t.harmless() {
			n++
		}
	}
	return n
}

// rate is the share of the tried mutants that were caught, of those that change
// something.
func (f *finding) rate() float64 {
	n := len(f.tried) - f.equivalent()
	if n == 0 {
		return 1
	}
	return 1 - float64(len(f.survivors()))/float64(n)
}

func (f *finding) summary() string {
	s := fmt.Sprintf("%s: %d mutants, %d tried, %d equivalent, %d survived, %.1f %% caught, in %v",
		f.pkg, f.total, len(f.tried), f.equivalent(), len(f.survivors()), 100*f.rate(), f.took.Round(time.Second))
	if len(f.broken) > 0 {
		s += "; left out, because they fail without a mutant: " + strings.Join(f.broken, ", ")
	}
	return s
}

func short(m *mutant) string { return filepath.Base(m.file.path) }

func unreached(t *trial) string {
	if t.reached || t.verdict != nil {
		return ""
	}
	return " (no test reaches it)"
}

const intro = `# Mutation testing

The command ` + "`go run ./internal/test/mutation -write`" + ` wrote this page. It changes the code in small ways, one at a time, and runs the tests that reach the change. A change that no test notices has survived. Tests with the real CLI do not take part.

Of a large package a sample is tried, with mutants of every function. The share that is caught leaves out equivalent mutants: those that change nothing anyone could see. Each of them was looked at, and is listed below with the reason.

A run takes hours, so each package is measured by itself, on the day in the last column. Its row is about the code of that day.

| package | mutants | tried | equivalent | survived | caught | measured |
|---|---|---|---|---|---|---|
`

// row is the line of a package in the table.
func (f *finding) row() string {
	return fmt.Sprintf("| `%s` | %d | %d | %d | %d | %.1f %% | %s |\n",
		f.pkg, f.total, len(f.tried), f.equivalent(), len(f.survivors()), 100*f.rate(), f.began.Format(time.DateOnly))
}

// section lists what survived in a package.
func (f *finding) section() string {
	var b strings.Builder
	list := func(head string, equivalent bool) {
		n := 0
		for _, t := range f.tried {
			if t.by != "" || t.harmless() != equivalent {
				continue
			}
			if n++; n == 1 {
				b.WriteString("\n" + head + "\n\n")
			}
			fmt.Fprintf(&b, "- %s, %s: `%s`", t.fn, t.kind, strings.ReplaceAll(t.text, "`", "'"))
			if t.verdict != nil {
				b.WriteString(": " + t.reason)
			}
			b.WriteString(unreached(t) + "\n")
		}
	}
	list("Survived:", false)
	list("Equivalent:", true)
	if b.Len() == 0 {
		return "\nNothing survived.\n"
	}
	return b.String()
}

// render makes the page. It keeps the old results of packages that were not tried
// this time.
func render(all []*finding, old string) string {
	rows, sections := make(map[string]string), make(map[string]string)
	head, rest, _ := strings.Cut(old, "\n## ")
	for line := range strings.Lines(head) {
		if name, _, ok := strings.Cut(strings.TrimPrefix(line, "| `"), "` |"); ok {
			rows[name] = line
		}
	}
	for part := range strings.SplitSeq(rest, "\n## ") {
		title, text, _ := strings.Cut(part, "\n")
		sections[strings.Trim(title, "`")] = strings.TrimRight(text, "\n") + "\n"
	}
	for _, f := range all {
		rows[f.pkg], sections[f.pkg] = f.row(), f.section()
	}
	table, text := intro, ""
	for _, t := range targets() {
		if rows[t.pkg] != "" {
			table += rows[t.pkg]
			text += "\n## `" + t.pkg + "`\n" + sections[t.pkg]
		}
	}
	return table + text
}
