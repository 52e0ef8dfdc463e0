// Package long divides the tests into two levels.
//
// "go test ./..." runs the quick level: everything that needs no program but Go,
// and takes little time. The long level adds what needs the real CLI, node, a
// browser, a database or another shell, and what tries many thousands of inputs,
// seeds or planted bugs:
//
//	LONG_TESTS=1 go test ./...
//
// There, a test installs what it needs from npm. If something cannot be had, the
// test fails: a level that skips its tests proves nothing. The gate always runs it.
package long

import "os"

// Variable is the environment variable that adds the long level. Any value but the
// empty one does.
const Variable = "LONG_TESTS"

// Enabled reports whether the long level runs.
func Enabled() bool { return os.Getenv(Variable) != "" }

// T is the part of testing.TB that is needed here.
type T interface {
	Helper()
	Name() string
	Skipf(format string, args ...any)
}

// Test makes the test that calls it one of the long level: on the quick level it is
// skipped, with the command that runs it. The reason completes "it ...", such as
// "needs a browser".
func Test(t T, reason string) {
	t.Helper()
	if !Enabled() {
		t.Skipf("long: it %s; %s=1 go test -run '^%s$' runs it", reason, Variable, t.Name())
	}
}

// Pick returns how often to repeat something: a number for each level.
func Pick(quick, long int) int {
	if Enabled() {
		return long
	}
	return quick
}
