// Command mutation measures the tests: it changes the code in thousands of small
// ways, one at a time, and counts the changes that no test notices.
//
//	go run ./internal/test/mutation                                # every target, a sample of its mutants
//	go run ./internal/test/mutation -sample 0 internal/inbox       # one package, all mutants
//	go run ./internal/test/mutation -own internal/inbox            # with its own tests only, which is quick
//	go run ./internal/test/mutation -write hook                    # and write its part of docs/mutation.md
//
// A change is called a mutant: a condition that is always true or always false,
// a comparison that is off by its boundary, a number that is off by one, a
// statement that is left out, a result that is its zero value. A mutant is caught
// when a test fails, panics or hangs.
//
// # One build for all mutants
//
// Building a test binary takes longer than running it. So all mutants of a
// package are put into its source at once, each behind a switch that the
// environment sets, and the tests are built once. The changed source reaches the
// compiler by go build's -overlay; no file of the module changes.
//
// The switches also note which of them a test reaches. A mutant is tried only on
// the tests that reach it, the quick ones first; one that no test reaches has
// survived already.
//
// The test that caught a mutant in the last run, which a file in the user's cache
// remembers, is tried before all others.
//
// Where the system has PID namespaces, the tests run in one of their own: a
// mutant of the code that ends processes cannot end those of others.
//
// # Survivors
//
// Some mutants change nothing that anyone could see, such as a fast path that is
// not taken. accepted.txt names those that were looked at, by function and
// change, with the reason: they are equivalent, and do not count. It also names
// mutants that are left untested, with the reason: those count.
//
// It takes minutes to hours and is not part of go test.
package main
