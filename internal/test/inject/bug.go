package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

//go:embed bugs/*.txt
var bugFiles embed.FS

// bug is one change for the worse.
type bug struct {
	name  string
	what  string // in one sentence
	where string // the declaration to change: "Peer.Close"
	below string // the folder of its package, below that of the tests: "internal/eventlog"
	build string // of the tests: the package, and -race where it is needed
	run   string // the tests: all if empty
	old   string // a pattern, see [pattern]
	new   string
}

// bugs returns all of them, those of a package together: they share its build.
func bugs() ([]bug, error) {
	paths, err := fs.Glob(bugFiles, "bugs/*.txt")
	if err != nil {
		return nil, err
	}
	var all []bug
	for _, name := range paths {
		text, err := bugFiles.ReadFile(name)
		if err != nil {
			return nil, err
		}
		b, err := parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		b.name = strings.TrimSuffix(path.Base(name), ".txt")
		all = append(all, b)
	}
	slices.SortStableFunc(all, func(a, b bug) int { return strings.Compare(a.build, b.build) })
	return all, nil
}

func parse(text string) (bug, error) {
	head, rest, hasOld := strings.Cut(text, "\n--- old\n")
	old, fresh, hasNew := strings.Cut(rest, "\n--- new\n")
	lines := strings.Split(head, "\n")
	if !hasOld || !hasNew || len(lines) != 3 || strings.TrimSpace(old) == "" {
		return bug{}, errors.New("want a sentence, where:, test:, --- old and --- new")
	}
	where, hasWhere := strings.CutPrefix(lines[1], "where: ")
	test, hasTest := strings.CutPrefix(lines[2], "test: ")
	if !hasWhere || !hasTest {
		return bug{}, errors.New("want where: before test: and a text after each")
	}
	build, run, _ := strings.Cut(test, " -run ")
	if strings.TrimSpace(build) == "" {
		return bug{}, errors.New("test: names no package")
	}
	below := ""
	if slash := strings.LastIndexByte(where, '/'); slash >= 0 {
		dot := slash + strings.IndexByte(where[slash:], '.')
		if dot < slash {
			return bug{}, errors.New("where: names a folder and no declaration in it")
		}
		below, where = where[:dot], where[dot+1:]
	}
	return bug{what: lines[0], where: where, below: below, build: build, run: run, old: old, new: strings.TrimSuffix(fresh, "\n")}, nil
}

// folder is the package that is changed: the one that is tested, or one below it.
func (b bug) folder() string {
	fields := strings.Fields(b.build)
	return path.Join(fields[len(fields)-1], b.below)
}

// place names what is changed, with its package, for readers.
func (b bug) place() string {
	if dir := b.folder(); dir != "." {
		return dir + "." + b.where
	}
	return b.where
}

// blanks separate the words of a pattern.
var blanks = regexp.MustCompile(`\s+`)

// pattern returns the expression for the text before a change. It is meant word
// for word, but any blanks and line breaks stand for any others.
func pattern(text string) (*regexp.Regexp, error) {
	words := blanks.Split(strings.TrimSpace(text), -1)
	for i, word := range words {
		words[i] = regexp.QuoteMeta(word)
	}
	return regexp.Compile(strings.Join(words, `\s+`))
}

// change returns the file to change, and what it holds without and with the bug.
func (b bug) change(root string, known sources) (file string, before, after []byte, err error) {
	old, err := pattern(b.old)
	if err != nil {
		return "", nil, nil, err
	}
	places, err := known.declarations(filepath.Join(root, filepath.FromSlash(b.folder())), b.where)
	if err != nil {
		return "", nil, nil, err
	}
	found := 0
	for _, p := range places {
		text := p.file.text
		for _, at := range old.FindAllIndex(text[p.begin:p.end], -1) {
			found++
			file, before = p.file.path, text
			after = slices.Concat(text[:p.begin+at[0]], []byte(strings.TrimSpace(b.new)), text[p.begin+at[1]:])
		}
	}
	if found != 1 {
		return "", nil, nil, fmt.Errorf("bug %s: its pattern occurs %d times in %s (%d declarations), want once", b.name, found, b.place(), len(places))
	}
	return file, before, after, nil
}
