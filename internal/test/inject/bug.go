package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed bugs/*.txt
var bugFiles embed.FS

// bug is one change for the worse.
type bug struct {
	name  string
	what  string // in one sentence
	file  string // in the module, with slashes
	build string // of the tests: the package, and -race where it is needed
	run   string // the tests: all if empty
	old   string
	new   string
}

// bugs returns all of them, those of a package together: they share its build.
func bugs() ([]bug, error) {
	paths, err := fs.Glob(bugFiles, "bugs/*.txt")
	if err != nil {
		return nil, err
	}
	var all []bug
	for _, path := range paths {
		text, err := bugFiles.ReadFile(path)
		if err != nil {
			return nil, err
		}
		b, err := parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		b.name = strings.TrimSuffix(filepath.Base(path), ".txt")
		all = append(all, b)
	}
	slices.SortStableFunc(all, func(a, b bug) int { return strings.Compare(a.build, b.build) })
	return all, nil
}

func parse(text string) (bug, error) {
	head, rest, hasOld := strings.Cut(text, "\n--- old\n")
	old, fresh, hasNew := strings.Cut(rest, "\n--- new\n")
	lines := strings.Split(head, "\n")
	if !hasOld || !hasNew || len(lines) != 3 {
		return bug{}, errors.New("want a sentence, file:, test:, --- old and --- new")
	}
	file, hasFile := strings.CutPrefix(lines[1], "file: ")
	test, hasTest := strings.CutPrefix(lines[2], "test: ")
	if !hasFile || !hasTest {
		return bug{}, errors.New("want file: before test: and a text after each")
	}
	build, run, _ := strings.Cut(test, " -run ")
	return bug{what: lines[0], file: file, build: build, run: run, old: old, new: strings.TrimSuffix(fresh, "\n")}, nil
}

// change returns the file with the bug in it.
func (b bug) change(root string) (before, after []byte, err error) {
	before, err = os.ReadFile(filepath.Join(root, filepath.FromSlash(b.file)))
	if err != nil {
		return nil, nil, err
	}
	if n := strings.Count(string(before), b.old); n != 1 {
		return nil, nil, fmt.Errorf("bug %s: its place occurs %d times in %s, want once", b.name, n, b.file)
	}
	return before, []byte(strings.Replace(string(before), b.old, b.new, 1)), nil
}
