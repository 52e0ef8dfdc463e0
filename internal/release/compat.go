package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	apiFile       = "docs/api.txt"
	stabilityFile = "docs/stability.md"
)

// promise has, for each package, whether it is stable from 1.0 on.
type promise map[string]bool

var (
	promiseHead = regexp.MustCompile(`^\| (stable from 1\.0 on|not stable yet) \|`)
	quoted      = regexp.MustCompile("`([^`]+)`")
)

// readPromise reads the tables of docs/stability.md, whose first cells name packages.
func readPromise(page string) (promise, error) {
	p := make(promise)
	inTable, stable := false, false
	for line := range strings.Lines(page) {
		if head := promiseHead.FindStringSubmatch(line); head != nil {
			inTable, stable = true, head[1] == "stable from 1.0 on"
			continue
		}
		if inTable = inTable && strings.HasPrefix(line, "|"); !inTable {
			continue
		}
		cell, _, _ := strings.Cut(line[1:], "|")
		for _, name := range quoted.FindAllStringSubmatch(cell, -1) {
			if _, twice := p[name[1]]; twice {
				return nil, fmt.Errorf("%s names %s twice", stabilityFile, name[1])
			}
			p[name[1]] = stable
		}
	}
	if len(p) == 0 {
		return nil, fmt.Errorf("%s has no tables of packages", stabilityFile)
	}
	return p, nil
}

// breaks compares two lists of names, as docs/api.txt has them, and returns the lines
// for which a program that compiled with the first may not compile with the second:
// what is gone or has changed, and methods that an interface has gained which others
// can implement.
func breaks(before, after string) (lines []string) {
	was, is := lineSet(before), lineSet(after)
	for line := range strings.Lines(before) {
		if line = strings.TrimSpace(line); !is[line] {
			lines = append(lines, line)
		}
	}
	for line := range strings.Lines(after) {
		line = strings.TrimSpace(line)
		pkg, rest, ok := strings.Cut(line, " interface ")
		if !ok || was[line] {
			continue
		}
		name, _, _ := strings.Cut(rest, ".")
		if was[pkg+" type "+name+" interface"] && !was[pkg+" interface "+name+": others cannot implement it"] {
			lines = append(lines, line)
		}
	}
	return lines
}

func lineSet(text string) map[string]bool {
	set := make(map[string]bool)
	for line := range strings.Lines(text) {
		set[strings.TrimSpace(line)] = true
	}
	return set
}

// objections are the breaks that a version must not have after another. A patch has
// none. A minor version of 0 may have any, one of 1 only in packages that are not stable.
func (p promise) objections(from, to string, broken []string) (all []string) {
	old, next := numbers(from), numbers(to)
	patch := old[0] == next[0] && old[1] == next[1]
	for _, line := range broken {
		pkg, _, _ := strings.Cut(line, " ")
		switch {
		case patch:
			all = append(all, fmt.Sprintf("a patch must not break programs, and %s did: %s", to, line))
		case next[0] > 0 && old[0] > 0 && p[pkg]:
			all = append(all, fmt.Sprintf("package %s is stable, and %s breaks it: %s", pkg, to, line))
		}
	}
	return all
}

// previous returns the newest version of the root module below another, by the tags of
// the repository; "" if there is none. Pre-releases promise nothing.
func previous(tags []string, version string) (found string) {
	for _, tag := range tags {
		name, ok := strings.CutPrefix(tag, "v")
		form := semver.FindStringSubmatch(name)
		if !ok || form == nil || form[4] != "" || compare(name, version) >= 0 {
			continue
		}
		if found == "" || compare(name, found) > 0 {
			found = name
		}
	}
	return found
}

// numbers are the three numbers of a version.
func numbers(version string) (n [3]int) {
	if form := semver.FindStringSubmatch(version); form != nil {
		for i := range n {
			n[i], _ = strconv.Atoi(form[i+1]) // the form has digits only
		}
	}
	return n
}

// compare orders versions. A pre-release comes before its release.
func compare(a, b string) int {
	x, y := numbers(a), numbers(b)
	return cmp.Or(slices.Compare(x[:], y[:]), cmp.Compare(release(a), release(b)))
}

// release is 1 for a release and 0 for a pre-release.
func release(version string) int {
	if strings.Contains(version, "-") {
		return 0
	}
	return 1
}
