package main

import (
	"fmt"
	"io"
	"strings"
)

// mayRepeat is how many tests may fail and still be run again: more than that is
// not bad luck.
const mayRepeat = 5

// judge prints the outcome of the tests and reports whether that is good enough.
// alone runs a test again without the others, three times, and reports whether it
// passed every time.
func judge(w io.Writer, res *results, alone func(testID) bool) bool {
	for _, line := range res.ok {
		fmt.Fprint(w, line)
	}
	_, _ = w.Write(res.stderr.Bytes())
	for _, line := range res.build {
		fmt.Fprint(w, line)
	}
	for _, id := range append(append(res.died(), res.tests("run")...), res.tests("fail")...) {
		fmt.Fprint(w, strings.Join(res.output[id], ""))
	}
	for _, id := range res.longest(10) {
		fmt.Fprintf(w, "slow: %6.1f s %v\n", res.took[id], id)
	}
	good := true
	complain := func(format string, args ...any) {
		fmt.Fprintf(w, format+"\n", args...)
		good = false
	}
	for _, err := range res.broken {
		complain("%v", err)
	}
	for _, id := range res.died() {
		complain("died: %v", id)
	}
	for _, id := range res.tests("run") {
		complain("never ended: %v", id)
	}
	if res.raced {
		complain("the race detector has found something")
	}
	if good && len(res.failed()) <= mayRepeat {
		repeat(w, res, alone)
	}
	for _, id := range res.tests("fail") {
		complain("failed: %v", id)
	}
	for _, id := range res.tests("skip") {
		complain("skipped: %v", id)
	}
	if !res.metCLI() {
		complain("no test with the real CLI (TestReal...) has passed")
	}
	fmt.Fprintf(w, "%d passed, %d failed, %d skipped\n",
		len(res.tests("pass")), len(res.tests("fail"))+len(res.tests("run")), len(res.tests("skip")))
	return good
}

// repeat runs failed tests alone. Those that pass then have passed, loudly.
func repeat(w io.Writer, res *results, alone func(testID) bool) {
	for _, id := range res.failed() {
		fmt.Fprintf(w, "again, alone, three times: %v\n", id)
		if !alone(id) {
			continue
		}
		fmt.Fprintf(w, "unsteady: %v failed beside the others and passed three times alone\n", id)
		for _, part := range res.tests("fail") {
			if part.top() == id {
				res.outcome[part] = "pass"
			}
		}
	}
}

// metCLI reports whether a test with the real CLI has passed.
func (res *results) metCLI() bool {
	for _, id := range res.tests("pass") {
		if id == id.top() && strings.HasPrefix(id.name, "TestReal") {
			return true
		}
	}
	return false
}
