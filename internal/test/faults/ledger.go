package main

import (
	"fmt"
	"strings"
)

// chapter is a family of entries.
type chapter struct {
	letter string // ids of its entries begin with it
	title  string
	intro  string
	rows   []entry
}

// entry is one thing that can go wrong.
type entry struct {
	id    string
	fault string   // in a few words
	tests []string // "package.TestName/subtest", the root package without a name
	note  string   // instead of tests: why it cannot happen; beside them: what is different here
}

// chapters reads a ledger. A line "# T Title: words" begins a chapter, whose
// entries are lines of three columns, separated by " | ": id, fault, and tests
// with commas between them. "not applicable: why" stands for tests; "(words)"
// at the end is a note.
func chapters(text string) ([]chapter, error) {
	var all []chapter
	seen := make(map[string]bool)
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if head, ok := strings.CutPrefix(line, "# "); ok {
			letter, rest, _ := strings.Cut(head, " ")
			title, intro, ok := strings.Cut(rest, ": ")
			if !ok {
				return nil, fmt.Errorf("line %d: a chapter has a letter, a title and words", n+1)
			}
			all = append(all, chapter{letter: letter, title: title, intro: intro})
			continue
		}
		e, err := parseEntry(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
		if len(all) == 0 || !strings.HasPrefix(e.id, all[len(all)-1].letter) || seen[e.id] {
			return nil, fmt.Errorf("line %d: %s is out of place, or there twice", n+1, e.id)
		}
		seen[e.id] = true
		last := &all[len(all)-1]
		last.rows = append(last.rows, e)
	}
	return all, nil
}

func parseEntry(line string) (entry, error) {
	columns := strings.SplitN(line, " | ", 3)
	if len(columns) != 3 {
		return entry{}, fmt.Errorf("want three columns in %q", line)
	}
	e := entry{id: columns[0], fault: columns[1]}
	rest := columns[2]
	if why, ok := strings.CutPrefix(rest, "not applicable: "); ok {
		e.note = why
		return e, nil
	}
	if i := strings.LastIndex(rest, " ("); i >= 0 && strings.HasSuffix(rest, ")") {
		e.note, rest = rest[i+2:len(rest)-1], rest[:i]
	}
	for name := range strings.SplitSeq(rest, ", ") {
		e.tests = append(e.tests, strings.TrimSpace(name))
	}
	return e, nil
}
