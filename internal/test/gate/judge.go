package main

import (
	"fmt"
	"io"
	"strings"
)

// judge prints the outcome of the tests and reports whether that is good enough.
func judge(w io.Writer, res *results) bool {
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

// metCLI reports whether a test with the real CLI has passed.
func (res *results) metCLI() bool {
	for _, id := range res.tests("pass") {
		if id == id.top() && strings.HasPrefix(id.name, "TestReal") {
			return true
		}
	}
	return false
}
