package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
)

// modulePath is that of the root module.
const modulePath = "github.com/claude-agent-go/claude"

// testID names a test by its package, relative to the module. The test "" is the package.
type testID struct{ pkg, test string }

func (id testID) String() string { return strings.TrimSpace(id.pkg + " " + id.test) }

// results is what the events of go test say.
type results struct {
	outcome map[testID]string // run, pass, fail or skip
	output  map[testID]*bytes.Buffer
	build   strings.Builder // what compilers complain about
}

// read reads the events of go test -json.
func read(events io.Reader) (*results, error) {
	res := &results{outcome: make(map[testID]string), output: make(map[testID]*bytes.Buffer)}
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return res, nil
		}
		if err != nil {
			return res, err
		}
		var e struct{ Action, Package, Test, Output string }
		if err := json.Unmarshal(line, &e); err != nil {
			return res, fmt.Errorf("go test -json wrote %q: %w", line, err)
		}
		id := testID{relative(e.Package), e.Test}
		switch e.Action {
		case "start", "run", "pass", "fail", "skip":
			res.outcome[id] = e.Action
		case "output":
			if res.output[id] == nil {
				res.output[id] = new(bytes.Buffer)
			}
			res.output[id].WriteString(strings.ReplaceAll(e.Output, "\r", ""))
		case "build-output":
			res.build.WriteString(e.Output)
		}
	}
}

// relative is the path of a package in the module.
func relative(pkg string) string {
	rel, _ := strings.CutPrefix(pkg, modulePath)
	return path.Join(".", strings.TrimPrefix(rel, "/"))
}

// verdict divides what did not pass by whose fault it is.
type verdict struct {
	passed, skipped int
	wines           []exception // known, and failed again
	better          []exception // known, and passed
	ours            []testID
}

// judge compares results with the known exceptions. A package fails with its tests: it is
// ours only if no test explains that it failed, or never ended.
func judge(res *results, known []exception) (v verdict) {
	explained := make(map[string]bool) // packages
	ids := slices.SortedFunc(maps.Keys(res.outcome), func(a, b testID) int { return strings.Compare(a.String(), b.String()) })
	for _, id := range ids {
		at := slices.IndexFunc(known, func(e exception) bool {
			return e.pkg == id.pkg && (e.test == id.test || strings.HasPrefix(id.test, e.test+"/"))
		})
		part := at >= 0 && id.test != known[at].test
		switch outcome := res.outcome[id]; {
		case id.test == "":
		case outcome == "pass":
			v.passed++
			if at >= 0 && !part {
				v.better = append(v.better, known[at])
			}
		case outcome == "skip":
			v.skipped++
		case at >= 0:
			explained[id.pkg] = true
			if !part {
				v.wines = append(v.wines, known[at])
			}
		case outcome == "fail" && failedBelow(res, id): // the part shows whose fault it is
			explained[id.pkg] = true
		default: // it failed, or never ended
			explained[id.pkg] = true
			v.ours = append(v.ours, id)
		}
	}
	for _, id := range ids {
		if o := res.outcome[id]; id.test == "" && o != "pass" && o != "skip" && !explained[id.pkg] {
			v.ours = append(v.ours, id)
		}
	}
	return v
}

// failedBelow reports whether a part of a test did not pass.
func failedBelow(res *results, id testID) bool {
	for other, outcome := range res.outcome {
		if other.pkg == id.pkg && strings.HasPrefix(other.test, id.test+"/") && outcome != "pass" && outcome != "skip" {
			return true
		}
	}
	return false
}

// report prints the verdict, and what failed without wine's fault with its output.
func (v verdict) report(w io.Writer, res *results, known []exception) {
	for _, id := range v.ours {
		fmt.Fprintf(w, "FAIL %s\n", id)
		if out := res.output[id]; out != nil {
			_, _ = w.Write(out.Bytes())
		}
	}
	if res.build.Len() > 0 {
		fmt.Fprint(w, res.build.String())
	}
	for _, e := range known {
		switch {
		case e.hangs:
			fmt.Fprintf(w, "not run for wine's sake: %s %s: %s\n", e.pkg, e.test, e.reason)
		case slices.Contains(v.wines, e):
			fmt.Fprintf(w, "fails for wine's reasons: %s %s: %s\n", e.pkg, e.test, e.reason)
		case slices.Contains(v.better, e):
			fmt.Fprintf(w, "passes, although the table has it: %s %s: %s\n", e.pkg, e.test, e.reason)
		}
	}
	fmt.Fprintf(w, "%d tests and parts of tests passed, %d skipped, %d failed for wine's reasons, %d for others\n", v.passed, v.skipped, len(v.wines), len(v.ours))
}
