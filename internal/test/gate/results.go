package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// testID names a test; the test "" of a package is the package itself.
type testID struct{ pkg, name string }

func (id testID) String() string { return strings.TrimSpace(id.pkg + " " + id.name) }

// top is the test that id is a part of.
func (id testID) top() testID {
	name, _, _ := strings.Cut(id.name, "/")
	return testID{id.pkg, name}
}

// results holds the outcomes from the events of go test.
type results struct {
	outcome map[testID]string   // run, pass, fail or skip
	output  map[testID][]string // of what has not passed
	took    map[testID]float64  // seconds, with the time in which others ran beside it
	of      map[string]run      // by package
	ok      []string            // the lines of the packages that passed
	build   []string            // what compilers complain about
	raced   bool                // the race detector has found something
	stderr  bytes.Buffer        // of go test itself
	broken  []error             // commands that failed for no reason the events give
	cpu     time.Duration       // of the command and all it waited for
}

func newResults() *results {
	return &results{outcome: make(map[testID]string), output: make(map[testID][]string), took: make(map[testID]float64), of: make(map[string]run)}
}

// read reads the events of r.
func (res *results) read(events io.Reader, r run) error {
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			if err := res.event(line, r); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (res *results) event(line []byte, r run) error {
	var e struct {
		Action, Package, Test, Output string
		Elapsed                       float64
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return fmt.Errorf("go test -json wrote %q: %w", line, err)
	}
	id := testID{e.Package, e.Test}
	switch e.Action {
	case "start":
		res.of[e.Package] = r
		res.outcome[id] = "run"
	case "run", "pass", "fail", "skip":
		res.outcome[id], res.took[id] = e.Action, e.Elapsed
		if e.Action == "pass" {
			delete(res.output, id)
		}
		if e.Action == "pass" && e.Test == "" {
			res.settle(e.Package)
		}
	case "output":
		if strings.Contains(e.Output, "WARNING: DATA RACE") {
			res.raced = true
		}
		if e.Test == "" && strings.HasPrefix(e.Output, "ok  ") {
			res.ok = append(res.ok, e.Output)
		}
		res.output[id] = append(res.output[id], e.Output)
	case "build-output":
		res.build = append(res.build, e.Output)
	}
	return nil
}

// settle ends the tests of a package that passed: a test whose last line was lost
// among other output has passed with its package.
func (res *results) settle(pkg string) {
	for _, id := range res.tests("run") {
		if id.pkg == pkg {
			res.outcome[id] = "pass"
		}
	}
}

// add adds what another command said. A package may run twice, on the quick level and on
// the long one: a test that was skipped first has passed when it passes then, but what has
// failed once, or never ended, does not pass any more.
func (res *results) add(other *results) {
	bad := func(id testID, _ string) bool { return res.outcome[id] == "fail" || res.outcome[id] == "run" }
	now := maps.Clone(other.outcome)
	maps.DeleteFunc(now, bad)
	for id, lines := range other.output {
		if !bad(id, "") {
			res.output[id] = lines
		}
	}
	for pkg, r := range other.of {
		if !slices.ContainsFunc(res.failed(), func(id testID) bool { return id.pkg == pkg }) {
			res.of[pkg] = r // else that of the failure stays, which is repeated
		}
	}
	maps.Copy(res.outcome, now)
	maps.Copy(res.took, other.took)
	res.ok = append(res.ok, other.ok...)
	res.build = append(res.build, other.build...)
	res.raced = res.raced || other.raced
	res.stderr.Write(other.stderr.Bytes())
	res.broken = append(res.broken, other.broken...)
}

// explained reports whether a package has failed: go test then exits with 1.
func (res *results) explained() bool {
	return slices.Contains(slices.Collect(maps.Values(res.outcome)), "fail") || len(res.build) > 0
}

// tests returns the tests, with their parts, that ended so, in order. A test that
// never ended, "run", was taken along when its binary died.
func (res *results) tests(outcome string) []testID {
	var ids []testID
	for id, got := range res.outcome {
		if id.name != "" && got == outcome {
			ids = append(ids, id)
		}
	}
	return sorted(ids)
}

// failed returns the tests that failed, without their parts.
func (res *results) failed() []testID {
	return slices.DeleteFunc(res.tests("fail"), func(id testID) bool { return id != id.top() })
}

// died returns the packages that failed for another reason than a failed test:
// they were not built, or their binary panicked, was killed or refused to end
// well. Only a binary that has run all of its tests prints FAIL by itself.
func (res *results) died() []testID {
	var ids []testID
	for id, outcome := range res.outcome {
		if id.name != "" || outcome == "pass" || outcome == "skip" { // skip: it has no tests
			continue
		}
		ofPackage := func(other testID) bool { return other.pkg == id.pkg }
		if !slices.Contains(res.output[id], "FAIL\n") || !slices.ContainsFunc(res.failed(), ofPackage) || slices.ContainsFunc(res.tests("run"), ofPackage) {
			ids = append(ids, id)
		}
	}
	return sorted(ids)
}

// crashed returns the packages in which the race detector itself died: of a signal outside of
// Go code. A timer of a synctest bubble that is read at the moment at which time moves on
// corrupts the detector's stack of calls, in Go 1.26 about once in two hundred runs of a test
// with dozens of bubbles. What Go code does wrong with memory is a panic or a fatal error, and
// looks different.
func (res *results) crashed() []testID {
	return slices.DeleteFunc(res.died(), func(id testID) bool {
		return !slices.Contains(res.of[id.pkg].flags, "-race") || !strings.Contains(res.said(id.pkg), "SIGSEGV: segmentation violation\nPC=")
	})
}

// said returns the output of a package and of its tests that did not pass.
func (res *results) said(pkg string) string {
	var b strings.Builder
	for _, id := range sorted(slices.Collect(maps.Keys(res.output))) {
		if id.pkg == pkg {
			b.WriteString(strings.Join(res.output[id], ""))
		}
	}
	return b.String()
}

// replace puts another run of a package in place of the first, of which only a data race
// and the time stay.
func (res *results) replace(pkg string, other *results) {
	ofPackage := func(id testID) bool { return id.pkg == pkg }
	maps.DeleteFunc(res.outcome, func(id testID, _ string) bool { return ofPackage(id) })
	maps.DeleteFunc(res.output, func(id testID, _ []string) bool { return ofPackage(id) })
	res.cpu += other.cpu
	res.add(other)
}

// longest returns the n tests that took longest, without their parts.
func (res *results) longest(n int) []testID {
	var ids []testID
	for id := range res.took {
		if id.name != "" && id == id.top() {
			ids = append(ids, id)
		}
	}
	slices.SortStableFunc(sorted(ids), func(a, b testID) int { return cmp.Compare(res.took[b], res.took[a]) })
	return ids[:min(n, len(ids))]
}

func sorted(ids []testID) []testID {
	slices.SortFunc(ids, func(a, b testID) int { return strings.Compare(a.String(), b.String()) })
	return ids
}
