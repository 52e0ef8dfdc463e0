// Command faults keeps the ledger of what can go wrong between a program and
// the CLI, and is the home of the tests that go through whole families of
// faults instead of one.
//
// # The ledger
//
// ledger.txt has a line for each known fault, threat and failure: an id, the
// fault in a few words, and the tests that show what happens then, or why it
// cannot happen here. "go run ./internal/test/faults" writes docs/faults.md from it.
// A test fails if a name in the ledger is not a test, or if the page is out of
// date.
//
// # The families
//
// The crash matrix (TestCrash) is a CLI, a real child process, that goes wrong
// before each step of a session, in each of several ways.
//
// Fail-N (TestFail) runs scenarios again and again: with the first read
// failing, then the second, until nothing is left to fail; then writes, starts,
// callbacks, contexts and clocks in the same way.
//
// The simulation (TestSimulation) is a session in a bubble in which nothing
// happens by itself. A schedule, made from a seed, decides what comes next: a
// piece of a line arrives, a line is taken, a callback returns, a context ends,
// an hour passes. What must hold is checked at every step, and a seed that
// fails is printed and can be run again:
//
//	go test ./internal/test/faults -run TestSimulation -seed 4711 -v
//	go test ./internal/test/faults -run TestSimulation -seeds 1000000
package main
