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

// accepted are mutants that were looked at and change nothing that a test could
// see: by package and key, with the reason.
type accepted map[string]map[string]string

//go:embed accepted.txt
var acceptedText string

// readAccepted reads lines of the form: package | function: change: text | reason.
func readAccepted() (accepted, error) {
	out := make(accepted)
	for lines := bufio.NewScanner(strings.NewReader(acceptedText)); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		part := strings.Split(line, " | ")
		if len(part) != 3 {
			return nil, fmt.Errorf("accepted.txt: %q is not of the form: package | mutant | reason", line)
		}
		if out[part[0]] == nil {
			out[part[0]] = make(map[string]string)
		}
		out[part[0]][part[1]] = part[2]
	}
	return out, nil
}

// finding is what was learnt of one package.
type finding struct {
	target
	total    int
	tried    []*trial
	accepted map[string]string
	broken   []string // tests that fail without a mutant
	took     time.Duration
}

func (f *finding) survivors() []*trial {
	var out []*trial
	for _, t := range f.tried {
		if t.by == "" {
			out = append(out, t)
		}
	}
	return out
}

// rate is the share of the tried mutants that were caught.
func (f *finding) rate() float64 {
	if len(f.tried) == 0 {
		return 1
	}
	return 1 - float64(len(f.survivors()))/float64(len(f.tried))
}

func (f *finding) summary() string {
	s := fmt.Sprintf("%s: %d mutants, %d tried, %d survived, %.1f %% caught, %d accepted, in %v",
		f.pkg, f.total, len(f.tried), len(f.survivors()), 100*f.rate(), len(f.accepted), f.took.Round(time.Second))
	if len(f.broken) > 0 {
		s += "; left out, because they fail without a mutant: " + strings.Join(f.broken, ", ")
	}
	return s
}

func short(m *mutant) string { return filepath.Base(m.file.path) }

func unreached(t *trial) string {
	if t.reached {
		return ""
	}
	return " (no test reaches it)"
}

// render makes the page.
func render(all []*finding) string {
	var b strings.Builder
	b.WriteString("# Mutation testing\n\n")
	b.WriteString("`go run ./internal/test/mutation -write` wrote this page. It changes the code in small ways, one at a time, and counts the changes that no test notices. Tests with the real CLI do not take part.\n\n")
	b.WriteString("| package | mutants | tried | caught | survived | looked at and accepted |\n|---|---|---|---|---|---|\n")
	for _, f := range all {
		fmt.Fprintf(&b, "| `%s` | %d | %d | %.1f %% | %d | %d |\n", f.pkg, f.total, len(f.tried), 100*f.rate(), len(f.survivors()), len(f.accepted))
	}
	b.WriteString("\n## Survivors\n\n")
	for _, f := range all {
		for _, t := range f.survivors() {
			fmt.Fprintf(&b, "- `%s` %s, %s: `%s`%s\n", f.pkg, t.fn, t.kind, strings.ReplaceAll(t.text, "`", "'"), unreached(t))
		}
	}
	return b.String()
}
