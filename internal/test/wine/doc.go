// Command wine runs the demo of claudectl and tests of this module as programs for
// Windows, on Linux:
//
//	go run ./internal/test/wine
//	go run ./internal/test/wine -demo
//	go run ./internal/test/wine -packages ./store,./internal/scratch
//
// The second command runs only the demo, the third other packages than the root package,
// internal/proc, internal/private, internal/scratch and claudetest. If wine or the
// compiler of mingw is missing, apt-get installs it.
//
// Wine is not Windows. The Go runtime starts there only with a stub for a library that
// wine lacks, which is compiled here, and tests can remove their folders only with a
// change of one line in the standard library, which is made by -overlay; the demo runs
// without that change. Tests that still fail because of wine are in a table, see
// [exceptions], with the reason. On any other failure the command fails.
package main
