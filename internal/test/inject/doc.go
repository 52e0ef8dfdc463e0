// Command inject tests the tests: it puts small bugs into a copy of the module,
// one at a time, and sees whether a test fails.
//
//	go run ./internal/test/inject          # prints the table
//	go run ./internal/test/inject -write   # and writes docs/seeded.md
//	go run ./internal/test/inject -only answer-twice -against "./fleet -run TestSimulation$"   # do other tests catch it?
//
// A bug is a file in the folder bugs: what is wrong in one sentence, where it is,
// the tests to run, and the code before and after. The place is a declaration of
// the tested package ("Peer.Close"), or of one below it
// ("internal/eventlog.Log.view"), whatever file it is in, and in it the code before, in
// which any run of blanks matches any other. It must match exactly once, so a bug whose
// place has changed is an error and not a bug that survives. The same tests first run
// without the bug, and must pass.
//
// It takes some minutes and is not part of go test; a test there checks that all
// bugs still fit and that the page has them.
package main
