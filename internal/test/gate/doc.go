// Command gate runs all tests of the repository and judges them. It is the last
// step of .ci/run:
//
//	go run ./internal/test/gate
//
// One after the other it runs the quick level with the race detector, the long level
// without it where that has more to do, the packages that spend their time in the real CLI
// with it, beside those that never need it, and, two at once, the other modules. It prints
// the time of each command, and its CPU.
//
// A suite passes if no test fails, none is skipped, and tests have met the real
// CLI. The program prints the packages that passed, the output of what did not,
// and last of all how many tests passed, failed and were skipped.
//
// On a machine that runs everything at once, a test can fail for reasons that have
// nothing to do with the code. If only a few tests failed, each of them is run
// again alone, three times. If it passes every time, the suite passes, and the
// output calls the test unsteady. That is a bug of the test, or a rare one of the
// code: mend it next. A package in which the race detector itself crashed, rather
// than the code that it watches, is run again as a whole, once. A data race, any
// other test binary that died, and a test that also fails alone are never forgiven.
package main
