package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	page, problems, err := write(".")
	if err == nil && len(problems) > 0 {
		err = errors.New(strings.Join(problems, "\n"))
	}
	if err == nil {
		err = os.WriteFile(filepath.Join("docs", "faults.md"), []byte(page), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// write makes the page of the ledger of the module at root, and finds what is
// wrong with it.
func write(root string) (page string, problems []string, err error) {
	all, err := read(root)
	if err != nil {
		return "", nil, err
	}
	known, err := readTests(os.DirFS(root))
	if err != nil {
		return "", nil, err
	}
	for _, c := range all {
		for _, e := range c.rows {
			for _, name := range e.tests {
				if wrong := known.missing(name); wrong != "" {
					problems = append(problems, e.id+": "+wrong)
				}
			}
			if len(e.tests) == 0 && e.note == "" {
				problems = append(problems, e.id+": neither a test nor a reason")
			}
		}
	}
	return render(all), problems, nil
}

// read reads the ledger of the module at root.
func read(root string) ([]chapter, error) {
	text, err := os.ReadFile(filepath.Join(root, "internal", "test", "faults", "ledger.txt"))
	if err != nil {
		return nil, err
	}
	return chapters(string(text))
}

// render writes the page.
func render(all []chapter) string {
	var b strings.Builder
	b.WriteString("# Faults\n\n" +
		"What can go wrong between a program and the CLI, and the tests that show what happens then. " +
		"`go run ./internal/test/faults` generates this page from `internal/test/faults/ledger.txt`; a test fails if a test named here no longer exists.\n\n" +
		"After every fault, the same must be true: no goroutine, descriptor, process or temporary file is left, every waiting call has returned, and a second `Close` returns at once. " +
		"`internal/test/leak` counts what processes leave behind; a test in a `testing/synctest` bubble cannot end while a goroutine is left.\n\n" +
		"Three tests cover whole families of faults: `TestCrash` (a CLI that goes wrong before each step of a session, in seven ways), `TestFail` and `TestFailEverywhere` (the N-th read, write, start, callback or context fails, for every N in 14 scenarios) and `TestSimulation` (seeded schedules) in `internal/test/faults`.\n\n" +
		"Tests without a package name are in the root package.\n")
	for _, c := range all {
		shown := 0
		for _, e := range c.rows {
			if len(e.tests) > 0 {
				shown++
			}
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s\n%d entries, %d with tests.\n\n| | what goes wrong | shown by |\n|---|---|---|\n", c.title, c.intro, len(c.rows), shown)
		for _, e := range c.rows {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", e.id, cell(e.fault), cell(e.shown()))
		}
	}
	return b.String()
}

// shown is the last column of an entry.
func (e entry) shown() string {
	if len(e.tests) == 0 {
		return "not applicable: " + e.note
	}
	var names []string
	for _, name := range e.tests {
		names = append(names, "`"+name+"`")
	}
	s := strings.Join(names, ", ")
	if e.note != "" {
		s += " (" + e.note + ")"
	}
	return s
}

// cell makes text safe inside a table.
func cell(s string) string { return strings.ReplaceAll(s, "|", "\\|") }
