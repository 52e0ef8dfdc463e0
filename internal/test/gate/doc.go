// Command gate runs all tests of the repository and judges them. It is the last
// step of .ci/run:
//
//	go run ./internal/test/gate
//
// The module comes first, without the packages that spend their time in the real
// CLI; then come those and the other modules. The time of each part is printed:
// eight minutes for the first, and twenty for everything, are what we allow.
//
// A suite passes if no test fails, none is skipped, and tests have met the real
// CLI. The program prints the packages that passed, the output of what did not,
// and last of all how many tests passed, failed and were skipped.
//
// A test that fails beside the others and passes alone is not forgiven: such a test
// measures the machine, or has found something rare. internal/test/steady explains how
// to make it steady.
package main
